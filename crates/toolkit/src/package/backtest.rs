//! `package backtest`: runs the workflows of a package over recorded runs, with the guards and answers of its channels.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use serde_json::{Value, json};
use svc_engine::Engine;
use svc_model::EntityKind;
use svc_project::backtest::{BacktestChannel, BacktestReport, backtest_run};
use svc_project::case::workflow_stand_ins;
use svc_project::{OfflineWorkflow, StandIns, describe_problem, project_item};

use super::{PackageBacktestArgs, Streams};
use crate::backtest::{make_runtime, write_report};
use crate::exit::EXIT_USAGE;
use crate::offline;
use crate::project_files::read_project;

/// Runs `package backtest` and returns the exit code: 1 for a difference of `--fail-on`, 2 if the backtest cannot be
/// made.
///
/// # Errors
/// The output cannot be written.
pub(super) fn backtest(args: &PackageBacktestArgs, streams: &mut Streams<'_>) -> io::Result<u8> {
    let Some(documents) = read_documents(args, streams)? else { return Ok(EXIT_USAGE) };
    let prepared = PackageBacktest::prepare(&documents).and_then(|backtest| backtest.run(args));
    let (report, skipped) = match prepared {
        Ok(done) => done,
        Err(problems) => {
            problems.iter().try_for_each(|problem| writeln!(streams.err, "Error: {problem}"))?;
            return Ok(EXIT_USAGE);
        }
    };
    if skipped > 0 {
        writeln!(streams.err, "note: {skipped} recorded runs of other workflows were left out")?;
    }
    write_report(&report, &args.runs, streams.out)
}

/// A definition of a package: its kind, the key that an import finds it by, and its document.
struct PackageDocument {
    kind: EntityKind,
    key: String,
    document: Value,
}

/// Reads the definitions of a package or of a project directory; `None` for one that cannot be used, which is reported.
fn read_documents(
    args: &PackageBacktestArgs,
    streams: &mut Streams<'_>,
) -> io::Result<Option<Vec<PackageDocument>>> {
    if !args.file.is_dir() {
        let artifact = streams.read_artifact(&args.file)?;
        let items = artifact.map(|artifact| artifact.items.into_iter());
        return Ok(items.map(|items| {
            items
                .map(|item| PackageDocument { kind: item.kind, key: item.key, document: item.document })
                .collect()
        }));
    }
    let Ok(project) = read_project(&args.file, streams.style, streams.err)? else { return Ok(None) };
    let documents = [EntityKind::Workflow, EntityKind::Channel].into_iter().flat_map(|kind| {
        project.entities(kind).filter_map(move |entity| {
            let (key, document) = (entity.key()?.to_owned(), entity.document.clone());
            Some(PackageDocument { kind, key, document })
        })
    });
    Ok(Some(documents.collect()))
}

/// The definitions of a package, ready for a backtest.
struct PackageBacktest {
    /// The workflows by their ids.
    workflows: HashMap<String, OfflineWorkflow>,
    /// The channels by their names.
    channels: HashMap<String, BacktestChannel>,
}

impl PackageBacktest {
    /// Compiles the definitions.
    ///
    /// # Errors
    /// Every problem, a line each.
    fn prepare(documents: &[PackageDocument]) -> Result<Self, Vec<String>> {
        let engine = Arc::new(offline::engine_builder().build());
        let mut backtest = Self { workflows: HashMap::new(), channels: HashMap::new() };
        let mut problems = Vec::new();
        for PackageDocument { kind, key, document } in documents {
            let named = |problem: String| format!("{kind} '{key}': {problem}");
            match kind {
                EntityKind::Workflow => match compile(&engine, key, document) {
                    Ok(workflow) => drop(backtest.workflows.insert(key.clone(), workflow)),
                    Err(found) => problems.extend(found.into_iter().map(named)),
                },
                EntityKind::Channel => {
                    let name = document["name"].as_str().unwrap_or(key).to_owned();
                    let config = document.get("config").cloned().unwrap_or_else(|| json!({}));
                    match BacktestChannel::read(&engine, &config, true) {
                        Ok(channel) => drop(backtest.channels.insert(name, channel)),
                        Err(problem) => problems.push(named(problem)),
                    }
                }
                EntityKind::Connector => {}
            }
        }
        if problems.is_empty() { Ok(backtest) } else { Err(problems) }
    }

    /// Runs over the recorded runs of the workflows. Returns the report, and the number of runs of other workflows.
    fn run(&self, args: &PackageBacktestArgs) -> Result<(BacktestReport, u64), Vec<String>> {
        let (runtime, options) = (make_runtime()?, args.runs.options());
        let (mut report, mut skipped) = (BacktestReport::default(), 0);
        args.runs.read(|line| {
            let workflow = line.workflow_id.as_deref().and_then(|id| Some((id, self.workflows.get(id)?)));
            let Some((id, workflow)) = workflow else {
                skipped += 1;
                return false;
            };
            let channel = line.channel.as_ref().and_then(|name| self.channels.get(name));
            let comparison = runtime.block_on(backtest_run(workflow, line, &options, channel));
            report.add(line, comparison.prefix_subjects(id));
            true
        })?;
        Ok((report, skipped))
    }
}

/// Compiles a workflow with stand-ins for every secret that it reads.
fn compile(engine: &Engine, id: &str, document: &Value) -> Result<OfflineWorkflow, Vec<String>> {
    let stand_ins = StandIns::parse(&workflow_stand_ins(document), "secrets");
    let content = project_item(EntityKind::Workflow, document);
    let compiled = stand_ins.and_then(|secrets| OfflineWorkflow::compile(engine, id, &content, &secrets));
    compiled.map_err(|errors| errors.iter().map(describe_problem).collect())
}
