//! `test`: runs test cases offline and reports which passed.

use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use svc_engine::Engine;
use svc_project::case::{
    AnswerSchemas, CaseFailure, CaseResult, CaseSuite, CoverageCollector, CoverageReport, CoveredCount,
    SuiteError, SuiteSettings,
};
use svc_project::{EnvironmentValues, Project};

use super::definitions::Definitions;
use crate::exit::{EXIT_FAILURE, EXIT_OK, write_error};
use crate::plugins::{PluginArgs, PluginEngine, write_problems};
use crate::project_files::read_values;
use crate::report::{self, ReportedCase, ReportedFailure, TestFormat, TestReport, TextStyle};

/// The arguments of `test`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct TestArgs {
    /// Directory with case files, or one case
    #[arg(value_name = "DIR|CASE")]
    path: PathBuf,
    /// Directory with shared definitions
    #[arg(long, value_name = "DIR")]
    definitions: Option<PathBuf>,
    /// Give the cases the values of `values/NAME.yaml`, next to or above them, or of a file, and check theirs by it
    #[arg(long, value_name = "NAME|FILE")]
    values: Option<String>,
    /// Report the tasks that no case ran and the ways of conditions that none went; with --definitions also those of
    /// workflows without a case
    #[arg(long)]
    coverage: bool,
    /// Fail if less of the tasks and branches is covered
    #[arg(long, value_name = "PERCENT", requires = "coverage", value_parser = clap::value_parser!(u8).range(0..=100))]
    min: Option<u8>,
    /// Form of the report on standard output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TestFormat,
    /// The plugins that workflows may call.
    #[command(flatten)]
    plugins: PluginArgs,
}

/// Runs the cases and returns the exit code: a failed case fails, and so does a run without cases.
pub(crate) fn test(args: &TestArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let suite = match CaseSuite::find(&args.path) {
        Ok(suite) => suite,
        Err(error) => {
            write_error(&error, err)?;
            return write_no_results(args.format, out);
        }
    };
    if suite.is_empty() {
        writeln!(err, "Error: {}", no_case(&args.path))?;
        write_results(&TestReport::default(), args.format, out, err)?;
        return Ok(EXIT_FAILURE);
    }
    let Some(definitions) = Definitions::read(args.definitions.as_deref(), err)? else {
        return write_no_results(args.format, out);
    };
    let values = match &args.values {
        None => None,
        Some(name) => match read_values(name, &args.path, TextStyle::Plain, err)? {
            Ok(values) => Some(values),
            Err(_) => return write_no_results(args.format, out),
        },
    };
    let PluginEngine { engine, notes } = match args.plugins.running_engine() {
        Ok(made) => made,
        Err(problems) => {
            write_problems(&problems, err)?;
            return write_no_results(args.format, out);
        }
    };
    notes.iter().try_for_each(|note| writeln!(err, "note: {note}"))?;
    match run_suite(&suite, args, &engine, &definitions, values.as_ref()) {
        Ok(report) => {
            let is_covered = has_minimum(&report, args.min, err)?;
            write_results(&report, args.format, out, err)?;
            Ok(if report.failure_count() == 0 && is_covered { EXIT_OK } else { EXIT_FAILURE })
        }
        Err(error) => {
            write_error(&error, err)?;
            write_no_results(args.format, out)
        }
    }
}

/// Runs the cases, with their progress on a terminal.
fn run_suite(
    suite: &CaseSuite,
    args: &TestArgs,
    engine: &Engine,
    definitions: &Definitions,
    values: Option<&EnvironmentValues>,
) -> Result<TestReport, SuiteError> {
    // A directory that cannot be read was reported.
    let walked = args.definitions.as_deref().and_then(|directory| svc_project::walk(directory).ok());
    let project = walked.map(|walked| Project::read(walked.files.into_iter().map(Arc::new).collect()));
    let answers = project.as_ref().map(AnswerSchemas::from_project);
    let coverage = args.coverage.then(CoverageCollector::default);
    if let (Some(coverage), Some(project)) = (&coverage, &project) {
        coverage.add_project(project);
    }
    let progress = ProgressLine::new(suite.len());
    let show = |done| progress.show(done);
    let shown: Option<&(dyn Fn(usize) + Sync)> = if progress.visible { Some(&show) } else { None };
    let results = definitions.with_expansion(|expand| {
        suite.run(&SuiteSettings {
            engine,
            expand,
            values,
            answers: answers.as_ref(),
            coverage: coverage.as_ref(),
            threads: None,
            progress: shown,
        })
    });
    progress.clear();
    Ok(to_report(&results?, coverage.map(|coverage| coverage.report())))
}

