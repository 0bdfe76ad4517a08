//! `dlq`: dead letters.

use clap::Subcommand;
use serde_json::json;
use svc_client::{ApiRequest, admin_path};

use crate::commands::entity::{show_page, show_record};
use crate::commands::errors::{FailureFilterArgs, RunFilterArgs};
use crate::commands::several::IdsArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::moment::parse_moment;
use crate::output::{CellKind, TableColumn, TableLayout, plain};
use crate::paging::{CountArgs, OrderArgs, PageArgs};

const LETTERS: TableLayout = TableLayout {
    id: "id",
    columns: &[
        TableColumn::new("ID", "id", CellKind::Id),
        TableColumn::new("CHANNEL", "channel", CellKind::Text),
        TableColumn::new("RETRIES", "retry_count", CellKind::Number),
        TableColumn::new("OF", "max_retries", CellKind::Number),
        TableColumn::new("NEXT RETRY", "next_retry_at", CellKind::Time).optional(1),
        TableColumn::new("CREATED", "created_at", CellKind::Time).optional(2),
        TableColumn::new("ERROR", "error_message", CellKind::Text).optional(3).movable(),
    ],
};

/// The commands of dead letters.
#[derive(Debug, Subcommand)]
pub(crate) enum DeadLetterCommand {
    /// List dead letters, newest first
    List {
        /// Show those of this channel alone
        #[arg(long)]
        channel: Option<String>,
        /// Show those without a retry left alone; with =false, the others
        #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
        exhausted: Option<bool>,
        #[command(flatten)]
        failures: Box<FailureFilterArgs>,
        #[command(flatten)]
        runs: Box<RunFilterArgs>,
        /// Show those of failures from this time on: RFC 3339, or a time ago such as 15m, 2h, 1d
        #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_moment)]
        since: Option<String>,
        /// Show those of failures before this time
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
    },
    /// Show a dead letter with its payload
    Get(IdsArgs),
    /// Make dead letters due at once, with all their retries again
    Requeue(IdsArgs),
    /// Delete dead letters without a retry left
    Purge {
        /// Delete those older than this
        #[arg(long, value_name = "HOURS")]
        older_than_hours: u64,
    },
}

/// Runs a command of dead letters.
pub(crate) async fn run(command: DeadLetterCommand, context: &CommandContext) -> Result<u8, CliError> {
    match command {
        DeadLetterCommand::List {
            channel,
            exhausted,
            failures,
            runs,
            since,
            until,
            cursor,
            order,
            counts,
            page,
        } => {
            let request = ApiRequest::get(admin_path(&["trace-dlq"]))
                .optional("channel", channel)
                .optional("exhausted", exhausted)
                .optional("since", since)
                .optional("until", until)
                .optional("cursor", cursor);
            let request = counts.add_to(order.add_to(runs.add_to(failures.add_to(request))));
            show_page(page.add_to(request), &LETTERS, "dead letters", context).await
        }
        DeadLetterCommand::Get(ids) => {
            ids.for_each(context, async |id: &str| {
                show_record(&ApiRequest::get(admin_path(&["trace-dlq", id])), "id", context).await
            })
            .await
        }
        DeadLetterCommand::Requeue(ids) => {
            ids.for_each(context, async |id: &str| {
                let request = ApiRequest::post(admin_path(&["trace-dlq", id, "requeue"]));
                let answer = context.fetch(&request).await?;
                let sentence = format!("Requeued dead letter '{id}'.");
                context.output.print(&context.output.change(Some(&answer), id, &sentence)?)?;
                Ok(0)
            })
            .await
        }
        DeadLetterCommand::Purge { older_than_hours: hours } => {
            context.confirm(&format!("Delete the exhausted dead letters older than {hours} h?"))?;
            let request = ApiRequest::post(admin_path(&["trace-dlq", "purge"]));
            let answer = context.fetch(&request.json(&json!({"older_than_hours": hours}))?).await?;
            let purged = plain(&answer["data"]["purged"]);
            let sentence = format!("Deleted {purged} dead letters.");
            context.output.print(&context.output.change(Some(&answer), &purged, &sentence)?)?;
            Ok(0)
        }
    }
}
