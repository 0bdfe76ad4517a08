//! `workflows`: definitions of workflows, their versions, trial runs.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use svc_client::ApiRequest;

use super::definition_backtest::{DefinitionBacktestArgs, run_backtest};
use super::definition_diff::{ContentMembers, DiffArgs};
use super::impact::show_impact;
use super::import::ImportArgs;
use super::lifecycle::{NewVersionArgs, RollbackArgs, ServingArgs, VersionsArgs};
use super::validation::ValidateArgs;
use super::workflow_stats::{WorkflowStatsArgs, show_stats};
use crate::commands::entity::{
    CreateArgs, DeleteArgs, EntityGroup, EntityListArgs, ExportArgs, UpdateArgs, as_named, rows, show_record,
};
use crate::context::CommandContext;
use crate::error::{CliError, EXIT_FAILURE};
use crate::input::{InputArgs, InputDocument, input_error};
use crate::output::{CellKind, TableColumn, TableLayout};

pub(in crate::commands) const WORKFLOWS: EntityGroup = EntityGroup {
    plural: "workflows",
    singular: "workflow",
    id: "workflow_id",
    layout: TableLayout {
        id: "workflow_id",
        columns: &[
            TableColumn::new("ID", "workflow_id", CellKind::Id),
            TableColumn::new("NAME", "name", CellKind::Text).optional(2),
            TableColumn::new("VERSION", "version", CellKind::Number),
            TableColumn::new("STATUS", "status", CellKind::State),
            TableColumn::new("ACTIVE", "active_version", CellKind::Number),
            TableColumn::new("ROLLOUT", "rollout_percentage", CellKind::Number),
            TableColumn::new("PRIORITY", "priority", CellKind::Number).optional(3),
            TableColumn::new("TAGS", "tags", CellKind::Text).optional(4),
            TableColumn::new("UPDATED", "updated_at", CellKind::Time).optional(1),
        ],
    },
};

const CONTENT: ContentMembers = &[
    ("name", || Value::Null),
    ("description", || Value::Null),
    ("priority", || json!(0)),
    ("condition", || json!(true)),
    ("tasks", || json!([])),
    ("tags", || json!([])),
    ("continue_on_error", || json!(false)),
    ("loop", || Value::Null),
];

const STEPS: TableLayout = TableLayout {
    id: "task_id",
    columns: &[
        TableColumn::new("TASK", "task_id", CellKind::Id),
        TableColumn::new("RESULT", "result", CellKind::State),
        TableColumn::new("MICROSECONDS", "duration_us", CellKind::Number).optional(1),
    ],
};

/// The commands of workflows.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// List workflows by their latest version
    List {
        /// Show those in these states alone, separated by commas: draft, active, archived
        #[arg(long)]
        status: Option<String>,
        #[command(flatten)]
        args: EntityListArgs,
    },
    /// Show the latest version
    Get {
        /// Id of the workflow
        id: String,
    },
    /// Create a draft
    Create(CreateArgs),
    /// Change the draft
    Update(UpdateArgs),
    /// Delete all versions
    Delete(DeleteArgs),
    /// Serve the draft
    Activate {
        #[command(flatten)]
        args: ServingArgs,
        /// Give it this share of the traffic, in percent, next to the active version
        #[arg(short = 'p', long, visible_alias = "percentage", value_name = "PERCENT")]
        rollout: Option<u8>,
        /// Replace the version that has a share now
        #[arg(long)]
        replace_canary: bool,
        /// Let its share rise by itself: steps, and interval_secs, gate and on_rollback if the defaults do not fit
        #[arg(long, value_name = "JSON", conflicts_with = "rollout")]
        canary: Option<String>,
    },
    /// End serving
    Archive(ServingArgs),
    /// Make a new version of an earlier one and serve it
    Rollback(RollbackArgs),
    /// Show the connectors and channels that it names
    Dependencies {
        /// Id of the workflow
        id: String,
    },
    /// List the channels that a change would touch, with their runs of the last 24 hours
    Impact {
        /// Id of the workflow
        id: String,
    },
    /// Show how often each task ran and failed on this node
    Stats(WorkflowStatsArgs),
    /// Check a definition; exits with 1 when it is invalid
    Validate(ValidateArgs),
    /// Change the share of the traffic of the newest active version
    Rollout {
        /// Id of the workflow
        id: String,
        /// The share in percent
        #[arg(short, long, visible_alias = "rollout", value_name = "PERCENT")]
        percentage: u8,
        /// End a rollout that moves by itself
        #[arg(long = "override")]
        overrides: bool,
        /// Leave what is served as it is until `engine reload`
        #[arg(long)]
        defer_reload: bool,
    },
    /// List the versions, newest first
    Versions(VersionsArgs),
    /// Copy a version into a new draft
    NewVersion(NewVersionArgs),
    /// Run it once and show what happened; exits with 1 when it failed
    Test(TrialArgs),
    /// Run a version over recorded runs and show the differences; nothing is called
    Backtest(DefinitionBacktestArgs),
    /// Print the definitions as an array that can be imported
    Export {
        /// Export those in these states alone, separated by commas
        #[arg(long)]
        status: Option<String>,
        #[command(flatten)]
        args: ExportArgs,
    },
    /// Create or update definitions; exits with 1 when one failed
    Import(ImportArgs),
    /// Compare definitions with the server; exits with 1 when one differs or is missing
    Diff(DiffArgs),
}

