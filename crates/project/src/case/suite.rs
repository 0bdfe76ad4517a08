//! The cases of a directory or a file, run on all processors.
//!
//! Each thread has one runtime and takes the next case until none is left. Cases of the same workflow and the
//! same stand-ins share one compilation.

use std::collections::HashMap;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use parking_lot::Mutex;
use serde_json::Value;
use svc_engine::{Engine, Redaction, Stubs};
use svc_model::FieldError;
use tokio::runtime::{Builder, Runtime};

use super::answers::AnswerSchemas;
use super::coverage::CoverageCollector;
use super::expect::FailedExpectation;
use super::file::{Case, CaseStubs};
use crate::finding::SourcePlace;
use crate::run::{Expand, OfflineInput, OfflineRecords, OfflineRun, OfflineWorkflow, describe_problem};
use crate::source::SourceFile;
use crate::stand_ins::StandIns;
use crate::statements::read_with_statements;
use crate::values::EnvironmentValues;
use crate::walk::is_case;

/// The remedy for a workflow that reads a secret without a stand-in.
const STAND_INS: &str = "a case gives each secret of its workflow a stand-in: \"secrets\": {name: text}";

/// Returns the name of a case file without its ending; `None` for a file of another name.
fn case_label(path: &Path) -> Option<&str> {
    let stem = path.file_stem().filter(|_| is_case(path))?;
    stem.to_str()?.strip_suffix(".case")
}

/// The services that cases are run with.
pub struct SuiteSettings<'s> {
    /// The functions and limits of the workflows.
    pub engine: &'s Engine,
    /// Replaces references to shared definitions in a workflow.
    pub expand: Option<&'s Expand<'s>>,
    /// The values of an environment, which cases are completed with and checked against.
    pub values: Option<&'s EnvironmentValues>,
    /// The schemas of the answers of channels.
    pub answers: Option<&'s AnswerSchemas>,
    /// The collector of what the cases go through.
    pub coverage: Option<&'s CoverageCollector>,
    /// Threads to run on; the processors by default.
    pub threads: Option<NonZeroUsize>,
    /// Callback that gets the number of finished cases after each one.
    pub progress: Option<&'s (dyn Fn(usize) + Sync)>,
}

/// The reason why no case can be run.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// The directory or file cannot be read.
    #[error("{path}: cannot be read")]
    Unreadable {
        /// The path as it was given.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// The runtime of a thread cannot be started.
    #[error("the runtime cannot be started")]
    Runtime(#[source] io::Error),
}

/// The case files to run, in the order of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseSuite(Vec<PathBuf>);

/// The result of one case.
#[derive(Clone, Debug)]
pub struct CaseResult {
    /// The name of the case.
    pub name: String,
    /// The path of its file.
    pub file: String,
    /// The reasons of its failure; empty for a case that passed.
    pub failures: Vec<CaseFailure>,
}

/// One reason why a case failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseFailure {
    /// The path of the expectation or of the faulty member in the case.
    pub path: String,
    /// The description, a line each.
    pub lines: Vec<String>,
    /// The place in the source, if it is known.
    pub place: Option<SourcePlace>,
}

impl CaseSuite {
    /// Finds the cases of a directory, one level deep and sorted by name, or the one case of a file, whatever
    /// its name.
    ///
    /// # Errors
    /// [`SuiteError::Unreadable`].
    pub fn find(path: &Path) -> Result<Self, SuiteError> {
        let unreadable = |source| SuiteError::Unreadable { path: path.display().to_string(), source };
        if !path.metadata().map_err(unreadable)?.is_dir() {
            return Ok(Self(vec![path.to_owned()]));
        }
        let entries: Result<Vec<_>, _> = path.read_dir().map_err(unreadable)?.collect();
        let files = entries.map_err(unreadable)?.into_iter().map(|entry| entry.path());
        let mut cases: Vec<_> = files.filter(|file| is_case(file) && file.is_file()).collect();
        cases.sort_unstable();
        Ok(Self(cases))
    }

