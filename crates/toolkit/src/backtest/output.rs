//! The report of a backtest as text, JSON or JUnit XML, and test cases made of its samples.

use std::io::{self, Write};
use std::path::Path;

use serde_json::Value;
use svc_outbound::describe_cause;
use svc_project::backtest::{
    BacktestReport, DifferenceGroup, DifferenceKind, RecordedLine, case_from_recording,
};

use super::{BacktestFormat, RecordedRunArgs};
use crate::exit::{EXIT_FAILURE, EXIT_OK};
use crate::offline_files::{read_source, relative_path};
use crate::output::write_file;
use crate::report::{self, ReportedCase, ReportedFailure, TestFormat, TestReport};

/// Lines of a sample that the report for people shows.
const SHOWN_LINES: usize = 6;

/// Writes the report and returns the exit code: 1 for a difference of `--fail-on`.
pub(crate) fn write_report(
    report: &BacktestReport,
    args: &RecordedRunArgs,
    out: &mut dyn Write,
) -> io::Result<u8> {
    match args.format {
        BacktestFormat::Text => write_text(report, out)?,
        BacktestFormat::Json => writeln!(out, "{:#}", report.document())?,
        BacktestFormat::Junit => {
            report::write_test_report(&to_test_report(report, &args.fail_on), TestFormat::Junit, out)?;
        }
    }
    let fails = args.fail_on.iter().any(|kind| report.count(*kind) > 0);
    Ok(if fails { EXIT_FAILURE } else { EXIT_OK })
}

/// Writes the report of a server as JUnit XML: a test case for each kind, of which those in `fail_on` fail.
///
/// # Errors
/// The output cannot be written.
pub fn write_backtest_junit(document: &Value, fail_on: &[String], out: &mut dyn Write) -> io::Result<()> {
    let kinds: Vec<DifferenceKind> = fail_on.iter().filter_map(|name| DifferenceKind::parse(name)).collect();
    let report = to_test_report(&BacktestReport::from_document(document), &kinds);
    report::write_test_report(&report, TestFormat::Junit, out)
}

/// Writes a test case of a recorded run, as the server answers with it, of the workflow in a file.
///
/// # Errors
/// The reason, with the file.
pub fn write_recorded_case(
    recording: &Value,
    name: &str,
    workflow: &Path,
    case: &Path,
) -> Result<(), String> {
    let line = RecordedLine::parse(&recording.to_string()).map_err(|error| error.to_string())?;
    let document = read_source(workflow)?.value.clone();
    write_case(&line, name, &document, workflow, case)
}

/// Writes a case of a recorded run.
pub(super) fn write_case(
    line: &RecordedLine,
    name: &str,
    document: &Value,
    workflow: &Path,
    case: &Path,
) -> Result<(), String> {
    let directory = case.parent().unwrap_or_else(|| Path::new("."));
    let in_directory = |error: io::Error| format!("{}: {}", directory.display(), describe_cause(&error));
    if !directory.as_os_str().is_empty() {
        std::fs::create_dir_all(directory).map_err(in_directory)?;
    }
    let path = relative_path(workflow, directory).map_err(in_directory)?;
    let mut content = case_from_recording(line, document, &path);
    content["name"] = name.into();
    write_file(case, &format!("{content:#}\n")).map_err(|error| error.to_string())
}

/// Writes the counts, then each group with its samples.
fn write_text(report: &BacktestReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{} recorded runs", report.runs())?;
    for kind in DifferenceKind::ALL {
        let count = report.count(kind);
        if count > 0 {
            writeln!(out, "  {count:>7}  {}", kind.name())?;
        }
    }
    for group in report.groups() {
        writeln!(out, "\n{}: {} ({} run(s))", group.kind.name(), group.subject, group.runs)?;
        for sample in &group.samples {
            writeln!(out, "  run {}", sample.run_key)?;
            for line in sample.lines.iter().take(SHOWN_LINES) {
                writeln!(out, "    {line}")?;
            }
            if let Some(more) = sample.lines.len().checked_sub(SHOWN_LINES + 1) {
                writeln!(out, "    and {} more", more + 1)?;
            }
        }
    }
    Ok(())
}

/// Returns the report as a test case for each kind; a kind of `--fail-on` fails by its groups.
fn to_test_report(report: &BacktestReport, fail_on: &[DifferenceKind]) -> TestReport {
    let groups = report.groups();
    let failure = |group: &&DifferenceGroup| {
        let lines = group.samples.iter().flat_map(|sample| &sample.lines).take(SHOWN_LINES);
        let lines: Vec<&str> = lines.map(String::as_str).collect();
        let message = format!("{} ({} run(s))\n{}", group.subject, group.runs, lines.join("\n"));
        ReportedFailure { message, place: None }
    };
    let case = |kind: &DifferenceKind| {
        let count = if fail_on.contains(kind) { report.count(*kind) } else { 0 };
        let of_kind = groups.iter().copied().filter(|group| group.kind == *kind && count > 0);
        let mut failures: Vec<_> = of_kind.map(|group| failure(&group)).collect();
        if failures.is_empty() && count > 0 {
            let message = format!("{count} run(s), none of which the shortened report describes");
            failures.push(ReportedFailure { message, place: None });
        }
        // The name is that of every run of a job, which compares them.
        ReportedCase { name: kind.name().to_owned(), file: "backtest".to_owned(), failures }
    };
    TestReport { cases: DifferenceKind::ALL.iter().map(case).collect(), coverage: None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn junit(report: &Value, fail_on: &[&str]) -> String {
        let fail_on: Vec<String> = fail_on.iter().map(|kind| (*kind).to_owned()).collect();
        let mut out = Vec::new();
        write_backtest_junit(report, &fail_on, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn kind_without_groups_fails_its_case() {
        let report = json!({"runs": 3, "kinds": {"same": 1, "new-error": 2}, "groups": [], "differing": [],
            "shortened": true});
        let xml = junit(&report, &["new-error", "new-call"]);
        assert!(xml.contains("2 run(s), none of which"), "{xml}");
        assert!(xml.contains("tests=\"9\" failures=\"1\""), "{xml}");
        assert!(xml.contains("name=\"new-error\"") && xml.contains("name=\"same\""), "{xml}");
        assert!(junit(&report, &["new-call"]).contains("failures=\"0\""));
    }
}
