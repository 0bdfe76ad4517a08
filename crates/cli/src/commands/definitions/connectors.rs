//! `connectors`: definitions of connectors, their probes, their circuit breakers.

use clap::Subcommand;
use serde_json::{Value, json};
use svc_client::ApiRequest;

use super::connector_calls::{ConnectorCallsArgs, list_calls};
use super::impact::show_impact;
use super::import::ImportArgs;
use super::validation::ValidateArgs;
use crate::commands::entity::{
    CreateArgs, DeleteArgs, EntityGroup, EntityListArgs, ExportArgs, UpdateArgs, rows,
};
use crate::commands::several::IdsArgs;
use crate::context::CommandContext;
use crate::error::{CliError, EXIT_FAILURE};
use crate::output::{CellKind, TableColumn, TableLayout, plain};
use crate::watch::{WatchArgs, WatchFrame};

pub(super) const CONNECTORS: EntityGroup = EntityGroup {
    plural: "connectors",
    singular: "connector",
    id: "id",
    layout: TableLayout {
        id: "id",
        columns: &[
            TableColumn::new("NAME", "name", CellKind::Id),
            TableColumn::new("TYPE", "connector_type", CellKind::Id),
            TableColumn::new("ENABLED", "enabled", CellKind::State).optional(1),
            TableColumn::new("LOAD", "load_status", CellKind::State),
            TableColumn::new("TAGS", "tags", CellKind::Text).optional(5),
            TableColumn::new("UPDATED", "updated_at", CellKind::Time).optional(2),
            TableColumn::new("ID", "id", CellKind::Id).optional(4),
            TableColumn::new("ERROR", "load_error", CellKind::Text).optional(3).movable(),
        ],
    },
};

const NAME_OR_ID: &str = "Name or id of the connector";
const NAMES_OR_IDS: &str = "Names or ids, one or several";

/// Rows of a page in which a name is looked for.
const PAGE: usize = 1000;

const BREAKERS: TableLayout = TableLayout {
    id: "key",
    columns: &[
        TableColumn::new("CHANNEL:CONNECTOR", "key", CellKind::Id),
        TableColumn::new("HOST", "host", CellKind::Id),
        TableColumn::new("STATE", "state", CellKind::State),
    ],
};

/// The commands of connectors.
#[derive(Debug, Subcommand)]
pub(crate) enum ConnectorCommand {
    /// List connectors
    List {
        #[command(flatten)]
        args: EntityListArgs,
    },
    /// Show a connector, secrets masked
    Get {
        #[arg(help = NAME_OR_ID)]
        id: String,
    },
    /// Create a connector; it is used at once
    Create(CreateArgs),
    /// Change a connector; the change is used at once
    #[command(mut_arg("id", |id| id.help(NAME_OR_ID)))]
    Update(UpdateArgs),
    /// Delete a connector
    #[command(mut_arg("ids", |ids| ids.help(NAMES_OR_IDS)))]
    Delete(DeleteArgs),
    /// Permit its use
    #[command(mut_arg("ids", |ids| ids.help(NAMES_OR_IDS)))]
    Enable(IdsArgs),
    /// Refuse its use
    #[command(mut_arg("ids", |ids| ids.help(NAMES_OR_IDS)))]
    Disable(IdsArgs),
    /// Reach for the system behind it; exits with 1 when it is out of reach
    #[command(mut_arg("ids", |ids| ids.help(NAMES_OR_IDS)))]
    Test(IdsArgs),
    /// Check a definition; exits with 1 when it is invalid
    Validate(ValidateArgs),
    /// Print the definitions as an array, secrets masked
    Export(ExportArgs),
    /// Create or update definitions; exits with 1 when one failed
    Import(ImportArgs),
    /// List the channels that a change would touch, with their runs of the last 24 hours
    Impact {
        #[arg(help = NAME_OR_ID)]
        id: String,
    },
    /// List the last calls on this node, the newest first
    Calls(ConnectorCallsArgs),
    /// List the circuit breakers of this node
    CircuitBreakers {
        #[command(flatten)]
        watch: WatchArgs,
    },
    /// Close a circuit breaker
    ResetBreaker {
        /// Key of the breaker, <channel>:<connector>
        key: String,
        /// Id of the node that it is for; another one refuses it
        #[arg(long, value_name = "ID")]
        node: Option<String>,
    },
}