    /// Returns the number of cases.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there is no case.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Runs all cases. The results are in the order of the files, whatever thread ran them.
    ///
    /// # Errors
    /// [`SuiteError::Runtime`].
    pub fn run(&self, settings: &SuiteSettings<'_>) -> Result<Vec<CaseResult>, SuiteError> {
        let processors = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads = settings.threads.unwrap_or_else(processors).get().min(self.len().max(1));
        let runtimes: Result<Vec<_>, _> =
            (0..threads).map(|_| Builder::new_current_thread().enable_time().build()).collect();
        let runtimes = runtimes.map_err(SuiteError::Runtime)?;
        let runner = CaseRunner { settings, workflows: Mutex::default() };
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let results: Vec<OnceLock<CaseResult>> = self.0.iter().map(|_| OnceLock::new()).collect();
        let work = &|runtime: Runtime| {
            while let Some((file, result)) = take_next(&next, &self.0, &results) {
                // Each index is taken once.
                let _ = result.set(runner.run(&runtime, file));
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                settings.progress.iter().for_each(|progress| progress(done));
            }
        };
        thread::scope(|scope| {
            for runtime in runtimes {
                scope.spawn(move || work(runtime));
            }
        });
        Ok(results.into_iter().filter_map(OnceLock::into_inner).collect())
    }
}

fn take_next<'s>(
    next: &AtomicUsize,
    files: &'s [PathBuf],
    results: &'s [OnceLock<CaseResult>],
) -> Option<(&'s Path, &'s OnceLock<CaseResult>)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    files.get(index).map(PathBuf::as_path).zip(results.get(index))
}

/// The compiled form of a workflow, or its problems.
type Prepared = Result<Arc<OfflineWorkflow>, Arc<[String]>>;

/// The file of a workflow, and the stand-ins it was compiled with.
type WorkflowKey = (PathBuf, StandIns);

/// Runs cases; knows the workflows that earlier ones compiled.
struct CaseRunner<'s> {
    settings: &'s SuiteSettings<'s>,
    workflows: Mutex<HashMap<WorkflowKey, Arc<OnceLock<Prepared>>>>,
}

