//! `backups`: copies of the database that the server makes.

use clap::Subcommand;
use svc_client::{ApiRequest, admin_path};

use crate::commands::entity::show_page;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CellKind, TableColumn, TableLayout, plain};

const BACKUPS: TableLayout = TableLayout {
    id: "filename",
    columns: &[
        TableColumn::new("FILE", "filename", CellKind::Id),
        TableColumn::new("BYTES", "size_bytes", CellKind::Number),
        TableColumn::new("MODIFIED", "modified_at", CellKind::Time),
    ],
};

/// The commands of backups.
#[derive(Debug, Subcommand)]
pub(crate) enum BackupCommand {
    /// List the backups, newest first
    List,
    /// Make a backup while the server runs
    Create,
}

/// Runs a command of backups.
pub(crate) async fn run(command: BackupCommand, context: &CommandContext) -> Result<u8, CliError> {
    let path = admin_path(&["backups"]);
    match command {
        BackupCommand::List => show_page(ApiRequest::get(path), &BACKUPS, "backups", context).await,
        BackupCommand::Create => {
            let answer = context.fetch(&ApiRequest::post(path)).await?;
            let backup = &answer["data"];
            let (file, bytes) = (plain(&backup["filename"]), plain(&backup["size_bytes"]));
            let sentence = format!("Made backup {} ({bytes} bytes).", plain(&backup["path"]));
            context.output.print(&context.output.change(Some(&answer), &file, &sentence)?)?;
            Ok(0)
        }
    }
}
