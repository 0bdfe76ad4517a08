//! `traces`: the records of runs.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use svc_client::{ApiRequest, admin_path};

use super::trace_tail::TraceTail;
use super::trace_view::view;
use super::trace_wait::{TraceWait, request};
use crate::commands::entity::{rows, show_page_of};
use crate::commands::errors::{FailureFilterArgs, RunFilterArgs};
use crate::commands::several::IdsArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::input::InputArgs;
use crate::moment::parse_moment;
use crate::output::{CellKind, TableColumn, TableLayout, json_line, member, plain};
use crate::paging::{CountArgs, OrderArgs, PageArgs, SortArgs};
use crate::watch::parse_interval;

/// Rows of a page of the live tail.
const TAIL_PAGE: u64 = 200;
/// Pages that the live tail reads at once; behind them it has fallen too far behind.
const TAIL_PAGES: usize = 50;

const TRACES: TableLayout = TableLayout {
    id: "id",
    columns: &[
        TableColumn::new("ID", "id", CellKind::Id),
        TableColumn::new("CHANNEL", "channel", CellKind::Text),
        TableColumn::new("MODE", "mode", CellKind::Id).optional(5),
        TableColumn::new("STATUS", "status", CellKind::State),
        TableColumn::new("ATTEMPT", "attempt", CellKind::Number).optional(4),
        TableColumn::new("MS", "duration_ms", CellKind::Number).optional(2),
        TableColumn::new("CREATED", "created_at", CellKind::Time).optional(1),
        TableColumn::new("ERROR", "error_message", CellKind::Text).optional(3).movable(),
    ],
};

/// The commands of traces.
#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// List traces, newest first
    List(TraceListArgs),
    /// Show a trace with its result
    Get {
        #[command(flatten)]
        ids: IdsArgs,
        /// Token of the submission, instead of a key
        #[arg(long)]
        token: Option<String>,
    },
    /// Wait for the end of a run and its retries; exits with 0 when it completed, 1 when it failed, 2 when it took too long
    Wait(WaitArgs),
    /// Show traces as they come, until it is interrupted
    Follow(FollowArgs),
    /// Cancel accepted work that has not ended; exits with 2 while it has not ended yet
    Cancel {
        #[command(flatten)]
        ids: IdsArgs,
        /// Leave a dead letter, and report it to the channel that on_failure names
        #[arg(long)]
        report: bool,
    },
    /// Run the stored input of ended traces again
    Rerun(RerunArgs),
}

/// The options of a rerun.
#[derive(Args, Debug)]
pub(crate) struct RerunArgs {
    #[command(flatten)]
    ids: IdsArgs,
    /// The version of the workflow: same, current or a number
    #[arg(long, default_value = "current", value_parser = parse_version)]
    version: Value,
    #[command(flatten)]
    payload: InputArgs,
}

/// The filters of traces.
#[derive(Args, Debug)]
pub(crate) struct TraceFilterArgs {
    /// Show those in these states alone, separated by commas: pending, scheduled, running, retrying, completed, failed,
    /// cancelled
    #[arg(long)]
    status: Option<String>,
    /// Show those of this channel alone
    #[arg(long)]
    channel: Option<String>,
    /// Show those of this mode alone: sync, async, kafka, cron
    #[arg(long)]
    mode: Option<String>,
    /// Show the runs of this request alone, as its answer names it in x-request-id
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
    /// Show the reruns of this trace alone
    #[arg(long, value_name = "ID")]
    rerun_of: Option<String>,
    /// Show the runs that took so many milliseconds or longer alone
    #[arg(long, value_name = "N")]
    min_duration_ms: Option<u64>,
    #[command(flatten)]
    runs: RunFilterArgs,
    #[command(flatten)]
    failures: FailureFilterArgs,
    /// Show those created at this time or later: RFC 3339, or a time ago such as 15m, 2h, 1d
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_moment)]
    since: Option<String>,
    /// Show those created before this time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_moment)]
    until: Option<String>,
}

/// The options of a list.
#[derive(Args, Debug)]
pub(crate) struct TraceListArgs {
    #[command(flatten)]
    filter: TraceFilterArgs,
    /// Go on behind this position
    #[arg(long)]
    cursor: Option<String>,
    /// Show later attempts at accepted work, too
    #[arg(long)]
    attempts: bool,
    /// Count all that match
    #[arg(long)]
    include_total: bool,
    #[command(flatten)]
    counts: CountArgs,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    order: OrderArgs,
    #[command(flatten)]
    sort: SortArgs,
}

