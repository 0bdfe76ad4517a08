//! `channels`: definitions of channels, their versions, runs of schedules on demand.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use svc_client::ApiRequest;

use super::definition_backtest::{DefinitionBacktestArgs, run_backtest};
use super::guards::{ChannelStatsArgs, GuardTrialArgs, show_quota, show_stats, try_request};
use super::impact::show_impact;
use super::import::ImportArgs;
use super::lifecycle::{NewVersionArgs, RollbackArgs, ServingArgs, VersionsArgs};
use super::validation::{ValidateArgs, show_validation};
use crate::commands::bulk::{RunWaitArgs, show_start};
use crate::commands::entity::{
    CreateArgs, DeleteArgs, EntityGroup, EntityListArgs, ExportArgs, UpdateArgs, as_named, rows,
};
use crate::commands::several::IdsArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::moment::{parse_coming_moment, parse_moment};
use crate::output::{CellKind, TableColumn, TableLayout, plain};

pub(in crate::commands) const CHANNELS: EntityGroup = EntityGroup {
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
    /// Those in these states alone, separated by commas: draft, active, archived
    #[arg(long)]
    status: Option<String>,
    /// Those of this type alone: sync, async
    #[arg(long)]
    channel_type: Option<String>,
    /// Those of this protocol alone: rest, http, kafka, cron
    #[arg(long)]
    protocol: Option<String>,
}

/// The channels of a pause.
#[derive(Args, Debug)]
pub(crate) struct PausableArgs {
    /// Ids, one or several
    #[arg(
        value_name = "ID",
        required_unless_present_any = ["tag", "connector"],
        conflicts_with_all = ["tag", "connector"]
    )]
    ids: Vec<String>,
    /// The active channels with this tag
    #[arg(long)]
    tag: Option<String>,
    /// The active channels that use this connector
    #[arg(long, value_name = "NAME")]
    connector: Option<String>,
    /// Only check whether it would succeed
    #[arg(long)]
    dry_run: bool,
}

/// The arguments of a pause.
#[derive(Args, Debug)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    channels: PausableArgs,
    /// The reason, for operators
    #[arg(long)]
    reason: String,
    /// Resume them by themselves at this time: an instant, or a time from now such as 30m
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_coming_moment)]
    until: Option<String>,
}

/// The arguments of a resume.
#[derive(Args, Debug)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    channels: PausableArgs,
    /// The reason, for the audit log
    #[arg(long)]
    reason: Option<String>,
}

/// The arguments of a backfill.
#[derive(Args, Debug)]
pub(crate) struct BackfillArgs {
    /// Id of the channel
    id: String,
    /// The first instant: RFC 3339, or a time ago such as 15m, 2h, 1d
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_moment)]
    from: String,
    /// The last instant
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_moment)]
    until: String,
    /// Runs at the same time, 1 unless given, 64 at most
    #[arg(long, value_name = "N")]
    max_parallel: Option<u32>,
    /// Take instants before the oldest kept occurrence as missed
    #[arg(long)]
    assume_missed: bool,
    /// Only list the instants
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    wait: RunWaitArgs,
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
    /// List the channels that a change would touch, with their runs of the last 24 hours
    Impact {
        /// Id of the channel
        id: String,
    },
    /// Let calls fail and accepted work wait until the channel is resumed
    Pause(PauseArgs),
    /// End pauses
    Resume(ResumeArgs),
    /// Show the refusals of this node by guard and inner reason
    Stats(ChannelStatsArgs),
    /// Show the use of the quota by each key, over all nodes
    Quotas(ChannelStatsArgs),
    /// Try a request against the guards; exits with 1 when one would refuse it
    Test(GuardTrialArgs),
    /// Run a version with its guards over recorded runs and show the differences; nothing is called
    Backtest(DefinitionBacktestArgs),
    /// Run a scheduled channel now
    Trigger {
        /// Id of the channel
        id: String,
    },
    /// Run the instants of a range that a schedule missed
    Backfill(BackfillArgs),
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
        ChannelCommand::List { filter, args } => {
            group.list_completed(&args, &filter.parameters(), with_state, context).await
        }
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
        ChannelCommand::Pause(PauseArgs { channels, reason, until }) => {
            let mut body = json!({"reason": reason});
            if let Some(until) = until {
                body["until"] = until.into();
            }
            change_pause(channels, ("pause", "Paused"), body, context).await
        }
        ChannelCommand::Resume(ResumeArgs { channels, reason }) => {
            let body = reason.map_or_else(|| json!({}), |reason| json!({"reason": reason}));
            change_pause(channels, ("resume", "Resumed"), body, context).await
        }
        ChannelCommand::Impact { id } => show_impact(&group, &id, context).await,
        ChannelCommand::Stats(args) => show_stats(&args, context).await,
        ChannelCommand::Quotas(args) => show_quota(&args, context).await,
        ChannelCommand::Test(args) => try_request(&args, context).await,
        ChannelCommand::Backtest(args) => run_backtest(&group, &args, context).await,
        ChannelCommand::Trigger { id } => trigger(&id, context).await,
        ChannelCommand::Backfill(args) => backfill(args, context).await,
        ChannelCommand::Export { filter, args } => group.export(&args, &filter.parameters(), context).await,
        ChannelCommand::Import(args) => group.import(&args, context).await,
    }
}

