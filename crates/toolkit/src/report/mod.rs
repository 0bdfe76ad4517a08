//! Reports: findings and results of test cases for people, editors and CI.
//!
//! For people findings are plain lines on standard error, on a terminal with the lines of the source. A machine
//! format goes to standard output, in place of the summary for people.

mod excerpt;
mod finding_report;
mod github;
mod json;
mod junit;
mod sarif;
mod test_report;

use std::io::{self, Write};
use std::path::Path;

use clap::ValueEnum;
use serde_json::Value;
use svc_project::Finding;

pub use finding_report::{FindingReport, ReportRule};
use test_report::CASE_FAILED;
pub use test_report::{ReportedCase, ReportedFailure, TestReport};

/// The form of the report about findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// A summary for people
    #[default]
    Text,
    /// One JSON document
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Workflow commands of GitHub Actions, which annotate the changed lines
    Github,
}

/// The form of the report about test cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TestFormat {
    /// One line for each case, for people
    #[default]
    Text,
    /// One JSON document
    Json,
    /// JUnit XML, for the test reports of CI
    Junit,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Workflow commands of GitHub Actions, which annotate the changed lines
    Github,
}

/// The look of findings for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStyle {
    /// The plain lines of findings and nothing else.
    Plain,
    /// The lines of the source below each finding, for a terminal.
    Excerpt {
        /// True if colours are wanted.
        color: bool,
    },
}

impl TextStyle {
    /// Returns the style of a stream: plain if it is no terminal, without colour if `NO_COLOR` is set
    /// and not empty or the terminal has none.
    pub fn detect(is_terminal: bool, environment: &[(String, String)]) -> Self {
        let is = |name: &str, test: fn(&str) -> bool| {
            environment.iter().any(|(known, value)| known == name && test(value))
        };
        let refuses_color = is("NO_COLOR", |value| !value.is_empty()) || is("TERM", |value| value == "dumb");
        if is_terminal { Self::Excerpt { color: !refuses_color } } else { Self::Plain }
    }
}

/// Writes findings for people. `base` is the directory that their files are relative to.
///
/// # Errors
/// The output cannot be written.
pub fn write_text(
    findings: &[Finding],
    base: &Path,
    style: TextStyle,
    err: &mut dyn Write,
) -> io::Result<()> {
    match style {
        TextStyle::Plain => findings.iter().try_for_each(|finding| writeln!(err, "{finding}")),
        TextStyle::Excerpt { color } => {
            excerpt::write(&FindingReport { findings, base, rules: &[] }, color, err)
        }
    }
}

/// Writes findings in a machine format; nothing for [`ReportFormat::Text`]. `summary` is a member of the JSON
/// document.
///
/// # Errors
/// The output cannot be written.
pub fn write_machine(
    report: &FindingReport<'_>,
    format: ReportFormat,
    summary: &Value,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        ReportFormat::Text => Ok(()),
        ReportFormat::Json => json::write_findings(report, summary, out),
        ReportFormat::Sarif => sarif::write(report, out),
        ReportFormat::Github => github::write(report, out),
    }
}

/// Writes results of test cases in a machine format; nothing for [`TestFormat::Text`].
///
/// # Errors
/// The output cannot be written.
pub fn write_test_report(report: &TestReport, format: TestFormat, out: &mut dyn Write) -> io::Result<()> {
    let findings = report.findings();
    let failures = FindingReport { findings: &findings, base: Path::new(""), rules: &[CASE_FAILED] };
    match format {
        TestFormat::Text => Ok(()),
        TestFormat::Json => json::write_cases(report, out),
        TestFormat::Junit => junit::write(report, out),
        TestFormat::Sarif => sarif::write(&failures, out),
        TestFormat::Github => github::write(&failures, out),
    }
}

#[cfg(test)]
mod tests;
