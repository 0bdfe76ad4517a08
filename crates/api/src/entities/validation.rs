//! The report of a validation or of a dry run.

use serde::{Deserialize, Serialize};
use svc_model::{Issue, ValidationReport};
use utoipa::ToSchema;

use crate::error::field_codes;

/// A problem of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Issue)]
pub struct ValidationIssue {
    /// The path of the field; `(root)` if no field applies.
    pub field: String,
    /// A description for people.
    pub message: String,
    /// The class of the problem, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = field_codes, required = false)]
    pub code: Option<String>,
    /// The id of the channel that serves and is in the way, in a conflict about a name or a route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    pub rival: Option<String>,
}

impl From<Issue> for ValidationIssue {
    fn from(issue: Issue) -> Self {
        Self {
            field: issue.field,
            message: issue.message,
            code: issue.code.map(|code| code.name().to_owned()),
            rival: issue.rival,
        }
    }
}

/// The report of a validation, or of a request with `dry_run=true`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Validation)]
pub struct ValidationResult {
    /// `true` if the real request would not be refused.
    pub valid: bool,
    /// Problems for which the real request would be refused.
    pub errors: Vec<ValidationIssue>,
    /// Problems for which it would not be refused.
    pub warnings: Vec<ValidationIssue>,
}

impl From<ValidationReport> for ValidationResult {
    fn from(report: ValidationReport) -> Self {
        Self {
            valid: report.valid(),
            errors: report.errors.into_iter().map(Into::into).collect(),
            warnings: report.warnings.into_iter().map(Into::into).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use svc_model::FieldError;

    use super::*;

    #[test]
    fn report_is_sent_as_the_model_writes_it() {
        let mut report = ValidationReport::from(vec![FieldError::required("x")]);
        report.warnings.push(Issue::root("careful"));
        let expected = report.to_json().to_string();
        assert_eq!(serde_json::to_string(&ValidationResult::from(report)).unwrap(), expected);
    }
}
