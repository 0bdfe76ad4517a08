//! `engine`: the state of the engine, and its reload.

use clap::Subcommand;
use serde_json::Value;
use svc_client::{ApiRequest, admin_path};

use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CellKind, TableColumn, TableLayout, plain};
use crate::watch::{WatchArgs, WatchFrame};

const SETTINGS: TableLayout = TableLayout {
    id: "key",
    columns: &[
        TableColumn::new("SETTING", "key", CellKind::Id),
        TableColumn::new("VALUE", "value", CellKind::Text),
        TableColumn::new("SOURCE", "source", CellKind::State),
        TableColumn::new("DEFAULT", "default", CellKind::Text).optional(1),
        TableColumn::new("VARIABLE", "variable", CellKind::Id).optional(2),
    ],
};

/// The commands of the engine.
#[derive(Debug, Subcommand)]
pub(crate) enum EngineCommand {
    /// Show versions, workflows and channels that are served
    Status {
        #[command(flatten)]
        watch: WatchArgs,
    },
    /// Serve what is stored now
    Reload,
    /// Show the configuration in effect, secrets struck out, each value with the place that gave it
    Config {
        /// Show the settings alone that do not have their default
        #[arg(long)]
        changed: bool,
    },
}

/// Runs a command of the engine.
pub(crate) async fn run(command: EngineCommand, context: &CommandContext) -> Result<u8, CliError> {
    match command {
        EngineCommand::Status { watch } => watch.show(context, async || status(context).await).await,
        EngineCommand::Reload => {
            let answer =
                context.fetch(&ApiRequest::post(admin_path(&["engine", "reload"])).repeatable()).await?;
            let count = plain(&answer["data"]["workflows_count"]);
            let sentence = format!("Reloaded the engine: {count} workflows.");
            context.output.print(&context.output.change(Some(&answer), "reloaded", &sentence)?)?;
            report_problems(&answer["data"], context);
            Ok(0)
        }
        EngineCommand::Config { changed } => show_config(changed, context).await,
    }
}

/// Names what does not serve, or serves despite a problem.
fn report_problems(reloaded: &Value, context: &CommandContext) {
    for channel in elements(&reloaded["quarantined"]) {
        let (name, reason) = (plain(&channel["channel"]), plain(&channel["reason"]));
        context.output.warn(&format!("channel '{name}' is quarantined: {reason}"));
    }
    for connector in elements(&reloaded["failed_connectors"]) {
        let (name, reason) = (plain(&connector["connector"]), plain(&connector["reason"]));
        context.output.warn(&format!("connector '{name}' is not loaded: {reason}"));
    }
    for channel in elements(&reloaded["warnings"]) {
        for warning in elements(&channel["warnings"]) {
            let (name, field) = (plain(&channel["channel"]), plain(&warning["field"]));
            context.output.warn(&format!("channel '{name}': {field}: {}", plain(&warning["message"])));
        }
    }
}

fn elements(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

async fn show_config(is_changed: bool, context: &CommandContext) -> Result<u8, CliError> {
    let mut answer = context.fetch(&ApiRequest::get(admin_path(&["config"]))).await?;
    if let Some(settings) = answer["data"]["settings"].as_array_mut().filter(|_| is_changed) {
        settings.retain(|setting| setting["source"] != "default");
    }
    let rows = answer["data"]["settings"].as_array().cloned().unwrap_or_default();
    context.output.print(&context.output.list(&answer, &rows, &SETTINGS)?)?;
    Ok(0)
}

async fn status(context: &CommandContext) -> Result<WatchFrame, CliError> {
    let answer = context.fetch(&ApiRequest::get(admin_path(&["engine", "status"]))).await?;
    Ok(WatchFrame::new(context.output.record(&answer, &answer["data"], "version")?))
}
