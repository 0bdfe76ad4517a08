//! `dry-run`: runs a workflow once, offline, and prints all that happened.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;
use svc_engine::{Engine, Stubs};
use svc_model::FieldError;
use svc_outbound::printable_json;
use svc_project::{
    OfflineInput, OfflineRecords, OfflineWorkflow, StandIns, describe_problem, offline_metadata,
};

use super::definitions::Definitions;
use super::offline_files::{read_source, read_value};
use crate::exit::{EXIT_FAILURE, EXIT_OK};
use crate::plugins::{PluginArgs, PluginEngine, write_problems};

/// The arguments of `dry-run`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct DryRunArgs {
    /// Workflow to run
    #[arg(short, long, value_name = "FILE")]
    workflow: PathBuf,
    /// Payload; - reads standard input
    #[arg(short, long, value_name = "FILE")]
    input: PathBuf,
    /// Metadata of the message
    #[arg(short, long, value_name = "FILE")]
    metadata: Option<PathBuf>,
    /// Answers of connectors and channels: {function: {connector or channel: answer}}
    #[arg(short, long, value_name = "FILE")]
    stubs: Option<PathBuf>,
    /// Stand-ins for secrets: {name: text}
    #[arg(long, value_name = "FILE")]
    secrets: Option<PathBuf>,
    /// Directory with shared definitions
    #[arg(long, value_name = "DIR")]
    definitions: Option<PathBuf>,
    /// The plugins that workflows may call.
    #[command(flatten)]
    plugins: PluginArgs,
}

/// Runs the workflow and returns the exit code. A run that a task stopped is printed too, and fails.
pub(crate) fn dry_run(args: &DryRunArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let PluginEngine { engine, notes } = match args.plugins.running_engine() {
        Ok(made) => made,
        Err(problems) => return write_problems(&problems, err).map(|()| EXIT_FAILURE),
    };
    notes.iter().try_for_each(|note| writeln!(err, "note: {note}"))?;
    let Some(definitions) = Definitions::read(args.definitions.as_deref(), err)? else {
        return Ok(EXIT_FAILURE);
    };
    let (workflow, input) = match prepare(args, &engine, &definitions) {
        Ok(prepared) => prepared,
        Err(problems) => {
            problems.iter().try_for_each(|problem| writeln!(err, "Error: {problem}"))?;
            return Ok(EXIT_FAILURE);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let run = runtime.block_on(workflow.run(input, OfflineRecords::Trace));
    let mut document = run.document();
    workflow.redaction().mask(&mut document);
    writeln!(out, "{}", printable_json(format!("{document:#}")))?;
    Ok(if run.has_failed() { EXIT_FAILURE } else { EXIT_OK })
}

/// Reads the files and compiles the workflow.
///
/// # Errors
/// Every problem, a line each.
fn prepare(
    args: &DryRunArgs,
    engine: &Engine,
    definitions: &Definitions,
) -> Result<(OfflineWorkflow, OfflineInput), Vec<String>> {
    let source = read_source(&args.workflow).map_err(|problem| vec![problem])?;
    let secrets = optional(args.secrets.as_deref(), |value| StandIns::parse(&value, "secrets"))?;
    let stubs = optional(args.stubs.as_deref(), |value| Stubs::parse(engine.catalogue(), &value, "stubs"))?;
    let metadata = optional(args.metadata.as_deref(), |value| match value {
        Value::Object(metadata) => offline_metadata(metadata, "metadata"),
        other => Err(vec![FieldError::type_mismatch("metadata", "object", &other)]),
    })?;
    let payload = read_value(&args.input).map_err(|problem| vec![problem])?;
    let workflow = definitions
        .with_expansion(|expand| OfflineWorkflow::prepare(engine, &source, expand, &secrets))
        .map_err(|problems| prefix_path(&args.workflow, problems))?;
    Ok((workflow, OfflineInput { payload, metadata, stubs }))
}

/// Reads an optional file; the default without one.
fn optional<T: Default>(
    path: Option<&Path>,
    parse: impl FnOnce(Value) -> Result<T, Vec<FieldError>>,
) -> Result<T, Vec<String>> {
    let Some(path) = path else { return Ok(T::default()) };
    let value = read_value(path).map_err(|problem| vec![problem])?;
    parse(value).map_err(|errors| prefix_path(path, errors.iter().map(describe_problem).collect()))
}

fn prefix_path(path: &Path, problems: Vec<String>) -> Vec<String> {
    problems.into_iter().map(|problem| format!("{}: {problem}", path.display())).collect()
}
