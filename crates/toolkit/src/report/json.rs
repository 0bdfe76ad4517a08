//! Reports as one JSON document.

use std::io::{self, Write};

use serde_json::{Value, json};
use svc_outbound::printable_json;
use svc_project::case::{CoverageReport, CoveredCount};
use svc_project::{Finding, SourcePlace};

use super::finding_report::FindingReport;
use super::test_report::{ReportedCase, TestReport};

/// Writes `{findings, summary}`.
pub(super) fn write_findings(
    report: &FindingReport<'_>,
    summary: &Value,
    out: &mut dyn Write,
) -> io::Result<()> {
    let findings: Vec<_> = report.findings.iter().map(|finding| finding_document(report, finding)).collect();
    write_document(&json!({"findings": findings, "summary": summary}), out)
}

/// Writes `{cases, summary, coverage?}`.
pub(super) fn write_cases(report: &TestReport, out: &mut dyn Write) -> io::Result<()> {
    let cases: Vec<_> = report.cases.iter().map(case_document).collect();
    let failed = report.failure_count();
    let summary = json!({"passed": cases.len() - failed, "failed": failed, "cases": cases.len()});
    let mut document = json!({"cases": cases, "summary": summary});
    if let Some(coverage) = &report.coverage {
        document["coverage"] = coverage_document(coverage);
    }
    write_document(&document, out)
}

fn coverage_document(coverage: &CoverageReport) -> Value {
    let count = |count: CoveredCount| json!({"covered": count.covered, "total": count.total});
    let workflows = coverage.workflows.iter().map(|workflow| {
        json!({
            "workflow": workflow.workflow,
            "tasks": count(workflow.tasks),
            "branches": count(workflow.branches),
            "missing": workflow.missing,
        })
    });
    let workflows: Vec<_> = workflows.collect();
    json!({
        "percent": coverage.percent(),
        "tasks": count(coverage.tasks()),
        "branches": count(coverage.branches()),
        "workflows": workflows,
    })
}

/// Writes a document and a line end.
pub(super) fn write_document(document: &Value, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", printable_json(format!("{document:#}")))
}

fn finding_document(report: &FindingReport<'_>, finding: &Finding) -> Value {
    let mut document = json!({
        "severity": finding.severity.name(),
        "check": finding.check,
        "entity": finding.entity,
        "message": finding.message,
    });
    if let Some(fix) = &finding.fix {
        document["fix"] = json!(fix);
    }
    if let Some(place) = &finding.place {
        document["place"] = place_document(&report.path(place), place);
    }
    document
}

fn case_document(case: &ReportedCase) -> Value {
    let failures = case.failures.iter().map(|failure| {
        let mut document = json!({"message": failure.message});
        if let Some(place) = &failure.place {
            document["place"] = place_document(&place.file, place);
        }
        document
    });
    let failures: Vec<_> = failures.collect();
    json!({"name": case.name, "file": case.file, "passed": failures.is_empty(), "failures": failures})
}

fn place_document(file: &str, place: &SourcePlace) -> Value {
    json!({"file": file, "line": place.line, "column": place.column})
}