/// The options of a wait.
#[derive(Args, Debug)]
pub(crate) struct WaitArgs {
    /// Id of the trace
    id: String,
    /// Seconds between two looks
    #[arg(long, default_value = "1", value_name = "SECS", value_parser = parse_interval)]
    interval: f64,
    /// Give up after so many seconds
    #[arg(long, default_value = "60", value_name = "SECS", value_parser = parse_interval)]
    timeout: f64,
    /// Token of the submission, instead of a key
    #[arg(long)]
    token: Option<String>,
}

/// The options of the live tail.
#[derive(Args, Debug)]
pub(crate) struct FollowArgs {
    #[command(flatten)]
    filter: TraceFilterArgs,
    /// Seconds between two looks
    #[arg(long, default_value = "1", value_name = "SECS", value_parser = parse_interval)]
    interval: f64,
    /// End after so many lines
    #[arg(long, value_name = "N")]
    count: Option<usize>,
}

impl TraceFilterArgs {
    /// Returns `true` if a run may meet the filter long after its creation.
    fn is_met_late(&self) -> bool {
        // Completed runs are many: those of long ones are not worth reading all again at each look.
        self.status.as_ref().is_some_and(|status| status != "completed")
            || self.min_duration_ms.is_some()
            || self.failures.is_met_late()
    }

    fn request(&self) -> ApiRequest {
        let request = ApiRequest::get(admin_path(&["traces"]))
            .optional("status", self.status.as_deref())
            .optional("channel", self.channel.as_deref())
            .optional("mode", self.mode.as_deref())
            .optional("request_id", self.request_id.as_deref())
            .optional("rerun_of", self.rerun_of.as_deref())
            .optional("min_duration_ms", self.min_duration_ms)
            .optional("since", self.since.as_deref())
            .optional("until", self.until.as_deref());
        self.failures.add_to(self.runs.add_to(request))
    }
}

/// Runs a command of traces.
pub(crate) async fn run(command: TraceCommand, context: &CommandContext) -> Result<u8, CliError> {
    match command {
        TraceCommand::List(args) => {
            let (total, attempts) = (args.include_total.then_some(true), args.attempts.then_some(true));
            let request = args.filter.request().optional("cursor", args.cursor);
            let request = request.optional("attempts", attempts).optional("include_total", total);
            let request = args.order.add_to(args.counts.add_to(request));
            let request = args.sort.add_to(args.page.add_to(request));
            show_page_of(request, &TRACES, "traces", with_error, context).await
        }
        TraceCommand::Get { ids, token } => {
            ids.for_each(context, async |id: &str| {
                let answer = context.fetch(&request(id, token.as_deref())?).await?;
                context.output.print(&view(&answer, context)?)?;
                Ok(0)
            })
            .await
        }
        TraceCommand::Wait(args) => {
            let wait = TraceWait {
                id: &args.id,
                token: args.token.as_deref(),
                interval: Duration::from_secs_f64(args.interval),
                limit: Duration::from_secs_f64(args.timeout),
            };
            wait.show(context).await
        }
        TraceCommand::Follow(args) => follow(&args, context).await,
        TraceCommand::Cancel { ids, report } => {
            ids.for_each(context, async |id: &str| {
                let request = ApiRequest::post(admin_path(&["traces", id, "cancel"]))
                    .optional("report", report.then_some(true));
                show_cancel(&format!("Trace '{id}'"), id, &context.fetch(&request).await?, context)
            })
            .await
        }
        TraceCommand::Rerun(args) => rerun(&args, context).await,
    }
}

/// Prints the answer to an order to cancel. Returns 0 once the run has ended, else 2.
pub(super) fn show_cancel(
    subject: &str,
    id: &str,
    answer: &Value,
    context: &CommandContext,
) -> Result<u8, CliError> {
    let row = &answer["data"];
    let has_ended = row["completed_at"].is_string();
    let sentence = match has_ended {
        true => format!("{subject} is {}.", plain(&row["status"])),
        false => format!("{subject} is to be cancelled, and has not ended yet."),
    };
    context.output.print(&context.output.change(Some(answer), id, &sentence)?)?;
    Ok(if has_ended { 0 } else { 2 })
}

