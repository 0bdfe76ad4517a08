//! `nodes`: the processes that share the database.

use clap::Args;
use svc_client::{ApiRequest, admin_path};

use crate::commands::entity::rows;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CellKind, TableColumn, TableLayout};
use crate::watch::{WatchArgs, WatchFrame};

const NODES: TableLayout = TableLayout {
    id: "id",
    columns: &[
        TableColumn::new("ID", "id", CellKind::Id),
        TableColumn::new("STATUS", "status", CellKind::State),
        TableColumn::new("VERSION", "version", CellKind::Id).optional(4),
        TableColumn::new("EPOCH", "applied_epoch", CellKind::Number).optional(3),
        TableColumn::new("PID", "pid", CellKind::Number).optional(6),
        TableColumn::new("STARTED", "started_at", CellKind::Time).optional(5),
        TableColumn::new("LEASE UNTIL", "lease_until", CellKind::Time).optional(2),
        TableColumn::new("ANSWERS", "is_this", CellKind::Id).optional(1),
    ],
};

/// The options of the command.
#[derive(Args, Debug)]
pub(crate) struct NodesArgs {
    #[command(flatten)]
    watch: WatchArgs,
}

/// Lists the nodes, the youngest first.
pub(crate) async fn run(args: &NodesArgs, context: &CommandContext) -> Result<u8, CliError> {
    let draw = async || {
        let answer = context.fetch(&ApiRequest::get(admin_path(&["nodes"]))).await?;
        WatchFrame::list(context, &answer, &rows(&answer), &NODES, "nodes")
    };
    args.watch.show(context, draw).await
}
