//! Findings: problems and remarks about a project, each with a stable check id.

use std::fmt;
use std::ops::Range;

use serde::Serialize;
use svc_outbound::printable;

/// The weight of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The admin API refuses the document, or the set does not hold together.
    Error,
    /// A probable mistake; counts if warnings are denied.
    Warning,
    /// An entry of an inventory; never counts.
    Note,
}

impl Severity {
    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// The place of a finding in its source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourcePlace {
    /// The path of the file, as it was named or relative to the project directory, with `/` between its
    /// parts.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The bytes of the element in the text of the file.
    #[serde(skip)]
    pub span: Range<usize>,
}

/// A problem or a remark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The weight.
    pub severity: Severity,
    /// The stable id of the check.
    pub check: &'static str,
    /// The entity or file that the finding is about.
    pub entity: String,
    /// A description of the problem; begins with the path of the field, if there is one.
    pub message: String,
    /// The remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// The place in the source, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<SourcePlace>,
}

impl fmt::Display for Finding {
    /// Writes `severity: [check] entity: message`, and a second line with the remedy. What the author wrote stays within
    /// its line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (entity, message) = (printable(&self.entity), printable(&self.message));
        write!(f, "{}: [{}] {entity}: {message}", self.severity.name(), self.check)?;
        match &self.fix {
            Some(fix) => write!(f, "\n        fix: {}", printable(fix)),
            None => Ok(()),
        }
    }
}
