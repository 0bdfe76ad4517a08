//! `errors`: failures grouped by their cause, and the filters that lists of runs share.

use clap::Args;
use serde_json::Value;
use svc_client::{ApiRequest, admin_path};

use super::entity::show_page_of;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::moment::parse_moment;
use crate::output::{CellKind, TableColumn, TableLayout, plain};
use crate::paging::PageArgs;

const GROUPS: TableLayout = TableLayout {
    id: "group",
    columns: &[
        TableColumn::new("MESSAGE", "message", CellKind::Text).optional(1).movable(),
        TableColumn::new("COUNT", "count", CellKind::Number),
        TableColumn::new("SINCE", "first_seen", CellKind::Time),
        TableColumn::new("CHANNEL", "channel", CellKind::Text),
        TableColumn::new("CHANGE", "change", CellKind::Text).optional(1).movable(),
        TableColumn::new("GROUP", "group", CellKind::Id),
    ],
};

const RECENT: TableLayout = TableLayout {
    id: "group",
    columns: &[
        TableColumn::new("MESSAGE", "message", CellKind::Text).optional(1).movable(),
        TableColumn::new("COUNT", "count", CellKind::Number),
        TableColumn::new("LAST", "last_seen", CellKind::Time),
        TableColumn::new("CHANNEL", "channel", CellKind::Text),
        TableColumn::new("SINCE", "first_seen", CellKind::Time).optional(2),
        TableColumn::new("GROUP", "group", CellKind::Id),
    ],
};

/// The filters by the cause of a failure.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FailureFilterArgs {
    /// Show those of channels with one of these tags alone, separated by commas
    #[arg(long, value_name = "TAGS")]
    tag: Option<String>,
    /// Show those of these workflows alone, separated by commas
    #[arg(long, value_name = "IDS")]
    workflow: Option<String>,
    /// Show those of these versions of the workflow alone, separated by commas; of occurrences, of the channel
    #[arg(long, value_name = "NUMBERS")]
    version: Option<String>,
    /// Show failures by an error of these tasks alone, separated by commas
    #[arg(long, value_name = "IDS")]
    task: Option<String>,
    /// Show those with these codes of errors alone, separated by commas
    #[arg(long, value_name = "CODES")]
    error_code: Option<String>,
    /// Show failures of these groups alone, as 'errors' names them
    #[arg(long, value_name = "GROUPS")]
    error_group: Option<String>,
}

impl FailureFilterArgs {
    /// Returns `true` if a run meets the filter only once it has run.
    pub(crate) fn is_met_late(&self) -> bool {
        [&self.task, &self.error_code, &self.error_group].iter().any(|word| word.is_some())
    }

    /// Adds the filters to a request.
    pub(crate) fn add_to(&self, request: ApiRequest) -> ApiRequest {
        request
            .optional("tag", self.tag.as_deref())
            .optional("workflow", self.workflow.as_deref())
            .optional("version", self.version.as_deref())
            .optional("task", self.task.as_deref())
            .optional("error_code", self.error_code.as_deref())
            .optional("error_group", self.error_group.as_deref())
    }
}

/// The filters by the identity of a run.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RunFilterArgs {
    /// Show those of these traces alone, separated by commas
    #[arg(long, value_name = "IDS")]
    trace_id: Option<String>,
    /// Show those of the runs with these keys alone, metadata.run.key, separated by commas
    #[arg(long, value_name = "KEYS")]
    run_key: Option<String>,
}

impl RunFilterArgs {
    /// Adds the filters to a request.
    pub(crate) fn add_to(&self, request: ApiRequest) -> ApiRequest {
        request.optional("trace_id", self.trace_id.as_deref()).optional("run_key", self.run_key.as_deref())
    }
}

/// The options of the list of groups.
#[derive(Args, Debug)]
pub(crate) struct ErrorListArgs {
    /// Show those of these channels alone, separated by commas
    #[arg(long)]
    channel: Option<String>,
    #[command(flatten)]
    failures: FailureFilterArgs,
    /// Count failures from this time on: RFC 3339, or a time ago such as 15m, 2h, 1d
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_moment)]
    since: Option<String>,
    /// Count failures before this time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_moment)]
    until: Option<String>,
    /// Show the counts of the last hour, which are cheap whatever the number of failures
    #[arg(long, conflicts_with_all = [
        "channel", "tag", "workflow", "version", "task", "error_code", "error_group", "since", "until", "q", "limit",
        "offset",
    ])]
    recent: bool,
    /// Show groups with this text in their message alone
    #[arg(long, value_name = "TEXT")]
    q: Option<String>,
    /// Print the answer as JSON, as -o json does
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    page: PageArgs,
}

/// Lists the groups, the most frequent first.
pub(crate) async fn run(args: ErrorListArgs, context: &CommandContext) -> Result<u8, CliError> {
    if args.recent {
        return show_recent(args.json, context).await;
    }
    let request = ApiRequest::get(admin_path(&["errors"]))
        .optional("channel", args.channel)
        .optional("since", args.since)
        .optional("until", args.until)
        .optional("q", args.q);
    let request = args.page.add_to(args.failures.add_to(request));
    if args.json {
        let answer = context.fetch(&request).await?;
        context.output.print(&context.output.document(&answer)?)?;
        return Ok(0);
    }
    show_page_of(request, &GROUPS, "groups of errors", with_change, context).await
}

/// Lists the groups of the last hour by their counts.
async fn show_recent(is_json: bool, context: &CommandContext) -> Result<u8, CliError> {
    let answer = context.fetch(&ApiRequest::get(admin_path(&["errors", "recent"]))).await?;
    if is_json {
        context.output.print(&context.output.document(&answer)?)?;
        return Ok(0);
    }
    let rows = answer["data"]["groups"].as_array().cloned().unwrap_or_default();
    context.output.print(&context.output.list(&answer, &rows, &RECENT)?)?;
    if rows.is_empty() && context.output.is_table() {
        context.output.note("no failures in the last hour");
    }
    Ok(0)
}

/// Describes the last change before the first failure of a group in one text.
fn with_change(mut row: Value) -> Value {
    let change = row["change"].take();
    let part = |name: &str| plain(&change[name]);
    row["change"] = match change.is_object() {
        true => format!(
            "{} {} {} by {} at {}",
            part("action"),
            part("resource_type"),
            part("resource_id"),
            part("principal"),
            part("created_at")
        )
        .into(),
        false => "".into(),
    };
    row
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Parser)]
    struct Parsed {
        #[command(flatten)]
        list: ErrorListArgs,
    }

    #[test]
    fn recent_counts_take_no_filter() {
        assert!(Parsed::try_parse_from(["errors", "--recent", "--json"]).unwrap().list.recent);
        for filter in [
            "--channel",
            "--tag",
            "--workflow",
            "--version",
            "--task",
            "--error-code",
            "--error-group",
            "--q",
        ] {
            let refused = Parsed::try_parse_from(["errors", "--recent", filter, "3"]);
            let kind = refused.map(|parsed| parsed.list.recent).unwrap_err().kind();
            assert_eq!(kind, clap::error::ErrorKind::ArgumentConflict, "{filter}");
        }
    }

    #[test]
    fn change_is_one_text() {
        let change = json!({"action": "update", "resource_type": "workflow", "resource_id": "intake",
            "principal": "ci", "created_at": "2026-01-02T12:00:00Z"});
        let expected = "update workflow intake by ci at 2026-01-02T12:00:00Z";
        assert_eq!(with_change(json!({"change": change}))["change"], expected);
        assert_eq!(with_change(json!({"change": null}))["change"], "");
    }
}