/// Returns `true` if enough is covered; reports it if not.
fn has_minimum(report: &TestReport, min: Option<u8>, err: &mut dyn Write) -> io::Result<bool> {
    let (Some(coverage), Some(min)) = (&report.coverage, min) else { return Ok(true) };
    let percent = coverage.percent();
    if percent < min {
        writeln!(err, "Error: {percent}% of the tasks and branches are covered, and --min asks for {min}%")?;
    }
    Ok(percent >= min)
}

/// Writes a report without a case, for a run that could not begin, and returns its exit code: a tool that reads the report
/// finds a document in any case.
fn write_no_results(format: TestFormat, out: &mut dyn Write) -> io::Result<u8> {
    report::write_test_report(&TestReport::default(), format, out).map(|()| EXIT_FAILURE)
}

fn no_case(path: &Path) -> String {
    let hint = match path.join("tests").is_dir() {
        true => format!("; did you mean {}?", path.join("tests").display()),
        false => String::new(),
    };
    format!("{}: no file ends in .case.json, .case.yaml or .case.yml{hint}", path.display())
}

/// Writes the report. A format that has no place for coverage leaves it to the other stream.
fn write_results(
    report: &TestReport,
    format: TestFormat,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<()> {
    match format {
        TestFormat::Text => write_plain(report, out)?,
        format => report::write_test_report(report, format, out)?,
    }
    match (&report.coverage, format) {
        (None, _) | (_, TestFormat::Json) => Ok(()),
        (Some(coverage), TestFormat::Text) => write_coverage(coverage, out),
        (Some(coverage), _) => write_coverage(coverage, err),
    }
}

fn to_report(results: &[CaseResult], coverage: Option<CoverageReport>) -> TestReport {
    let failure = |failure: &CaseFailure| ReportedFailure {
        message: failure.lines.join("\n"),
        place: failure.place.clone(),
    };
    let case = |result: &CaseResult| ReportedCase {
        name: result.name.clone(),
        file: result.file.clone(),
        failures: result.failures.iter().map(failure).collect(),
    };
    TestReport { cases: results.iter().map(case).collect(), coverage }
}

/// Writes `  ok    <name>` or `  FAIL  <name>` with the reasons below it, then the counts.
fn write_plain(report: &TestReport, out: &mut dyn Write) -> io::Result<()> {
    for case in &report.cases {
        let verdict = if case.failures.is_empty() { "ok    " } else { "FAIL  " };
        writeln!(out, "  {verdict}{}", case.name.replace(char::is_control, " "))?;
        for line in case.failures.iter().flat_map(|failure| failure.message.lines()) {
            writeln!(out, "        {line}")?;
        }
    }
    let (failed, cases) = (report.failure_count(), report.cases.len());
    writeln!(out, "{} passed, {failed} failed ({cases} case(s))", cases - failed)
}

/// Writes the counts, then those of each workflow with what no case went through below it.
fn write_coverage(coverage: &CoverageReport, out: &mut dyn Write) -> io::Result<()> {
    let counts = |tasks: CoveredCount, branches: CoveredCount| {
        let (task, branch) = (tasks.covered, branches.covered);
        format!("{task} of {} task(s), {branch} of {} branch(es)", tasks.total, branches.total)
    };
    let (tasks, branches) = (coverage.tasks(), coverage.branches());
    writeln!(out, "coverage: {}% — {}", coverage.percent(), counts(tasks, branches))?;
    for workflow in &coverage.workflows {
        let name = workflow.workflow.replace(char::is_control, " ");
        writeln!(out, "  {name}: {}", counts(workflow.tasks, workflow.branches))?;
        for line in &workflow.missing {
            writeln!(out, "        {}", line.replace(char::is_control, " "))?;
        }
    }
    Ok(())
}

/// The progress of a run of many cases, on a terminal.
struct ProgressLine {
    total: usize,
    visible: bool,
}

impl ProgressLine {
    fn new(total: usize) -> Self {
        Self { total, visible: total > 1 && io::stderr().is_terminal() }
    }

    /// Shows the number of finished cases; one of a hundred changes is enough.
    fn show(&self, done: usize) {
        if done * 100 / self.total != (done - 1) * 100 / self.total {
            // Progress that cannot be shown is no failure of the cases.
            let _ = write!(io::stderr().lock(), "\r{done} of {} case(s)", self.total);
        }
    }

    fn clear(&self) {
        if self.visible {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}
