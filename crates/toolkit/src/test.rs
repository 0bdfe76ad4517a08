//! `test`: runs test cases offline and reports which passed.

use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use svc_project::Project;
use svc_project::case::{AnswerSchemas, CaseFailure, CaseResult, CaseSuite, SuiteSettings};

use super::definitions::Definitions;
use crate::exit::{EXIT_FAILURE, EXIT_OK, write_error};
use crate::offline;
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
    /// Form of the report on standard output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TestFormat,
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
        write_results(&[], args.format, out)?;
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
    let values = values.as_ref();
    // A directory that cannot be read was reported.
    let walked = args.definitions.as_deref().and_then(|directory| svc_project::walk(directory).ok());
    let answers = walked.map(|walked| {
        AnswerSchemas::from_project(&Project::read(walked.files.into_iter().map(Arc::new).collect()))
    });
    let engine = offline::engine_builder().build();
    let progress = ProgressLine::new(suite.len());
    let show = |done| progress.show(done);
    let shown: Option<&(dyn Fn(usize) + Sync)> = if progress.visible { Some(&show) } else { None };
    let results = definitions.with_expansion(|expand| {
        suite.run(&SuiteSettings {
            engine: &engine,
            expand,
            values,
            answers: answers.as_ref(),
            threads: None,
            progress: shown,
        })
    });
    progress.clear();
    match results {
        Ok(results) => {
            write_results(&results, args.format, out)?;
            Ok(if results.iter().all(|result| result.failures.is_empty()) { EXIT_OK } else { EXIT_FAILURE })
        }
        Err(error) => {
            write_error(&error, err)?;
            write_no_results(args.format, out)
        }
    }
}

/// Writes a report without a case, for a run that could not begin, and returns its exit code: a tool that reads the report
/// finds a document in any case.
fn write_no_results(format: TestFormat, out: &mut dyn Write) -> io::Result<u8> {
    match format {
        TestFormat::Text => Ok(EXIT_FAILURE),
        format => write_results(&[], format, out).map(|()| EXIT_FAILURE),
    }
}

fn no_case(path: &Path) -> String {
    let hint = match path.join("tests").is_dir() {
        true => format!("; did you mean {}?", path.join("tests").display()),
        false => String::new(),
    };
    format!("{}: no file ends in .case.json, .case.yaml or .case.yml{hint}", path.display())
}

fn write_results(results: &[CaseResult], format: TestFormat, out: &mut dyn Write) -> io::Result<()> {
    match format {
        TestFormat::Text => write_plain(results, out),
        format => report::write_test_report(&to_report(results), format, out),
    }
}

fn to_report(results: &[CaseResult]) -> TestReport {
    let failure = |failure: &CaseFailure| ReportedFailure {
        message: failure.lines.join("\n"),
        place: failure.place.clone(),
    };
    let case = |result: &CaseResult| ReportedCase {
        name: result.name.clone(),
        file: result.file.clone(),
        failures: result.failures.iter().map(failure).collect(),
    };
    TestReport { cases: results.iter().map(case).collect() }
}

/// Writes `  ok    <name>` or `  FAIL  <name>` with the reasons below it, then the counts.
fn write_plain(results: &[CaseResult], out: &mut dyn Write) -> io::Result<()> {
    for result in results {
        let verdict = if result.failures.is_empty() { "ok    " } else { "FAIL  " };
        writeln!(out, "  {verdict}{}", result.name.replace(char::is_control, " "))?;
        for line in result.failures.iter().flat_map(|failure| &failure.lines) {
            line.lines().try_for_each(|line| writeln!(out, "        {line}"))?;
        }
    }
    writeln!(out, "{}", summary(results))
}

fn summary(results: &[CaseResult]) -> String {
    let passed = results.iter().filter(|result| result.failures.is_empty()).count();
    format!("{passed} passed, {} failed ({} case(s))", results.len() - passed, results.len())
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
