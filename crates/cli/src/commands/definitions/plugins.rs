//! `plugins`: task functions in WebAssembly, their versions and components.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde_json::{Value, json};
use svc_client::ApiRequest;
use svc_toolkit::PluginUpload;

use super::impact::show_impact;
use super::import::ImportArgs;
use crate::commands::entity::{EntityGroup, rows, show_page};
use crate::commands::several::IdsArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CellKind, TableColumn, TableLayout};
use crate::paging::PageArgs;

const PLUGINS: EntityGroup = EntityGroup {
    plural: "plugins",
    singular: "plugin",
    id: "plugin_id",
    layout: TableLayout {
        id: "plugin_id",
        columns: &[
            TableColumn::new("ID", "plugin_id", CellKind::Id),
            TableColumn::new("VERSION", "version", CellKind::Number),
            TableColumn::new("STATUS", "status", CellKind::State),
            TableColumn::new("LOAD", "load", CellKind::State),
            TableColumn::new("SIGNED", "signed", CellKind::State).optional(2),
            TableColumn::new("UPDATED", "updated_at", CellKind::Time).optional(1),
            TableColumn::new("DIGEST", "digest", CellKind::Id).optional(4),
            TableColumn::new("ERROR", "load_error", CellKind::Text).optional(3).movable(),
        ],
    },
};

/// The commands of plugins.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// List the versions of all plugins
    List {
        #[command(flatten)]
        page: PageArgs,
    },
    /// List the versions of a plugin, newest first
    Get {
        /// Id of the plugin: the name in its manifest
        id: String,
    },
    /// Upload a built plugin as a draft
    Push {
        /// Folder with plugin.toml and the component, or a directory of such folders
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// Serve it
        #[arg(long)]
        activate: bool,
    },
    /// Print the latest versions with their components as an array
    Export {
        /// Id of a plugin; all without it
        id: Option<String>,
    },
    /// Create or update plugins; exits with 1 when one failed
    Import(ImportArgs),
    /// List the channels that a change would touch, with their runs of the last 24 hours
    Impact {
        /// Id of the plugin
        id: String,
    },
    /// Serve the draft
    Activate(IdsArgs),
    /// End serving; refused while workflows call it
    Archive(IdsArgs),
    /// Delete all versions, unless one is active
    Delete(IdsArgs),
}

/// Runs a command of plugins.
pub(crate) async fn run(command: PluginCommand, context: &CommandContext) -> Result<u8, CliError> {
    match command {
        PluginCommand::List { page } => {
            let request = page.add_to(ApiRequest::get(PLUGINS.path(&[])));
            show_page(request, &PLUGINS.layout, PLUGINS.plural, context).await
        }
        PluginCommand::Get { id } => {
            show_page(ApiRequest::get(PLUGINS.path(&[&id])), &PLUGINS.layout, "versions", context).await
        }
        PluginCommand::Push { directory, activate } => push(&directory, activate, context).await,
        PluginCommand::Export { id } => export(id.as_deref(), context).await,
        PluginCommand::Impact { id } => show_impact(&PLUGINS, &id, context).await,
        PluginCommand::Import(args) => PLUGINS.import(&args, context).await,
        PluginCommand::Activate(ids) => {
            ids.for_each(context, async |id| change_status(id, "active", "Activated", context).await).await
        }
        PluginCommand::Archive(ids) => {
            ids.for_each(context, async |id| change_status(id, "archived", "Archived", context).await).await
        }
        PluginCommand::Delete(ids) => {
            let noun = if ids.ids.len() == 1 { PLUGINS.singular } else { PLUGINS.plural };
            context.confirm(&format!("Delete {noun} {} with all versions?", ids.quoted()))?;
            ids.for_each(context, async |id| delete(id, context).await).await
        }
    }
}

async fn push(directory: &Path, activate: bool, context: &CommandContext) -> Result<u8, CliError> {
    let place = directory.display().to_string();
    let uploads = PluginUpload::read(directory)
        .map_err(|problems| CliError::Input { place, cause: problems.join("; ") })?;
    let mut unwritten = None;
    for upload in &uploads {
        let answer = upload_draft(upload, context).await?;
        unwritten = go_on(PLUGINS.show_change(&answer, "Uploaded", context))?.or(unwritten);
        if activate {
            let shown = change_status(&upload.name, "active", "Activated", context).await;
            unwritten = go_on(shown)?.or(unwritten);
        }
    }
    unwritten.map_or(Ok(0), Err)
}

/// Puts aside an output that cannot be written: the others are uploaded without a reader.
fn go_on(shown: Result<u8, CliError>) -> Result<Option<CliError>, CliError> {
    match shown {
        Err(error @ CliError::Output { .. }) => Ok(Some(error)),
        shown => shown.map(|_| None),
    }
}

/// Replaces the draft of a plugin, or creates the plugin with its first one.
async fn upload_draft(upload: &PluginUpload, context: &CommandContext) -> Result<Value, CliError> {
    let replaced = context.fetch(&ApiRequest::put(PLUGINS.path(&[&upload.name])).json(&upload.body)?).await;
    match replaced {
        Err(CliError::Client(error)) if error.status() == Some(404) => {
            context.fetch(&ApiRequest::post(PLUGINS.path(&[])).json(&upload.body)?).await
        }
        replaced => replaced,
    }
}

async fn export(id: Option<&str>, context: &CommandContext) -> Result<u8, CliError> {
    let request = ApiRequest::get(PLUGINS.path(&["export"])).optional("id", id);
    let rows = rows(&context.fetch(&request).await?);
    let text = match context.output.is_quiet {
        true => context.output.list(&Value::Null, &rows, &PLUGINS.layout)?,
        false => context.output.document(&Value::Array(rows))?,
    };
    context.output.print(&text)?;
    Ok(0)
}

async fn change_status(id: &str, status: &str, verb: &str, context: &CommandContext) -> Result<u8, CliError> {
    let request = ApiRequest::patch(PLUGINS.path(&[id, "status"])).json(&json!({"status": status}))?;
    let answer = context.fetch(&request).await?;
    PLUGINS.show_change(&answer, verb, context)
}

async fn delete(id: &str, context: &CommandContext) -> Result<u8, CliError> {
    context.send(&ApiRequest::delete(PLUGINS.path(&[id]))).await?;
    let sentence = format!("Deleted {} '{id}'.", PLUGINS.singular);
    context.output.print(&context.output.change(None, id, &sentence)?)?;
    Ok(0)
}
