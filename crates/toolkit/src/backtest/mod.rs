//! `backtest`: runs a version of a workflow over recorded runs, offline, and names the differences.

mod output;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::Value;
use svc_model::nearest;
use svc_outbound::describe_cause;
use svc_project::backtest::{
    BacktestOptions, BacktestReport, DifferenceGroup, DifferenceKind, IgnoredPath, RecordedLine, backtest_run,
};
use svc_project::case::workflow_stand_ins;
use svc_project::{OfflineWorkflow, SourceFile, StandIns, describe_problem};
use tokio::runtime::Runtime;

use super::definitions::Definitions;
use super::offline_files::{read_source, read_value};
use crate::exit::EXIT_USAGE;
use crate::plugins::PluginArgs;

pub(crate) use output::write_report;
pub use output::{write_backtest_junit, write_recorded_case};

/// The name of standard input.
const STANDARD_INPUT: &str = "-";

/// The recorded runs of a backtest, and its report.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct RecordedRunArgs {
    /// Recorded runs, one a line, as 'svc-cli recordings export' prints them; - reads standard input
    #[arg(long, value_name = "FILE")]
    traces: PathBuf,
    /// Path that is not compared, such as data.at or input.params[1]; several with several options
    #[arg(long, value_name = "PATH", value_parser = IgnoredPath::parse)]
    ignore: Vec<IgnoredPath>,
    /// Run over at most this many
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    limit: u64,
    /// Fail if a run has a difference of one of these kinds
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = parse_kind)]
    fail_on: Vec<DifferenceKind>,
    /// Form of the report on standard output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: BacktestFormat,
}

/// The arguments of `backtest`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct BacktestArgs {
    /// The recorded runs.
    #[command(flatten)]
    pub(crate) runs: RecordedRunArgs,
    /// Workflow to run over them
    #[arg(short, long, value_name = "FILE")]
    workflow: PathBuf,
    /// Stand-ins for secrets: {name: text}; others are made up
    #[arg(long, value_name = "FILE")]
    secrets: Option<PathBuf>,
    /// Directory with shared definitions
    #[arg(long, value_name = "DIR")]
    definitions: Option<PathBuf>,
    /// Directory for a test case of the first run of each group of differences
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,
    /// The plugins that workflows may call.
    #[command(flatten)]
    plugins: PluginArgs,
}

/// The form of the report about a backtest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BacktestFormat {
    /// Groups of differences with samples, for people
    #[default]
    Text,
    /// One JSON document
    Json,
    /// JUnit XML, a test case for each kind of difference
    Junit,
}

/// Reads the name of a kind of difference.
fn parse_kind(text: &str) -> Result<DifferenceKind, String> {
    let known = DifferenceKind::ALL.iter().copied().find(|kind| kind.name() == text);
    known.ok_or_else(|| {
        let names = DifferenceKind::ALL.map(DifferenceKind::name);
        let hint = nearest(text, names).map_or_else(String::new, |near| format!("; did you mean {near}?"));
        format!("the kinds are {}{hint}", names.join(", "))
    })
}

/// Runs the workflow over the recorded runs and returns the exit code: 1 for a difference of `--fail-on`, 2 if the
/// backtest cannot be made.
pub(crate) fn backtest(args: &BacktestArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let Some(definitions) = Definitions::read(args.definitions.as_deref(), err)? else {
        return Ok(EXIT_USAGE);
    };
    let prepared = Backtest::prepare(args, &definitions).and_then(|backtest| {
        let report = backtest.run(args)?;
        Ok((backtest, report))
    });
    let (backtest, report) = match prepared {
        Ok(done) => done,
        Err(problems) => {
            problems.iter().try_for_each(|problem| writeln!(err, "Error: {problem}"))?;
            return Ok(EXIT_USAGE);
        }
    };
    if backtest.skipped.get() > 0 {
        writeln!(err, "note: {} recorded runs of other workflows were left out", backtest.skipped.get())?;
    }
    if let Some(directory) = &args.cases
        && let Err(problem) = backtest.write_cases(&report, &args.workflow, directory)
    {
        writeln!(err, "Error: {problem}")?;
        return Ok(EXIT_USAGE);
    }
    write_report(&report, &args.runs, out)
}

/// A workflow that is ready for a backtest.
struct Backtest {
    workflow: OfflineWorkflow,
    /// Its document, shared definitions in place.
    document: Value,
    /// The number of recorded runs of other workflows.
    skipped: std::cell::Cell<u64>,
}