impl CaseRunner<'_> {
    fn run(&self, runtime: &Runtime, path: &Path) -> CaseResult {
        let file = path.display().to_string();
        let label = case_label(path).or_else(|| path.file_stem()?.to_str()).unwrap_or(&file).to_owned();
        let source = match SourceFile::read(&file, path) {
            Ok(source) => source,
            Err(error) => {
                let lines = vec![error.report(&file)];
                let failure = CaseFailure { path: String::new(), lines, place: error.place };
                return CaseResult { name: label, file, failures: vec![failure] };
            }
        };
        let name = source.value.get("name").and_then(Value::as_str).map_or(label, str::to_owned);
        let failures = match Case::parse(&source.value, self.settings.engine.catalogue()) {
            Ok(case) => self.run_case(runtime, path, &case),
            Err(errors) => errors.iter().map(|error| failure("", error)).collect(),
        };
        let failures = failures.into_iter().map(|failure| locate(failure, &source)).collect();
        CaseResult { name, file, failures }
    }

    fn run_case(&self, runtime: &Runtime, path: &Path, case: &Case) -> Vec<CaseFailure> {
        let directory = path.parent().unwrap_or(Path::new(""));
        let stubs = match self.stubs(directory, &case.stubs) {
            Ok(stubs) => stubs,
            Err(failures) => return failures,
        };
        let workflow = match self.workflow(&directory.join(&case.workflow), &case.secrets) {
            Ok(workflow) => workflow,
            Err(problems) => {
                let mut lines = problems.to_vec();
                let lacks_secret =
                    |line: &String| line.contains("the secret") && line.contains("not declared");
                if lines.iter().any(lacks_secret) {
                    lines.push(STAND_INS.to_owned());
                }
                return vec![CaseFailure { path: "workflow".to_owned(), lines, place: None }];
            }
        };
        let metadata = match self.settings.values {
            None => case.metadata.clone(),
            Some(values) => match values.complete_metadata(&case.metadata, &case.secrets) {
                Ok(metadata) => metadata,
                Err(problems) => {
                    return problems.into_iter().map(|(path, problem)| undeclared(path, &problem)).collect();
                }
            },
        };
        let input = OfflineInput { payload: case.input.clone(), metadata, stubs };
        let records = match self.settings.coverage {
            None => case.expectations.records(),
            Some(_) => OfflineRecords::Steps,
        };
        let run = runtime.block_on(workflow.run(input, records));
        if let Some(coverage) = self.settings.coverage {
            coverage.record(&workflow, &run);
        }
        let mut failed = case.expectations.compare(&run);
        if !run.has_failed() {
            failed.extend(self.check_answer(&workflow, &run));
        }
        failed.into_iter().map(|failed| mask(failed, workflow.redaction())).collect()
    }

    /// Returns the failure of a run whose data does not match what a channel of its workflow promises.
    fn check_answer(&self, workflow: &OfflineWorkflow, run: &OfflineRun) -> Option<FailedExpectation> {
        let faults = self.settings.answers?.check(workflow.id(), &run.root("data"));
        let differences: Vec<_> =
            faults.iter().map(|fault| format!("{fault} (response.schema of a channel)")).collect();
        (!differences.is_empty()).then(|| FailedExpectation { path: String::new(), differences })
    }

    fn stubs(&self, directory: &Path, stubs: &CaseStubs) -> Result<Stubs, Vec<CaseFailure>> {
        let catalogue = self.settings.engine.catalogue();
        match stubs {
            CaseStubs::None => Ok(Stubs::default()),
            CaseStubs::Inline(stubs) => Stubs::parse(catalogue, stubs, "stubs")
                .map_err(|errors| errors.iter().map(|error| failure("", error)).collect()),
            CaseStubs::File(file) => {
                let file = directory.join(file);
                let unreadable = |line| {
                    vec![CaseFailure { path: "stubs_file".to_owned(), lines: vec![line], place: None }]
                };
                let source = read_source(&file).map_err(unreadable)?;
                let refused = |errors: Vec<FieldError>| {
                    errors.iter().map(|error| failure(&file.display().to_string(), error)).collect()
                };
                Stubs::parse(catalogue, &source.value, "stubs").map_err(refused)
            }
        }
    }

    /// Returns the workflow of a file with these stand-ins, compiled once however many cases ask for it.
    fn workflow(&self, path: &Path, secrets: &StandIns) -> Prepared {
        let slot = {
            let mut workflows = self.workflows.lock();
            Arc::clone(workflows.entry((path.to_owned(), secrets.clone())).or_default())
        };
        slot.get_or_init(|| self.prepare(path, secrets).map(Arc::new).map_err(Into::into)).clone()
    }

    fn prepare(&self, path: &Path, secrets: &StandIns) -> Result<OfflineWorkflow, Vec<String>> {
        let file = path.display().to_string();
        let source = read_source(path).map_err(|reason| vec![reason])?;
        OfflineWorkflow::prepare(self.settings.engine, &source, self.settings.expand, secrets)
            .map_err(|lines| lines.into_iter().map(|line| format!("{file}: {line}")).collect())
    }
}

/// Reads an authored file.
fn read_source(path: &Path) -> Result<SourceFile, String> {
    let name = path.display().to_string();
    read_with_statements(&name, path).map_err(|error| error.report(&name))
}

fn failure(file: &str, error: &FieldError) -> CaseFailure {
    let line = describe_problem(error);
    let lines = vec![if file.is_empty() { line } else { format!("{file}: {line}") }];
    CaseFailure { path: error.path.clone(), lines, place: None }
}

/// Returns the failure of a case that an environment does not fit.
fn undeclared(path: String, problem: &str) -> CaseFailure {
    CaseFailure { lines: vec![format!("{path}: {problem}")], path, place: None }
}

/// The line below differences in which a stand-in was masked.
const MASKED: &str = "a stand-in of a secret is shown as \"******\"; expect this text where a call sends one";

/// Converts a failed expectation, stand-ins of secrets masked.
fn mask(failed: FailedExpectation, redaction: &Redaction) -> CaseFailure {
    let mut lines: Vec<_> = failed.differences.iter().map(|line| redaction.mask_text(line.clone())).collect();
    if lines != failed.differences {
        lines.push(MASKED.to_owned());
    }
    CaseFailure { path: failed.path, lines, place: None }
}

/// Adds the place of a failure in its case.
fn locate(failure: CaseFailure, case: &SourceFile) -> CaseFailure {
    let place = case.place(&failure.path);
    CaseFailure { place, ..failure }
}
