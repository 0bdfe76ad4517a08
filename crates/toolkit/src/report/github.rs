//! Workflow commands of GitHub Actions: `::error file=…,line=…,col=…,title=…::message`.

use std::io::{self, Write};

use svc_outbound::printable_lines;
use svc_project::{Finding, Severity};

use super::finding_report::FindingReport;

/// Writes a line for each finding.
pub(super) fn write(report: &FindingReport<'_>, out: &mut dyn Write) -> io::Result<()> {
    report.findings.iter().try_for_each(|finding| writeln!(out, "{}", command(report, finding)))
}

fn command(report: &FindingReport<'_>, finding: &Finding) -> String {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let place = finding.place.as_ref().map(|place| {
        format!("file={},line={},col={},", escape_property(&report.path(place)), place.line, place.column)
    });
    let fix = finding.fix.as_ref().map(|fix| format!("\nfix: {fix}")).unwrap_or_default();
    let message = escape(&format!("{}: {}{fix}", finding.entity, finding.message));
    format!("::{level} {}title={}::{message}", place.unwrap_or_default(), escape_property(finding.check))
}

/// Escapes a message: the command ends with the line. The log is a terminal too.
fn escape(text: &str) -> String {
    printable_lines(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property, which ends with a comma or colon.
fn escape_property(text: &str) -> String {
    escape(text).replace(':', "%3A").replace(',', "%2C")
}
