//! SARIF 2.1.0, the interchange format of static analysis.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};
use svc_project::{Finding, Severity};

use super::finding_report::{FindingReport, ReportRule};
use super::json;
use crate::VERSION;

/// The schema that the document follows.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Characters of a path that a URI reference escapes. A colon could end a scheme.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}')
    .add(b':');

/// Writes one run with the table of rules and a result for each finding.
pub(super) fn write(report: &FindingReport<'_>, out: &mut dyn Write) -> io::Result<()> {
    let rules = rules(report);
    let index: BTreeMap<&str, usize> =
        rules.iter().enumerate().map(|(index, rule)| (rule.id, index)).collect();
    let results: Vec<_> = report.findings.iter().map(|finding| result(report, finding, &index)).collect();
    let rules: Vec<_> = rules.iter().map(rule_document).collect();
    let document = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "svc-server", "version": VERSION, "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    json::write_document(&document, out)
}

/// Returns the known rules, and one for each other check of a finding.
fn rules(report: &FindingReport<'_>) -> Vec<ReportRule> {
    let mut rules = report.rules.to_vec();
    for finding in report.findings {
        if !rules.iter().any(|rule| rule.id == finding.check) {
            let (id, severity) = (finding.check, finding.severity);
            rules.push(ReportRule { id, severity, description: id, remedy: "" });
        }
    }
    rules
}

fn rule_document(rule: &ReportRule) -> Value {
    let mut document = json!({
        "id": rule.id,
        "shortDescription": {"text": rule.description},
        "defaultConfiguration": {"level": level(rule.severity)},
    });
    if !rule.remedy.is_empty() {
        document["help"] = json!({"text": rule.remedy});
    }
    document
}

fn result(report: &FindingReport<'_>, finding: &Finding, index: &BTreeMap<&str, usize>) -> Value {
    let fix = finding.fix.as_ref().map(|fix| format!("\nfix: {fix}")).unwrap_or_default();
    json!({
        "ruleId": finding.check,
        "ruleIndex": index.get(finding.check),
        "level": level(finding.severity),
        "message": {"text": format!("{}: {}{fix}", finding.entity, finding.message)},
        "locations": [location(report, finding)],
    })
}

fn location(report: &FindingReport<'_>, finding: &Finding) -> Value {
    let logical = json!([{"fullyQualifiedName": finding.entity}]);
    match &finding.place {
        None => json!({"logicalLocations": logical}),
        Some(place) => json!({
            "physicalLocation": {
                "artifactLocation": {"uri": uri(&report.path(place))},
                "region": {"startLine": place.line, "startColumn": place.column},
            },
            "logicalLocations": logical,
        }),
    }
}

/// Returns the URI reference of a path: relative, or of the scheme `file`.
fn uri(path: &str) -> String {
    let scheme = if Path::new(path).is_absolute() { "file://" } else { "" };
    format!("{scheme}{}", utf8_percent_encode(path, ESCAPED))
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}
