//! `cron`: schedules and their occurrences; `why`: the explanation of an instant.

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use svc_client::{ApiRequest, admin_path};

use super::traces::{parse_version, show_cancel};
use crate::commands::entity::{rows, show_page, show_record};
use crate::commands::errors::{FailureFilterArgs, RunFilterArgs};
use crate::commands::several::IdsArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::moment::parse_moment;
use crate::output::{CellKind, TableColumn, TableLayout, member, plain};
use crate::paging::{CountArgs, OrderArgs, PageArgs};
use crate::watch::{WatchArgs, WatchFrame};

const SCHEDULES: TableLayout = TableLayout {
    id: "channel_id",
    columns: &[
        TableColumn::new("CHANNEL", "channel_id", CellKind::Id),
        TableColumn::new("SCHEDULE", "schedule", CellKind::Text),
        TableColumn::new("ZONE", "timezone", CellKind::Id).optional(2),
        TableColumn::new("NEXT", "next_fire_at", CellKind::Time),
        TableColumn::new("LAST", "last_status", CellKind::State),
        TableColumn::new("LAST DUE", "last_scheduled_for", CellKind::Time).optional(1),
        TableColumn::new("PENDING", "pending", CellKind::Number).optional(3),
    ],
};

const OCCURRENCES: TableLayout = TableLayout {
    id: "id",
    columns: &[
        TableColumn::new("ID", "id", CellKind::Id),
        TableColumn::new("CHANNEL", "channel_name", CellKind::Text),
        TableColumn::new("DUE", "scheduled_for", CellKind::Time),
        TableColumn::new("STATUS", "status", CellKind::State),
        TableColumn::new("TRIGGER", "trigger", CellKind::Id).optional(3),
        TableColumn::new("ATTEMPT", "attempt", CellKind::Number).optional(2),
        TableColumn::new("COMPLETED", "completed_at", CellKind::Time).optional(1),
    ],
};

const HOLDERS: TableLayout = TableLayout {
    id: "occurrence_id",
    columns: &[
        TableColumn::new("HELD BY", "occurrence_id", CellKind::Id),
        TableColumn::new("CHANNEL", "channel_name", CellKind::Text),
        TableColumn::new("SINCE", "started_at", CellKind::Time),
        TableColumn::new("UNTIL", "completed_at", CellKind::Time).optional(1),
        TableColumn::new("NODE", "claimed_by", CellKind::Id).optional(2),
    ],
};

/// The lines of an explanation, each with the place of its value in the answer.
const EXPLANATION: [(&str, &str); 14] = [
    ("at", "at"),
    ("reason", "reason"),
    ("due", "due"),
    ("occurrence", "occurrence.id"),
    ("trace", "occurrence.trace_id"),
    ("position", "position"),
    ("quarantined", "quarantined"),
    ("paused", "paused.reason"),
    ("previous", "previous.scheduled_for"),
    ("previous_status", "previous.status"),
    ("cursor", "cursor.next_fire_at"),
    ("next", "next"),
    ("version", "active_version"),
    ("clock_offset_ms", "clock.offset_ms"),
];

/// The commands of schedules.
#[derive(Debug, Subcommand)]
pub(crate) enum CronCommand {
    /// Show every schedule with its next instant
    Status {
        #[command(flatten)]
        watch: WatchArgs,
    },
    /// List occurrences, newest first
    List(Box<OccurrenceListArgs>),
    /// Show an occurrence
    Get {
        /// Id of the occurrence
        id: String,
    },
    /// Run failed, skipped or cancelled occurrences again
    Retry {
        #[command(flatten)]
        ids: IdsArgs,
        /// The version of the workflow: same, current or a number; current by default
        #[arg(long, value_parser = parse_version)]
        version: Option<Value>,
    },
    /// Cancel occurrences that have not ended; exits with 2 while one has not ended yet
    Cancel {
        #[command(flatten)]
        ids: IdsArgs,
        /// Report it to the channel that on_failure names
        #[arg(long)]
        report: bool,
    },
}

/// The filters of the list.
#[derive(Args, Debug)]
pub(crate) struct OccurrenceListArgs {
    /// Show those of this channel alone
    #[arg(long, value_name = "ID")]
    channel_id: Option<String>,
    /// Show those of the channels of these names alone, separated by commas
    #[arg(long)]
    channel: Option<String>,
    /// Show those in these states alone, separated by commas, such as failed
    #[arg(long)]
    status: Option<String>,
    #[command(flatten)]
    failures: FailureFilterArgs,
    #[command(flatten)]
    runs: RunFilterArgs,
    /// Show those due at this time or later: RFC 3339, or a time ago such as 15m, 2h, 1d
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_moment)]
    since: Option<String>,
    /// Show those due at this time or earlier
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_moment)]
    until: Option<String>,
    /// Go on behind this position
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    order: OrderArgs,
    #[command(flatten)]
    counts: CountArgs,
    #[command(flatten)]
    page: PageArgs,
}