impl Backtest {
    /// Reads the files and compiles the workflow.
    ///
    /// # Errors
    /// Every problem, a line each.
    fn prepare(args: &BacktestArgs, definitions: &Definitions) -> Result<Self, Vec<String>> {
        let source: SourceFile = read_source(&args.workflow).map_err(|problem| vec![problem])?;
        let mut document = source.value.clone();
        definitions.with_expansion(|expand| expand.map(|expand| expand(&mut document)));
        let mut secrets = workflow_stand_ins(&document);
        if let Some(path) = &args.secrets {
            let given = read_value(path).map_err(|problem| vec![problem])?;
            if let (Value::Object(secrets), Value::Object(given)) = (&mut secrets, given) {
                secrets.extend(given);
            }
        }
        let secrets = StandIns::parse(&secrets, "secrets")
            .map_err(|errors| errors.iter().map(describe_problem).collect::<Vec<_>>())?;
        let engine = args.plugins.running_engine()?.engine;
        let workflow = definitions
            .with_expansion(|expand| OfflineWorkflow::prepare(&engine, &source, expand, &secrets))
            .map_err(|problems| {
                let file = args.workflow.display();
                problems.into_iter().map(|problem| format!("{file}: {problem}")).collect::<Vec<_>>()
            })?;
        Ok(Self { workflow, document, skipped: std::cell::Cell::new(0) })
    }

    /// Runs over the recorded runs of the workflow.
    fn run(&self, args: &BacktestArgs) -> Result<BacktestReport, Vec<String>> {
        let runtime = make_runtime()?;
        let options = args.runs.options();
        let own_id = self.document.get("workflow_id").and_then(Value::as_str);
        let mut report = BacktestReport::keeping_recordings();
        args.runs.read(|line| {
            let is_other = matches!((&line.workflow_id, own_id), (Some(id), Some(own)) if id != own);
            if is_other {
                self.skipped.set(self.skipped.get() + 1);
                return false;
            }
            let comparison = runtime.block_on(backtest_run(&self.workflow, line, &options, None));
            report.add(line, comparison);
            true
        })?;
        Ok(report)
    }

    /// Writes a case of the first sample of each group.
    fn write_cases(&self, report: &BacktestReport, workflow: &Path, directory: &Path) -> Result<(), String> {
        let comparable = |group: &&DifferenceGroup| group.kind != DifferenceKind::NotComparable;
        for (number, group) in report.groups().into_iter().filter(comparable).enumerate() {
            let line = group.samples.first().and_then(|sample| sample.line.as_ref());
            let Some(line) = line else { continue };
            let name = format!("{}: {}", group.kind.name(), group.subject);
            let file = directory.join(format!("{}-{}.case.json", group.kind.name(), number + 1));
            output::write_case(line, &name, &self.document, workflow, &file)?;
        }
        Ok(())
    }
}

/// Makes the runtime on which a backtest runs: one thread, with timers and without sockets.
pub(crate) fn make_runtime() -> Result<Runtime, Vec<String>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.map_err(|error| vec![format!("no runtime for the backtest: {}", describe_cause(&error))])
}

impl RecordedRunArgs {
    /// Returns the options of the comparison.
    pub(crate) fn options(&self) -> BacktestOptions {
        BacktestOptions { ignore: self.ignore.clone(), ..BacktestOptions::default() }
    }

    /// Reads the recorded runs, until there are no more or `act` returned true for as many as `--limit`.
    ///
    /// # Errors
    /// A file that cannot be read, or the line that is no recorded run.
    pub(crate) fn read(&self, mut act: impl FnMut(&RecordedLine) -> bool) -> Result<(), Vec<String>> {
        let file = self.traces.display();
        let unreadable = |error: &io::Error| vec![format!("{file}: {}", describe_cause(error))];
        let lines: Box<dyn BufRead> = if self.traces.as_os_str() == STANDARD_INPUT {
            Box::new(BufReader::new(io::stdin()))
        } else {
            Box::new(BufReader::new(File::open(&self.traces).map_err(|error| unreadable(&error))?))
        };
        let mut count = 0;
        for (number, text) in lines.lines().enumerate() {
            let text = text.map_err(|error| unreadable(&error))?;
            if text.trim().is_empty() {
                continue;
            }
            let line = RecordedLine::parse(&text).map_err(|error| {
                vec![format!("{file}:{}: {error}: {}", number + 1, describe_cause(&error))]
            })?;
            count += u64::from(act(&line));
            if count >= self.limit {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_kind_names_the_nearest() {
        assert_eq!(parse_kind("new-error"), Ok(DifferenceKind::NewError));
        let refused = parse_kind("new-eror").unwrap_err();
        assert!(refused.ends_with("did you mean new-error?"), "{refused}");
    }
}