/// Pauses or resumes channels: each of the ids, or those that a tag or a connector selects at once.
async fn change_pause(
    channels: PausableArgs,
    (action, verb): (&str, &str),
    mut body: Value,
    context: &CommandContext,
) -> Result<u8, CliError> {
    let PausableArgs { ids, tag, connector, dry_run } = channels;
    if !ids.is_empty() {
        let ids = IdsArgs { ids };
        return ids
            .for_each(context, async |id| {
                let request = ApiRequest::post(CHANNELS.path(&[id, action])).json(&body)?;
                if dry_run {
                    let answer = context.fetch(&request.query("dry_run", true)).await?;
                    return show_validation(&answer, context);
                }
                let answer = context.fetch(&request).await?;
                let sentence = format!("{verb} channel '{id}'.");
                context.output.print(&context.output.change(Some(&answer), id, &sentence)?)?;
                Ok(0)
            })
            .await;
    }
    let filter = [("tag", tag), ("connector", connector)].into_iter();
    let filter = filter.filter_map(|(word, value)| Some((word.to_owned(), Value::from(value?))));
    body["filter"] = Value::Object(filter.collect());
    let request = ApiRequest::post(CHANNELS.path(&[action])).json(&body)?;
    if dry_run {
        let answer = context.fetch(&request.query("dry_run", true)).await?;
        return show_validation(&answer, context);
    }
    let answer = context.fetch(&request).await?;
    let selected: Vec<String> = rows(&answer).iter().map(|row| plain(&row["channel_id"])).collect();
    let sentence = match selected.as_slice() {
        [] => format!("{verb} no channel: none matches."),
        [id] => format!("{verb} channel '{id}'."),
        several => format!("{verb} {} channels: {}.", several.len(), several.join(", ")),
    };
    if context.output.is_quiet {
        for id in &selected {
            context.output.print(&context.output.change(None, id, &sentence)?)?;
        }
        return Ok(0);
    }
    context.output.print(&context.output.change(Some(&answer), "", &sentence)?)?;
    Ok(0)
}

/// Adds to the status of a channel what keeps it from serving: a quarantine, or a pause.
fn with_state(mut row: Value) -> Value {
    let state = match (row["quarantined"].is_string(), row["paused"].is_object()) {
        (true, _) => "quarantined",
        (false, true) => "paused",
        (false, false) => return row,
    };
    row["status"] = format!("{}, {state}", plain(&row["status"])).into();
    row
}

async fn trigger(id: &str, context: &CommandContext) -> Result<u8, CliError> {
    let answer = context.fetch(&ApiRequest::post(CHANNELS.path(&[id, "trigger"]))).await?;
    let occurrence = plain(&answer["data"]["id"]);
    let sentence = format!("Triggered channel '{id}': occurrence {occurrence}.");
    context.output.print(&context.output.change(Some(&answer), &occurrence, &sentence)?)?;
    Ok(0)
}

async fn backfill(args: BackfillArgs, context: &CommandContext) -> Result<u8, CliError> {
    let BackfillArgs { id, from, until, max_parallel, assume_missed, dry_run, wait } = args;
    let mut body = json!({"from": from, "until": until, "assume_missed": assume_missed, "dry_run": dry_run});
    if let Some(max_parallel) = max_parallel {
        body["max_parallel"] = max_parallel.into();
    }
    let request = ApiRequest::post(CHANNELS.path(&[&id, "backfill"])).json(&body)?;
    let answer = context.fetch(&request).await?;
    let planned = plain(&answer["data"]["planned"]);
    if dry_run {
        if !context.output.is_table() {
            context.output.print(&context.output.change(Some(&answer), &planned, "")?)?;
            return Ok(0);
        }
        for instant in answer["data"]["instants"].as_array().into_iter().flatten() {
            context.output.print(&format!("{}\n", plain(instant)))?;
        }
        context.output.note(&format!("{planned} instants would run"));
        return Ok(0);
    }
    let run = plain(&answer["data"]["id"]);
    let sentence = format!("Started bulk run '{run}': a backfill of {planned} instants of channel '{id}'.");
    show_start(&answer, &run, &sentence, &wait, context).await
}