/// Parses the version of a workflow that runs again.
pub(super) fn parse_version(text: &str) -> Result<Value, String> {
    match text {
        "same" | "current" => Ok(text.into()),
        number => match number.parse::<i64>() {
            Ok(number) if number > 0 => Ok(number.into()),
            _ => Err("it is same, current or the number of a version".to_owned()),
        },
    }
}

async fn rerun(args: &RerunArgs, context: &CommandContext) -> Result<u8, CliError> {
    let payload = args.payload.read()?.map(|document| document.json()).transpose()?;
    let mut body = json!({ "version": args.version });
    if let Some(payload) = payload {
        body["payload"] = payload;
    }
    args.ids
        .for_each(context, async |id: &str| {
            let request = ApiRequest::post(admin_path(&["traces", id, "rerun"])).json(&body)?;
            let answer = context.fetch(&request).await?;
            let trace = plain(&answer["data"]["trace_id"]);
            let sentence = format!("Trace '{id}' runs again as '{trace}'.");
            context.output.print(&context.output.change(Some(&answer), &trace, &sentence)?)?;
            Ok(0)
        })
        .await
}

/// Gives a row without a message the code of its error: of a run that went on after it.
fn with_error(mut row: Value) -> Value {
    if row["error_message"].is_null() && row["error_code"].is_string() {
        row["error_message"] = row["error_code"].clone();
    }
    row
}

/// Prints a line for each trace that comes, and another when its state changes.
async fn follow(args: &FollowArgs, context: &CommandContext) -> Result<u8, CliError> {
    let mut tail = if args.filter.is_met_late() { TraceTail::patient() } else { TraceTail::default() };
    let (before, has_more) = tail_rows(args, &tail, context).await?;
    tail.skip(&before, has_more);
    let mut remaining = args.count.unwrap_or(usize::MAX);
    while remaining > 0 {
        tokio::time::sleep(Duration::from_secs_f64(args.interval)).await;
        let (found, _) = tail_rows(args, &tail, context).await?;
        for row in tail.take(&found).iter().take(remaining) {
            context.output.print(&tail_line(row, context))?;
            remaining -= 1;
        }
    }
    Ok(0)
}

/// Reads pages, newest first, until nothing new can follow. Returns their rows, and `true` if older ones follow.
async fn tail_rows(
    args: &FollowArgs,
    tail: &TraceTail,
    context: &CommandContext,
) -> Result<(Vec<Value>, bool), CliError> {
    let (mut all, mut cursor) = (Vec::new(), None::<String>);
    for _ in 0..TAIL_PAGES {
        let request = args.filter.request().query("limit", TAIL_PAGE).optional("cursor", cursor.as_deref());
        let answer = context.fetch(&request).await?;
        all.extend(rows(&answer));
        cursor = answer["next_cursor"].as_str().map(str::to_owned);
        if cursor.is_none() || tail.reaches(&all) {
            return Ok((all, cursor.is_some()));
        }
    }
    context.output.warn("more traces come than can be shown; narrow the filter");
    Ok((all, true))
}

fn tail_line(row: &Value, context: &CommandContext) -> String {
    if context.output.is_quiet {
        return format!("{}\n", plain(&row["id"]));
    }
    if !context.output.is_table() {
        return json_line(row);
    }
    let row = &with_error(row.clone());
    let column = |path: &str| plain(member(row, path));
    let duration = row["duration_ms"].as_f64().map(|ms| format!("  {ms:.1} ms")).unwrap_or_default();
    let error =
        row["error_message"].as_str().map(|_| format!("  {}", column("error_message"))).unwrap_or_default();
    format!(
        "{}  {}  {:9}  {:5}  {}{duration}{error}\n",
        column("created_at"),
        column("id"),
        column("status"),
        column("mode"),
        column("channel")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_named_or_numbered() {
        for (text, expected) in [("same", json!("same")), ("current", json!("current")), ("7", json!(7))] {
            assert_eq!(parse_version(text), Ok(expected));
        }
        for bad in ["latest", "0", "-1", "1.5", ""] {
            assert!(parse_version(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn tolerated_error_shows_its_code() {
        let error = |code: Value, message: Value| {
            with_error(json!({"error_code": code, "error_message": message}))["error_message"].clone()
        };
        assert_eq!(error(json!("HTTP_ERROR"), Value::Null), "HTTP_ERROR");
        assert_eq!(error(json!("HTTP_ERROR"), json!("call: it broke")), "call: it broke");
        assert_eq!(error(Value::Null, Value::Null), Value::Null);
    }
}