/// The options of a trial run.
#[derive(Args, Debug)]
pub(crate) struct TrialArgs {
    /// Id of the workflow
    id: String,
    #[command(flatten)]
    input: InputArgs,
    /// Metadata of the message, a JSON object
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Run the definition of this file, which stays as it is, in place of the latest version
    #[arg(long, value_name = "FILE")]
    definition: Option<PathBuf>,
    /// Show the steps alone
    #[arg(long)]
    trace: bool,
}

/// Runs a command of workflows.
pub(crate) async fn run(command: WorkflowCommand, context: &CommandContext) -> Result<u8, CliError> {
    let group = WORKFLOWS;
    match command {
        WorkflowCommand::List { status, args } => {
            group.list(&args, &[("status", status.as_deref())], context).await
        }
        WorkflowCommand::Get { id } => group.get(&id, context).await,
        WorkflowCommand::Create(args) => group.create(&args, context).await,
        WorkflowCommand::Update(args) => group.update(&args, context).await,
        WorkflowCommand::Delete(args) => group.delete(&args, " with all versions", as_named, context).await,
        WorkflowCommand::Activate { args, rollout, replace_canary, canary } => {
            let body = activation(rollout, replace_canary, canary.as_deref())?;
            group.change_status(&args, &body, "Activated", context).await
        }
        WorkflowCommand::Archive(args) => {
            group.change_status(&args, &json!({"status": "archived"}), "Archived", context).await
        }
        WorkflowCommand::Rollback(args) => group.rollback(&args, context).await,
        WorkflowCommand::Dependencies { id } => {
            show_record(&ApiRequest::get(group.path(&[&id, "dependencies"])), "workflow_id", context).await
        }
        WorkflowCommand::Impact { id } => show_impact(&group, &id, context).await,
        WorkflowCommand::Stats(args) => show_stats(&args, context).await,
        WorkflowCommand::Validate(args) => group.validate(&args, context).await,
        WorkflowCommand::Rollout { id, percentage, overrides, defer_reload } => {
            let mut body = json!({"rollout_percentage": percentage});
            if overrides {
                body["override"] = true.into();
            }
            let request = ApiRequest::patch(group.path(&[&id, "rollout"])).json(&body)?;
            let request = if defer_reload { request.query("reload", "defer") } else { request };
            let before = if context.output.is_table() { shares(&id, context).await? } else { Vec::new() };
            let answer = context.fetch(&request).await?;
            if !context.output.is_table() {
                return group.show_change(&answer, "", context);
            }
            let sentence = match shares(&id, context).await {
                Ok(after) => describe_rollout(&before, &after),
                // The rollout is done, whatever becomes of its description.
                Err(error) => {
                    let error = error.describe(context.output.is_verbose);
                    context.output.warn(&format!("the shares of the versions cannot be read: {error}"));
                    format!("the rollout is set to {percentage} %")
                }
            };
            let sentence = format!("Workflow '{id}': {sentence}.");
            context.output.print(&context.output.change(Some(&answer), &id, &sentence)?)?;
            Ok(0)
        }
        WorkflowCommand::Versions(args) => group.versions(&args, context).await,
        WorkflowCommand::NewVersion(args) => group.new_version(&args, context).await,
        WorkflowCommand::Test(args) => test(&args, context).await,
        WorkflowCommand::Backtest(args) => run_backtest(&group, &args, context).await,
        WorkflowCommand::Export { status, args } => {
            group.export(&args, &[("status", status.as_deref())], context).await
        }
        WorkflowCommand::Import(args) => group.import(&args, context).await,
        WorkflowCommand::Diff(args) => group.diff(&args, CONTENT, context).await,
    }
}

