//! `functions`: the catalogue of functions.

use clap::Subcommand;
use svc_client::{ApiRequest, admin_path};

use crate::commands::entity::show_page;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CellKind, TableColumn, TableLayout};

const FUNCTIONS: TableLayout = TableLayout {
    id: "name",
    columns: &[
        TableColumn::new("NAME", "name", CellKind::Id),
        TableColumn::new("CATEGORY", "category", CellKind::Id),
        TableColumn::new("RETRY SAFETY", "retry_safety", CellKind::Id).optional(1),
        TableColumn::new("DESCRIPTION", "description", CellKind::Text),
    ],
};

/// The commands of the catalogue.
#[derive(Debug, Subcommand)]
pub(crate) enum FunctionCommand {
    /// List the functions that tasks can call
    List,
}

/// Runs a command of the catalogue.
pub(crate) async fn run(command: FunctionCommand, context: &CommandContext) -> Result<u8, CliError> {
    match command {
        FunctionCommand::List => {
            show_page(ApiRequest::get(admin_path(&["functions"])), &FUNCTIONS, "functions", context).await
        }
    }
}
