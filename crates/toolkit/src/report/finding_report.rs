//! Findings to report, and the checks that made them.

use std::path::Path;

use svc_project::{Finding, Severity, SourcePlace};

/// A check, for the reports that carry a table of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportRule {
    /// The stable id.
    pub id: &'static str,
    pub severity: Severity,
    /// The condition under which it fires.
    pub description: &'static str,
    /// The remedy; may be empty.
    pub remedy: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub struct FindingReport<'r> {
    /// The findings, in their order.
    pub findings: &'r [Finding],
    /// The directory that the files of the findings are relative to, as it was named; empty for files named
    /// on the command line.
    pub base: &'r Path,
    /// The checks that may have made them. Those missing here are described by their id.
    pub rules: &'r [ReportRule],
}

impl FindingReport<'_> {
    /// Returns the path of a place as the caller would name it, with `/` between the parts.
    pub(super) fn path(&self, place: &SourcePlace) -> String {
        let base = self.base.to_string_lossy();
        let base = base.strip_prefix("./").unwrap_or(&base).trim_end_matches('/');
        match base {
            "" | "." => place.file.clone(),
            _ => format!("{base}/{}", place.file),
        }
    }
}
