//! `recordings`: recorded runs, their export for backtests, and their deletion.

use clap::{Args, Subcommand};
use svc_client::{ApiRequest, admin_path};

use crate::commands::entity::{show_page, show_record};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::moment::parse_moment;
use crate::output::{CellKind, TableColumn, TableLayout, json_line, plain};
use crate::paging::PageArgs;

const RECORDINGS: TableLayout = TableLayout {
    id: "id",
    columns: &[
        TableColumn::new("ID", "id", CellKind::Id),
        TableColumn::new("CHANNEL", "channel", CellKind::Text),
        TableColumn::new("WORKFLOW", "workflow_id", CellKind::Text).optional(1),
        TableColumn::new("VERSION", "workflow_version", CellKind::Number).optional(2),
        TableColumn::new("OUTCOME", "outcome", CellKind::State),
        TableColumn::new("BYTES", "bytes", CellKind::Number).optional(3),
        TableColumn::new("CREATED", "created_at", CellKind::Time),
        TableColumn::new("RUN KEY", "run_key", CellKind::Id).optional(4),
    ],
};

/// Rows of one request of an export.
const PAGE: u64 = 200;

/// The commands of recordings.
#[derive(Debug, Subcommand)]
pub(crate) enum RecordingCommand {
    /// List recorded runs, newest first
    List {
        #[command(flatten)]
        filter: RecordingFilterArgs,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show a recorded run with its calls
    Get {
        /// Id of the recording
        id: String,
    },
    /// Print recorded runs, one a line, for 'backtest --traces'
    Export {
        #[command(flatten)]
        filter: RecordingFilterArgs,
        /// Print at most this many
        #[arg(long, default_value_t = 1000, value_name = "N")]
        limit: u64,
    },
    /// Delete the recordings of a channel, of a run, or of a run on a channel
    Delete {
        /// Name of the channel
        #[arg(long, required_unless_present = "run_key")]
        channel: Option<String>,
        /// Key of the run
        #[arg(long)]
        run_key: Option<String>,
    },
}

/// The filter of recordings.
#[derive(Args, Clone, Debug)]
pub(crate) struct RecordingFilterArgs {
    /// Those of this channel alone
    #[arg(long)]
    channel: Option<String>,
    /// Those of this workflow alone
    #[arg(long)]
    workflow: Option<String>,
    /// Those of this version of the workflow alone
    #[arg(long, value_name = "N")]
    version: Option<u64>,
    /// Those of the run with this key alone
    #[arg(long)]
    run_key: Option<String>,
    /// Those of runs with this end alone: completed, failed, timed_out or cancelled
    #[arg(long)]
    outcome: Option<String>,
    /// Those written from this time on: RFC 3339, or a time ago such as 15m, 2h, 1d
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_moment)]
    since: Option<String>,
    /// Those written before this time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_moment)]
    until: Option<String>,
}

impl RecordingFilterArgs {
    fn request(&self) -> ApiRequest {
        ApiRequest::get(admin_path(&["recordings"]))
            .optional("channel", self.channel.as_ref())
            .optional("workflow", self.workflow.as_ref())
            .optional("version", self.version)
            .optional("run_key", self.run_key.as_ref())
            .optional("outcome", self.outcome.as_ref())
            .optional("since", self.since.as_ref())
            .optional("until", self.until.as_ref())
    }
}

/// Runs a command of recordings.
pub(crate) async fn run(command: RecordingCommand, context: &CommandContext) -> Result<u8, CliError> {
    match command {
        RecordingCommand::List { filter, page } => {
            show_page(page.add_to(filter.request()), &RECORDINGS, "recordings", context).await
        }
        RecordingCommand::Get { id } => {
            show_record(&ApiRequest::get(admin_path(&["recordings", &id])), "id", context).await
        }
        RecordingCommand::Export { filter, limit } => export(&filter, limit, context).await,
        RecordingCommand::Delete { channel, run_key } => {
            context.confirm("Delete these recordings?")?;
            let request = ApiRequest::delete(admin_path(&["recordings"]))
                .optional("channel", channel)
                .optional("run_key", run_key);
            let answer = context.fetch(&request).await?;
            let deleted = plain(&answer["data"]["deleted"]);
            let sentence = format!("Deleted {deleted} recordings.");
            context.output.print(&context.output.change(Some(&answer), &deleted, &sentence)?)?;
            Ok(0)
        }
    }
}

/// Prints recordings, the newest first.
async fn export(filter: &RecordingFilterArgs, limit: u64, context: &CommandContext) -> Result<u8, CliError> {
    let mut printed = 0;
    while printed < limit {
        let request = filter.request().query("limit", PAGE.min(limit - printed)).query("offset", printed);
        let page = context.fetch(&request).await?;
        let rows = page["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        if rows.is_empty() {
            break;
        }
        for row in rows {
            printed += 1;
            let Some(id) = row["id"].as_str() else { continue };
            let answer = context.fetch(&ApiRequest::get(admin_path(&["recordings", id]))).await?;
            context.output.print(&json_line(&answer["data"]))?;
        }
    }
    Ok(0)
}
