//! `actors`: the supervision tree, its history, restarts.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use svc_client::{ApiRequest, admin_path};

use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{ABSENT, CellKind, TableColumn, TableLayout, plain};
use crate::watch::{WatchArgs, WatchFrame};

const ACTORS: TableLayout = TableLayout {
    id: "path",
    columns: &[
        TableColumn::new("ACTOR", "name", CellKind::Id),
        TableColumn::new("STATE", "state", CellKind::State),
        TableColumn::new("GENERATION", "generation", CellKind::Number).optional(4),
        TableColumn::new("RESTARTS", "restarts", CellKind::Number),
        TableColumn::new("MAILBOX", "mailbox", CellKind::Id).optional(2),
        TableColumn::new("HANDLED", "handled", CellKind::Number).optional(1),
        TableColumn::new("BUSY MS", "busy_ms", CellKind::Number).optional(5),
        TableColumn::new("THREAD", "thread", CellKind::Id).optional(6),
        TableColumn::new("REASON", "reason", CellKind::Text).optional(3).movable(),
    ],
};

const EVENTS: TableLayout = TableLayout {
    id: "seq",
    columns: &[
        TableColumn::new("NUMBER", "seq", CellKind::Number),
        TableColumn::new("TIME", "at", CellKind::Id),
        TableColumn::new("ACTOR", "path", CellKind::Id),
        TableColumn::new("GENERATION", "generation", CellKind::Number).optional(2),
        TableColumn::new("EVENT", "event", CellKind::State),
        TableColumn::new("DETAIL", "detail", CellKind::Text).optional(1).movable(),
    ],
};

/// The options of the command.
#[derive(Args, Debug)]
pub(crate) struct ActorsArgs {
    #[command(subcommand)]
    command: Option<ActorCommand>,
    #[command(flatten)]
    watch: WatchArgs,
}

/// The commands other than the tree.
#[derive(Debug, Subcommand)]
pub(crate) enum ActorCommand {
    /// Show the supervision tree
    List {
        #[command(flatten)]
        watch: WatchArgs,
    },
    /// Show the last events of the tree, oldest first
    History,
    /// Restart an actor, or all of a group; ends a quarantine
    Restart {
        /// Path of the actor, such as connectors/crm
        path: String,
        /// Id of the node that it is for; another one refuses it
        #[arg(long, value_name = "ID")]
        node: Option<String>,
    },
}

/// Runs a command of the tree; without one, shows it.
pub(crate) async fn run(args: ActorsArgs, context: &CommandContext) -> Result<u8, CliError> {
    match args.command {
        None => args.watch.show(context, async || tree(context).await).await,
        Some(ActorCommand::List { watch }) => watch.show(context, async || tree(context).await).await,
        Some(ActorCommand::History) => history(context).await,
        Some(ActorCommand::Restart { path, node }) => restart(&path, node, context).await,
    }
}

async fn tree(context: &CommandContext) -> Result<WatchFrame, CliError> {
    let answer = context.fetch(&ApiRequest::get(admin_path(&["actors"]))).await?;
    let nodes = answer["data"]["nodes"].as_array();
    let rows: Vec<Value> = nodes.into_iter().flatten().map(row).collect();
    WatchFrame::list(context, &answer, &rows, &ACTORS, "actors")
}

/// Returns the row of a node: its name is indented by its depth, its mailbox is one cell.
fn row(node: &Value) -> Value {
    let mut row = node.clone();
    let path = node["path"].as_str().unwrap_or_default();
    let depth = path.matches('/').count();
    let name = path.rsplit('/').next().unwrap_or_default();
    let known_as = node["connector"].as_str().map(|name| format!(" ({name})")).unwrap_or_default();
    row["name"] = format!("{}{name}{known_as}", "  ".repeat(depth)).into();
    row["mailbox"] = match node["mailbox_bound"].as_u64() {
        Some(0) | None => Value::Null,
        Some(bound) => format!("{}/{bound}", plain(&node["mailbox_depth"])).into(),
    };
    let reason =
        if node["quarantine_reason"].is_null() { &node["last_exit"] } else { &node["quarantine_reason"] };
    row["reason"] = if reason.is_null() { json!("") } else { reason.clone() };
    row
}

async fn history(context: &CommandContext) -> Result<u8, CliError> {
    let answer = context.fetch(&ApiRequest::get(admin_path(&["actors"]))).await?;
    let history = &answer["data"]["history"];
    let events: Vec<Value> = history.as_array().into_iter().flatten().map(event_row).collect();
    context.output.print(&context.output.list(history, &events, &EVENTS)?)?;
    Ok(0)
}

/// Returns the row of an event. The members that only some kinds of event have share one cell.
fn event_row(event: &Value) -> Value {
    let after = event["after_ms"].as_u64().map(|ms| format!("after {ms} ms"));
    let texts = [&event["reason"], &event["exit"], &event["recent"]].map(plain);
    let texts = texts.into_iter().filter(|text| text != ABSENT).chain(after);
    let mut row = event.clone();
    row["detail"] = texts.collect::<Vec<_>>().join("; ").into();
    row
}

async fn restart(path: &str, node: Option<String>, context: &CommandContext) -> Result<u8, CliError> {
    context.confirm(&format!("Restart '{path}'?"))?;
    let segments: Vec<_> = ["actors"].into_iter().chain(path.split('/')).chain(["restart"]).collect();
    let answer = context.fetch(&ApiRequest::post(admin_path(&segments)).optional("node", node)).await?;
    let sentence = format!("Restarted '{path}'.");
    context.output.print(&context.output.change(Some(&answer), path, &sentence)?)?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actor_is_indented_by_its_depth() {
        let node = json!({"path": "connectors/c1", "connector": "crm", "mailbox_depth": 2, "mailbox_bound": 64,
            "last_exit": "panicked"});
        let row = row(&node);
        assert_eq!((&row["name"], &row["mailbox"]), (&json!("  c1 (crm)"), &json!("2/64")));
        assert_eq!(row["reason"], "panicked");
    }

    #[test]
    fn event_has_one_detail() {
        let row = |event: Value| event_row(&event)["detail"].clone();
        assert_eq!(row(json!({"event": "started"})), "");
        assert_eq!(row(json!({"event": "restart_scheduled", "after_ms": 100})), "after 100 ms");
        let exited = json!({"event": "exited", "exit": {"panicked": "boom"}, "recent": ["Ping", "Run"]});
        assert_eq!(row(exited), r#"{"panicked":"boom"}; Ping, Run"#);
    }
}
