//! `nodes`: the processes that share the database, and the end of one.

use clap::{Args, Subcommand};
use svc_client::{ApiRequest, admin_path};

use crate::commands::entity::rows;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CellKind, TableColumn, TableLayout, plain};
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
    #[command(subcommand)]
    command: Option<NodeCommand>,
    #[command(flatten)]
    watch: WatchArgs,
}

/// The commands other than the list.
#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    /// List the nodes, the youngest first
    List {
        #[command(flatten)]
        watch: WatchArgs,
    },
    /// End a node as the signal to terminate does: not ready at once, serving until its drain time is over
    Drain {
        /// Id of the node, which must be the one that the server address leads to
        id: String,
    },
}

/// Runs a command of nodes; without one, lists them.
pub(crate) async fn run(args: NodesArgs, context: &CommandContext) -> Result<u8, CliError> {
    match args.command {
        None => list(&args.watch, context).await,
        Some(NodeCommand::List { watch }) => list(&watch, context).await,
        Some(NodeCommand::Drain { id }) => drain(&id, context).await,
    }
}

async fn drain(id: &str, context: &CommandContext) -> Result<u8, CliError> {
    context.confirm(&format!("End node '{id}'?"))?;
    let request = ApiRequest::post(admin_path(&["nodes", "drain"])).query("node", id);
    let answer = context.fetch(&request).await?;
    let seconds = plain(&answer["data"]["accepting_for_secs"]);
    let sentence = format!("Node '{id}' drains; it takes requests for {seconds} more seconds.");
    context.output.print(&context.output.change(Some(&answer), id, &sentence)?)?;
    Ok(0)
}

async fn list(watch: &WatchArgs, context: &CommandContext) -> Result<u8, CliError> {
    let draw = async || {
        let answer = context.fetch(&ApiRequest::get(admin_path(&["nodes"]))).await?;
        WatchFrame::list(context, &answer, &rows(&answer), &NODES, "nodes")
    };
    watch.show(context, draw).await
}