/// Runs a command of connectors.
pub(crate) async fn run(command: ConnectorCommand, context: &CommandContext) -> Result<u8, CliError> {
    let group = CONNECTORS;
    match command {
        ConnectorCommand::List { args } => group.list(&args, &[], context).await,
        ConnectorCommand::Get { id } => group.get(&resolve(&id, context).await?, context).await,
        ConnectorCommand::Create(args) => group.create(&args, context).await,
        ConnectorCommand::Update(mut args) => {
            args.id = resolve(&args.id, context).await?;
            group.update(&args, context).await
        }
        ConnectorCommand::Delete(args) => {
            group.delete(&args, "", async |name| resolve(name, context).await, context).await
        }
        ConnectorCommand::Enable(ids) => {
            ids.for_each(context, async |id| set_enabled(id, "active", "Enabled", context).await).await
        }
        ConnectorCommand::Disable(ids) => {
            ids.for_each(context, async |id| set_enabled(id, "archived", "Disabled", context).await).await
        }
        ConnectorCommand::Test(ids) => ids.for_each(context, async |id| test(id, context).await).await,
        ConnectorCommand::Validate(args) => group.validate(&args, context).await,
        ConnectorCommand::Export(args) => group.export(&args, &[], context).await,
        ConnectorCommand::Import(args) => group.import(&args, context).await,
        ConnectorCommand::Impact { id } => show_impact(&group, &resolve(&id, context).await?, context).await,
        ConnectorCommand::Calls(args) => list_calls(&args, context).await,
        ConnectorCommand::CircuitBreakers { watch } => {
            watch.show(context, async || breakers(context).await).await
        }
        ConnectorCommand::ResetBreaker { key, node } => reset_breaker(&key, node, context).await,
    }
}

/// Returns the id of the connector of this id or name. What is neither is left to the server.
pub(super) async fn resolve(name: &str, context: &CommandContext) -> Result<String, CliError> {
    let (mut offset, mut named) = (0, None);
    loop {
        let request = ApiRequest::get(CONNECTORS.path(&[])).query("limit", PAGE).query("offset", offset);
        let page = rows(&context.fetch(&request).await?);
        if page.iter().any(|row| row["id"] == *name) {
            return Ok(name.to_owned());
        }
        named = named.or_else(|| Some(plain(&page.iter().find(|row| row["name"] == *name)?["id"])));
        if page.len() < PAGE {
            return Ok(named.unwrap_or_else(|| name.to_owned()));
        }
        offset += PAGE;
    }
}

async fn set_enabled(name: &str, status: &str, verb: &str, context: &CommandContext) -> Result<u8, CliError> {
    let id = resolve(name, context).await?;
    let request =
        ApiRequest::patch(CONNECTORS.path(&[&id, "status"])).json(&json!({"status": status}))?.repeatable();
    let answer = context.fetch(&request).await?;
    CONNECTORS.show_change(&answer, verb, context)
}

async fn test(name: &str, context: &CommandContext) -> Result<u8, CliError> {
    let id = resolve(name, context).await?;
    let answer = context.fetch(&ApiRequest::post(CONNECTORS.path(&[&id, "test"])).repeatable()).await?;
    let probe = &answer["data"];
    context.output.print(&context.output.record(&answer, probe, "reachable")?)?;
    // A type without a probe is neither in reach nor out of it.
    let is_out_of_reach = probe["supported"] == json!(true) && probe["reachable"] != json!(true);
    let is_broken = probe.get("error").is_some_and(|error| !error.is_null());
    Ok(if is_out_of_reach || is_broken { EXIT_FAILURE } else { 0 })
}

async fn breakers(context: &CommandContext) -> Result<WatchFrame, CliError> {
    let answer = context.fetch(&ApiRequest::get(CONNECTORS.path(&["circuit-breakers"]))).await?;
    let breakers = answer["data"]["breakers"].as_object();
    let mut rows: Vec<Value> =
        breakers.into_iter().flatten().map(|(key, state)| json!({"key": key, "state": state})).collect();
    // Those of hosts count for every channel.
    let hosts = answer["data"]["hosts"].as_array().into_iter().flatten();
    rows.extend(hosts.map(|host| {
        let key = format!("*:{}", host["connector"].as_str().unwrap_or_default());
        json!({"key": key, "host": host["host"], "state": host["state"]})
    }));
    let mut frame = WatchFrame::list(context, &answer, &rows, &BREAKERS, "circuit breakers")?;
    if answer["data"]["enabled"] == json!(false) && frame.note.is_some() {
        frame.note = Some("circuit breakers are off (engine.circuit_breaker.enabled)".to_owned());
    }
    Ok(frame)
}

async fn reset_breaker(key: &str, node: Option<String>, context: &CommandContext) -> Result<u8, CliError> {
    let request = ApiRequest::post(CONNECTORS.path(&["circuit-breakers", key]));
    let request = request.optional("node", node).repeatable();
    let answer = context.fetch(&request).await?;
    let place = if answer["data"]["found_on_this_node"] == json!(true) { "" } else { " on the other nodes" };
    let sentence = format!("Reset circuit breaker '{key}'{place}.");
    context.output.print(&context.output.change(Some(&answer), key, &sentence)?)?;
    Ok(0)
}