/// The version of a workflow and its share of the traffic in percent.
type VersionShare = (u64, u64);

/// Returns the shares of the active versions, the newest first.
async fn shares(id: &str, context: &CommandContext) -> Result<Vec<VersionShare>, CliError> {
    let request = ApiRequest::get(WORKFLOWS.path(&[id, "versions"])).query("limit", 1000);
    let versions = rows(&context.fetch(&request).await?);
    let active = versions.iter().filter(|version| version["status"] == "active");
    let share =
        |version: &Value| Some((version["version"].as_u64()?, version["rollout_percentage"].as_u64()?));
    Ok(active.filter_map(share).collect())
}

/// Says which version no longer has a share, and which share the others have.
fn describe_rollout(before: &[VersionShare], after: &[VersionShare]) -> String {
    let has_share = |version: &u64| after.iter().any(|(other, _)| other == version);
    let ended = before.iter().map(|(version, _)| version).filter(|version| !has_share(version));
    let newest = after.iter().map(|(version, _)| *version).max().unwrap_or_default();
    let ended = ended.map(|version| match *version > newest {
        true => format!("aborted version {version}"),
        false => format!("ended version {version}"),
    });
    let serving = match after {
        [(version, _)] => format!("version {version} serves all"),
        several => several
            .iter()
            .map(|(version, share)| format!("version {version} serves {share} %"))
            .collect::<Vec<_>>()
            .join(", "),
    };
    ended.chain([serving]).collect::<Vec<_>>().join("; ")
}

fn activation(rollout: Option<u8>, replace_canary: bool, canary: Option<&str>) -> Result<Value, CliError> {
    let mut body = canary.map_or_else(|| Ok(json!({})), |plan| parse_object("--canary", plan))?;
    body["status"] = "active".into();
    if let Some(percentage) = rollout {
        body["rollout_percentage"] = percentage.into();
    }
    if replace_canary {
        body["replace_canary"] = true.into();
    }
    Ok(body)
}

async fn test(args: &TrialArgs, context: &CommandContext) -> Result<u8, CliError> {
    let data = args.input.read()?.map_or_else(|| Ok(json!({})), |document| document.json())?;
    let mut body = Map::from_iter([("data".to_owned(), data)]);
    if let Some(metadata) = &args.metadata {
        body.insert("metadata".to_owned(), parse_object("--metadata", metadata)?);
    }
    if let Some(file) = &args.definition {
        body.insert("workflow".to_owned(), InputDocument::open(file)?.json()?);
    }
    let answer = context.fetch(&ApiRequest::post(WORKFLOWS.path(&[&args.id, "test"])).json(&body)?).await?;
    let result = &answer["data"];
    let steps = result["trace"]["steps"].as_array().cloned().unwrap_or_default();
    let text = if args.trace || context.output.is_quiet {
        context.output.list(&answer, &steps, &STEPS)?
    } else {
        context.output.record(&answer, result, "matched")?
    };
    context.output.print(&text)?;
    Ok(if result.get("error").is_some() { EXIT_FAILURE } else { 0 })
}

/// Parses an option that holds a JSON object.
pub(in crate::commands) fn parse_object(option: &str, text: &str) -> Result<Value, CliError> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| input_error(option, &format!("it is not JSON: {error}")))?;
    if value.is_object() { Ok(value) } else { Err(input_error(option, "a JSON object is wanted")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rollout_names_serving_and_ended_versions() {
        for (before, after, expected) in [
            (&[(2, 10), (1, 90)][..], &[(1, 100)][..], "aborted version 2; version 1 serves all"),
            (&[(2, 10), (1, 90)], &[(2, 100)], "ended version 1; version 2 serves all"),
            (&[(2, 10), (1, 90)], &[(2, 30), (1, 70)], "version 2 serves 30 %, version 1 serves 70 %"),
        ] {
            assert_eq!(describe_rollout(before, after), expected);
        }
    }
}
