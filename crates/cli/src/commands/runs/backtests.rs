//! `backtests`: the backtests of a server, their reports and their end.

use clap::Subcommand;
use svc_client::{ApiRequest, admin_path};

use crate::commands::entity::{show_page, show_record};
use crate::commands::several::IdsArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CellKind, TableColumn, TableLayout};
use crate::paging::PageArgs;

const BACKTESTS: TableLayout = TableLayout {
    id: "id",
    columns: &[
        TableColumn::new("ID", "id", CellKind::Id),
        TableColumn::new("KIND", "kind", CellKind::Text).optional(2),
        TableColumn::new("OF", "definition", CellKind::Text),
        TableColumn::new("VERSION", "version", CellKind::Number).optional(1),
        TableColumn::new("STATE", "state", CellKind::State),
        TableColumn::new("DONE", "done", CellKind::Number),
        TableColumn::new("LIMIT", "limit", CellKind::Number).optional(4),
        TableColumn::new("STARTED", "started_at", CellKind::Time).optional(3),
        TableColumn::new("BY", "started_by", CellKind::Text).optional(5),
    ],
};

/// The commands of backtests.
#[derive(Debug, Subcommand)]
pub(crate) enum BacktestCommand {
    /// List backtests, newest first
    List {
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show a backtest with its report so far
    Get {
        /// Id of the backtest
        id: String,
    },
    /// End backtests; the reports so far are kept
    Abort(IdsArgs),
}

/// Runs a command of backtests.
pub(crate) async fn run(command: BacktestCommand, context: &CommandContext) -> Result<u8, CliError> {
    match command {
        BacktestCommand::List { page } => {
            let request = ApiRequest::get(admin_path(&["backtests"]));
            show_page(page.add_to(request), &BACKTESTS, "backtests", context).await
        }
        BacktestCommand::Get { id } => {
            show_record(&ApiRequest::get(admin_path(&["backtests", &id])), "id", context).await
        }
        BacktestCommand::Abort(ids) => {
            ids.for_each(context, async |id: &str| {
                let request = ApiRequest::post(admin_path(&["backtests", id, "abort"]));
                let answer = context.fetch(&request).await?;
                let sentence = format!("Told backtest '{id}' to end.");
                context.output.print(&context.output.change(Some(&answer), id, &sentence)?)?;
                Ok(0)
            })
            .await
        }
    }
}
