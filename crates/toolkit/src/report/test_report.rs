//! Results of test cases to report.

use svc_project::case::CoverageReport;
use svc_project::{Finding, Severity, SourcePlace};

use super::finding_report::ReportRule;

/// The results of test cases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestReport {
    /// The cases, in their order.
    pub cases: Vec<ReportedCase>,
    /// The coverage of the workflows, if it was asked for.
    pub coverage: Option<CoverageReport>,
}

/// The result of one test case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedCase {
    /// The name of the case.
    pub name: String,
    /// The path of its file.
    pub file: String,
    /// The reasons of its failure; empty for a case that passed.
    pub failures: Vec<ReportedFailure>,
}

/// One reason why a case failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedFailure {
    /// The description; may have several lines.
    pub message: String,
    /// The place in the source, if it is known.
    pub place: Option<SourcePlace>,
}

/// The rule of a failed expectation.
pub(super) const CASE_FAILED: ReportRule = ReportRule {
    id: "case.failed",
    severity: Severity::Error,
    description: "A test case does not end as it expects.",
    remedy: "",
};

impl TestReport {
    /// Returns the number of cases that failed.
    pub fn failure_count(&self) -> usize {
        self.cases.iter().filter(|case| !case.failures.is_empty()).count()
    }

    /// Returns a finding for each failure. One without a place is at the head of its file.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let failures =
            self.cases.iter().flat_map(|case| case.failures.iter().map(move |failure| (case, failure)));
        let finding = |(case, failure): (&ReportedCase, &ReportedFailure)| {
            let head = || SourcePlace { file: case.file.clone(), line: 1, column: 1, span: 0..0 };
            Finding {
                severity: CASE_FAILED.severity,
                check: CASE_FAILED.id,
                entity: case.name.clone(),
                message: failure.message.clone(),
                fix: None,
                place: Some(failure.place.clone().unwrap_or_else(head)),
            }
        };
        failures.map(finding).collect()
    }
}
