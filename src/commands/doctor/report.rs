//! The findings of the doctor, in the order of the checks.

use svc_project::{Finding, Severity};

/// The findings so far.
#[derive(Debug, Default)]
pub(super) struct DoctorReport {
    findings: Vec<Finding>,
}

impl DoctorReport {
    /// Adds a finding of this weight about a setting, with its remedy.
    pub(super) fn add(
        &mut self,
        severity: Severity,
        check: &'static str,
        setting: &str,
        message: impl Into<String>,
        remedy: Option<&str>,
    ) {
        let (entity, message) = (setting.to_owned(), message.into());
        let fix = remedy.map(str::to_owned);
        self.findings.push(Finding { severity, check, entity, message, fix, place: None });
    }

    /// Adds what prevents the start, or the work of a part of the service.
    pub(super) fn add_error(
        &mut self,
        check: &'static str,
        setting: &str,
        message: impl Into<String>,
        remedy: &str,
    ) {
        self.add(Severity::Error, check, setting, message, Some(remedy));
    }

    /// Adds what works now and will not for ever, or not for all.
    pub(super) fn add_warning(
        &mut self,
        check: &'static str,
        setting: &str,
        message: impl Into<String>,
        remedy: &str,
    ) {
        self.add(Severity::Warning, check, setting, message, Some(remedy));
    }

    /// Adds what was measured and is in order.
    pub(super) fn add_note(&mut self, check: &'static str, setting: &str, message: impl Into<String>) {
        self.add(Severity::Note, check, setting, message, None);
    }

    /// Adds the findings of another command.
    pub(super) fn extend(&mut self, findings: Vec<Finding>) {
        self.findings.extend(findings);
    }

    pub(super) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the number of findings of a weight.
    pub(super) fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}
