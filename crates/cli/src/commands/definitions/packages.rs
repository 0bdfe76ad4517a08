//! `packages`: the receipts of the packages that were applied.

use clap::Subcommand;
use serde_json::Value;
use svc_client::{ApiRequest, admin_path};

use crate::commands::entity::show_page;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CellKind, TableColumn, TableLayout, plain};
use crate::paging::PageArgs;

const RECEIPTS: TableLayout = TableLayout {
    id: "name",
    columns: &[
        TableColumn::new("NAME", "name", CellKind::Id),
        TableColumn::new("VERSION", "version", CellKind::Id),
        TableColumn::new("STATE", "state", CellKind::State),
        TableColumn::new("UPDATED", "updated_at", CellKind::Time).optional(1),
        TableColumn::new("PRINCIPAL", "principal", CellKind::Id).optional(2),
        TableColumn::new("CONTENT HASH", "content_hash", CellKind::Id).optional(3),
    ],
};

/// The commands of packages.
#[derive(Debug, Subcommand)]
pub(crate) enum PackagesCommand {
    /// List the receipts by name, newest first
    List {
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show the receipts of one package
    Get {
        /// Name of the package
        name: String,
    },
}

/// Runs a command of packages.
pub(crate) async fn run(command: PackagesCommand, context: &CommandContext) -> Result<u8, CliError> {
    match command {
        PackagesCommand::List { page } => {
            show_page(page.add_to(ApiRequest::get(admin_path(&["packages"]))), &RECEIPTS, "packages", context)
                .await
        }
        PackagesCommand::Get { name } => {
            let answer = context.fetch(&ApiRequest::get(admin_path(&["packages", &name]))).await?;
            let package = &answer["data"];
            let text = if context.output.is_table() {
                let versions = package["versions"].as_array().cloned().unwrap_or_default();
                format!("{}\n\n{}", current(package), context.output.list(&answer, &versions, &RECEIPTS)?)
            } else {
                context.output.record(&answer, package, "name")?
            };
            context.output.print(&text)?;
            Ok(0)
        }
    }
}

fn current(package: &Value) -> String {
    match &package["current"]["version"] {
        Value::Null => format!("{}: no version is applied", plain(&package["name"])),
        version => format!("{}: version {} is current", plain(&package["name"]), plain(version)),
    }
}
