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

use super::error::PackageError;
use super::remote::PackageServer;
use super::{PackageBacktestArgs, Streams};
use crate::backtest::{make_runtime, write_report};
use crate::exit::EXIT_USAGE;
use crate::plugins::{PluginEngine, write_problems};
use crate::project_files::read_project;

/// Runs `package backtest` and returns the exit code: 1 for a difference of `--fail-on`, 2 if the backtest cannot be
/// made.
///
/// # Errors
/// The output cannot be written.
pub(super) fn backtest(args: &PackageBacktestArgs, streams: &mut Streams<'_>) -> io::Result<u8> {
    let Some(sources) = read_sources(args, streams)? else { return Ok(EXIT_USAGE) };
    let PluginEngine { engine, notes } = match sources.plugins {
        Ok(made) => made,
        Err(problems) => return write_problems(&problems, streams.err).map(|()| EXIT_USAGE),
    };
    notes.iter().try_for_each(|note| writeln!(streams.err, "note: {note}"))?;
    let Some(serving) = fetch_serving(args, &sources.documents, streams)? else { return Ok(EXIT_USAGE) };
    let prepared = PackageBacktest::prepare(Arc::new(engine), &sources.documents, &serving)
        .and_then(|backtest| backtest.run(args));
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

/// The input of a backtest.
struct BacktestSources {
    documents: Vec<PackageDocument>,
    /// An engine that calls the plugins, or the problems of these.
    plugins: Result<PluginEngine, Vec<String>>,
}

/// Reads the definitions and plugins of a package or of a project directory; `None` for one that cannot be used, which is
/// reported.
fn read_sources(
    args: &PackageBacktestArgs,
    streams: &mut Streams<'_>,
) -> io::Result<Option<BacktestSources>> {
    if !args.file.is_dir() {
        let Some(artifact) = streams.read_artifact(&args.file)? else { return Ok(None) };
        let plugins = PluginEngine::of_package(&artifact.plugins);
        let items = artifact.items.into_iter();
        let documents =
            items.map(|item| PackageDocument { kind: item.kind, key: item.key, document: item.document });
        return Ok(Some(BacktestSources { documents: documents.collect(), plugins }));
    }
    let Ok(project) = read_project(&args.file, streams.style, streams.err)? else { return Ok(None) };
    let documents = [EntityKind::Workflow, EntityKind::Channel].into_iter().flat_map(|kind| {
        project.entities(kind).filter_map(move |entity| {
            let (key, document) = (entity.key()?.to_owned(), entity.document.clone());
            Some(PackageDocument { kind, key, document })
        })
    });
    let plugins = PluginEngine::of_project(&args.file);
    Ok(Some(BacktestSources { documents: documents.collect(), plugins }))
}

/// Fetches the configs of the channels that serve on the server of the recorded runs, by the keys of the package; `None`
/// if the server cannot be asked, which is reported.
fn fetch_serving(
    args: &PackageBacktestArgs,
    documents: &[PackageDocument],
    streams: &mut Streams<'_>,
) -> io::Result<Option<HashMap<String, Value>>> {
    let Some(address) = &args.server else { return Ok(Some(HashMap::new())) };
    let Some(server) = streams.connect(address, "package backtest")? else { return Ok(None) };
    streams.run(find_serving(&server, documents))
}

async fn find_serving(
    server: &PackageServer,
    documents: &[PackageDocument],
) -> Result<HashMap<String, Value>, PackageError> {
    let mut serving = HashMap::new();
    for document in documents.iter().filter(|document| document.kind == EntityKind::Channel) {
        if let Some(channel) = server.serving_channel(&document.key).await? {
            serving.insert(document.key.clone(), answering_config(&channel["config"]));
        }
    }
    Ok(serving)
}

/// Returns the part of a config that reads requests and makes answers. The rest has masks in the place of secrets.
fn answering_config(config: &Value) -> Value {
    let blocks = ["request", "response"].into_iter();
    let given = blocks.filter_map(|name| Some((name.to_owned(), config.get(name)?.clone())));
    let mut kept = Value::Object(given.collect());
    if config["auth"]["preset"].is_string() && config["request"]["body"].is_null() {
        // The default that a preset sets.
        kept["request"]["body"] = "auto".into();
    }
    kept
}

/// The definitions of a package, ready for a backtest.
struct PackageBacktest {
    /// The workflows by their ids.
    workflows: HashMap<String, OfflineWorkflow>,
    /// The channels by their names.
    channels: HashMap<String, BacktestChannel>,
}

impl PackageBacktest {
    /// Compiles the definitions. `serving` has the configs of the channels that made the recorded answers.
    ///
    /// # Errors
    /// Every problem, a line each.
    fn prepare(
        engine: Arc<Engine>,
        documents: &[PackageDocument],
        serving: &HashMap<String, Value>,
    ) -> Result<Self, Vec<String>> {
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
                    match read_channel(&engine, document, serving.get(key)) {
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

/// Reads a channel, and the config of the version that made the recorded answers.
fn read_channel(
    engine: &Arc<Engine>,
    document: &Value,
    serving: Option<&Value>,
) -> Result<BacktestChannel, String> {
    let config = document.get("config").cloned().unwrap_or_else(|| json!({}));
    let methods = document["methods"].as_array().into_iter().flatten();
    let methods: Vec<String> = methods.filter_map(|method| method.as_str().map(str::to_owned)).collect();
    let channel = BacktestChannel::read(engine, &config, true)?.taking(&methods);
    match serving {
        Some(serving) => channel.answered_by(serving),
        None => Ok(channel),
    }
}

/// Compiles a workflow with stand-ins for every secret that it reads.
fn compile(engine: &Engine, id: &str, document: &Value) -> Result<OfflineWorkflow, Vec<String>> {
    let stand_ins = StandIns::parse(&workflow_stand_ins(document), "secrets");
    let content = project_item(EntityKind::Workflow, document);
    let compiled = stand_ins.and_then(|secrets| OfflineWorkflow::compile(engine, id, &content, &secrets));
    compiled.map_err(|errors| errors.iter().map(describe_problem).collect())
}