/// The arguments of an explanation.
#[derive(Args, Debug)]
pub(crate) struct WhyArgs {
    /// Id of the channel
    channel: String,
    /// The instant, by default now: RFC 3339, or a time ago such as 15m, 2h, 1d
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_moment)]
    at: Option<String>,
}

/// Explains why a channel ran at an instant of its schedule, or did not.
pub(crate) async fn explain(args: &WhyArgs, context: &CommandContext) -> Result<u8, CliError> {
    let request = ApiRequest::get(admin_path(&["channels", &args.channel, "why"]));
    let answer = context.fetch(&request.optional("at", args.at.as_deref())).await?;
    let (output, explained) = (&context.output, &answer["data"]);
    if !output.is_table() {
        output.print(&output.record(&answer, explained, "reason")?)?;
        return Ok(0);
    }
    let lines = output.members(&explanation_lines(explained));
    let mut text = format!("{}\n\n{lines}", plain(&explained["sentence"]));
    let holders = explained["holders"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !holders.is_empty() {
        text += &format!("\n{}", output.table(holders, &HOLDERS));
    }
    output.print(&text)?;
    Ok(0)
}

/// Returns the lines of an explanation that have a value.
fn explanation_lines(explained: &Value) -> Value {
    let lines = EXPLANATION.iter().map(|(name, path)| (*name, member(explained, path)));
    let lines = lines.filter(|(_, value)| !value.is_null());
    Value::Object(lines.map(|(name, value)| (name.to_owned(), value.clone())).collect::<Map<_, _>>())
}

/// Runs a command of schedules.
pub(crate) async fn run(command: CronCommand, context: &CommandContext) -> Result<u8, CliError> {
    match command {
        CronCommand::Status { watch } => watch.show(context, async || status(context).await).await,
        CronCommand::List(args) => {
            let request = ApiRequest::get(admin_path(&["cron", "occurrences"]))
                .optional("channel_id", args.channel_id)
                .optional("channel", args.channel)
                .optional("status", args.status)
                .optional("since", args.since)
                .optional("until", args.until)
                .optional("cursor", args.cursor);
            let request = args.order.add_to(args.runs.add_to(args.failures.add_to(request)));
            let request = args.page.add_to(args.counts.add_to(request));
            show_page(request, &OCCURRENCES, "occurrences", context).await
        }
        CronCommand::Get { id } => {
            show_record(&ApiRequest::get(admin_path(&["cron", "occurrences", &id])), "id", context).await
        }
        CronCommand::Cancel { ids, report } => {
            ids.for_each(context, async |id: &str| {
                let request = ApiRequest::post(admin_path(&["cron", "occurrences", id, "cancel"]))
                    .optional("report", report.then_some(true));
                show_cancel(&format!("Occurrence '{id}'"), id, &context.fetch(&request).await?, context)
            })
            .await
        }
        CronCommand::Retry { ids, version } => {
            ids.for_each(context, async |id: &str| {
                let request = ApiRequest::post(admin_path(&["cron", "occurrences", id, "retry"]));
                let request = match &version {
                    Some(version) => request.json(&json!({ "version": version }))?,
                    None => request,
                };
                let answer = context.fetch(&request).await?;
                let attempt = plain(&answer["data"]["attempt"]);
                let sentence = format!("Occurrence '{id}' is due again, attempt {attempt}.");
                context.output.print(&context.output.change(Some(&answer), id, &sentence)?)?;
                Ok(0)
            })
            .await
        }
    }
}

async fn status(context: &CommandContext) -> Result<WatchFrame, CliError> {
    let answer = context.fetch(&ApiRequest::get(admin_path(&["cron", "status"]))).await?;
    WatchFrame::list(context, &answer, &rows(&answer), &SCHEDULES, "schedules")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn explanation_has_lines_for_values_alone() {
        let explained = json!({"at": "2026-01-01T00:00:00Z", "reason": "completed", "due": null,
            "occurrence": {"id": "o-1"}, "clock": {"offset_ms": 0}});
        let expected = json!({"at": "2026-01-01T00:00:00Z", "reason": "completed", "occurrence": "o-1",
            "clock_offset_ms": 0});
        assert_eq!(explanation_lines(&explained), expected);
    }
}
