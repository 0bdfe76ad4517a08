//! `channels`: definitions of channels, their versions, runs of schedules on demand.

use clap::{Args, Subcommand};
use serde_json::json;
use svc_client::ApiRequest;

use super::entity::{CreateArgs, DeleteArgs, EntityGroup, EntityListArgs, ExportArgs, UpdateArgs, as_named};
use super::import::ImportArgs;
use super::lifecycle::{NewVersionArgs, RollbackArgs, ServingArgs, VersionsArgs};
use super::validation::ValidateArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CellKind, TableColumn, TableLayout, plain};

pub(super) const CHANNELS: EntityGroup = EntityGroup {
    plural: "channels",
    singular: "channel",
    id: "channel_id",
    layout: TableLayout {
        id: "channel_id",
        columns: &[
            TableColumn::new("ID", "channel_id", CellKind::Id),
            TableColumn::new("NAME", "name", CellKind::Id).optional(1),
            TableColumn::new("VERSION", "version", CellKind::Number),
            TableColumn::new("STATUS", "status", CellKind::State),
            TableColumn::new("ACTIVE", "active_version", CellKind::Number),
            TableColumn::new("PROTOCOL", "protocol", CellKind::Id),
            TableColumn::new("TYPE", "channel_type", CellKind::Id).optional(5),
            TableColumn::new("METHODS", "methods", CellKind::Text).optional(5),
            TableColumn::new("ROUTE", "route_pattern", CellKind::Text).optional(3),
            TableColumn::new("WORKFLOW", "workflow_id", CellKind::Id).optional(4),
            TableColumn::new("UPDATED", "updated_at", CellKind::Time).optional(2),
        ],
    },
};

/// The filters of lists and exports.
#[derive(Args, Debug)]
pub(crate) struct ChannelFilterArgs {
    /// Those in this state alone: draft, active, archived
    #[arg(long)]
    status: Option<String>,
    /// Those of this type alone: sync, async
    #[arg(long)]
    channel_type: Option<String>,
    /// Those of this protocol alone: rest, http, kafka, cron
    #[arg(long)]
    protocol: Option<String>,
}

/// The commands of channels.
#[derive(Debug, Subcommand)]
pub(crate) enum ChannelCommand {
    /// List channels by their latest version
    List {
        #[command(flatten)]
        filter: ChannelFilterArgs,
        #[command(flatten)]
        args: EntityListArgs,
    },
    /// Show the latest version
    Get {
        /// Id of the channel
        id: String,
    },
    /// Create a draft
    Create(CreateArgs),
    /// Change the draft
    Update(UpdateArgs),
    /// Delete all versions
    Delete(DeleteArgs),
    /// Serve the draft
    Activate(ServingArgs),
    /// End serving
    Archive(ServingArgs),
    /// Make a new version of an earlier one and serve it
    Rollback(RollbackArgs),
    /// Check a definition; exits with 1 when it is invalid
    Validate(ValidateArgs),
    /// List the versions, newest first
    Versions(VersionsArgs),
    /// Copy a version into a new draft
    NewVersion(NewVersionArgs),
    /// Run a scheduled channel now
    Trigger {
        /// Id of the channel
        id: String,
    },
    /// Print the definitions as an array that can be imported
    Export {
        #[command(flatten)]
        filter: ChannelFilterArgs,
        #[command(flatten)]
        args: ExportArgs,
    },
    /// Create or update definitions; exits with 1 when one failed
    Import(ImportArgs),
}

impl ChannelFilterArgs {
    fn parameters(&self) -> [(&'static str, Option<&str>); 3] {
        [
            ("status", self.status.as_deref()),
            ("channel_type", self.channel_type.as_deref()),
            ("protocol", self.protocol.as_deref()),
        ]
    }
}

/// Runs a command of channels.
pub(crate) async fn run(command: ChannelCommand, context: &CommandContext) -> Result<u8, CliError> {
    let group = CHANNELS;
    match command {
        ChannelCommand::List { filter, args } => group.list(&args, &filter.parameters(), context).await,
        ChannelCommand::Get { id } => group.get(&id, context).await,
        ChannelCommand::Create(args) => group.create(&args, context).await,
        ChannelCommand::Update(args) => group.update(&args, context).await,
        ChannelCommand::Delete(args) => group.delete(&args, " with all versions", as_named, context).await,
        ChannelCommand::Activate(args) => {
            group.change_status(&args, &json!({"status": "active"}), "Activated", context).await
        }
        ChannelCommand::Archive(args) => {
            group.change_status(&args, &json!({"status": "archived"}), "Archived", context).await
        }
        ChannelCommand::Rollback(args) => group.rollback(&args, context).await,
        ChannelCommand::Validate(args) => group.validate(&args, context).await,
        ChannelCommand::Versions(args) => group.versions(&args, context).await,
        ChannelCommand::NewVersion(args) => group.new_version(&args, context).await,
        ChannelCommand::Trigger { id } => trigger(&id, context).await,
        ChannelCommand::Export { filter, args } => group.export(&args, &filter.parameters(), context).await,
        ChannelCommand::Import(args) => group.import(&args, context).await,
    }
}

async fn trigger(id: &str, context: &CommandContext) -> Result<u8, CliError> {
    let answer = context.fetch(&ApiRequest::post(CHANNELS.path(&[id, "trigger"]))).await?;
    let occurrence = plain(&answer["data"]["id"]);
    let sentence = format!("Triggered channel '{id}': occurrence {occurrence}.");
    context.output.print(&context.output.change(Some(&answer), &occurrence, &sentence)?)?;
    Ok(0)
}
