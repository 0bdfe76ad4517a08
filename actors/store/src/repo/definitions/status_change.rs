//! A change of status as it is planned, and the objections to it.

use svc_model::lifecycle::Transition;
use svc_model::{FieldCode, FieldError, Issue, ServiceError};

/// The plan of a change of status.
#[derive(Debug)]
pub struct StatusChangePlan {
    /// The change to write; `None` if there is nothing to change.
    pub(in crate::repo) transition: Option<Transition>,
    /// The objections, in the order of the requirements.
    pub(in crate::repo) objections: Vec<Objection>,
}

/// An unmet requirement.
#[derive(Debug)]
pub(in crate::repo) struct Objection {
    field: String,
    pub(in crate::repo) error: ServiceError,
    /// Id of the active channel that is in the way.
    rival: Option<String>,
}

impl Objection {
    pub(in crate::repo) fn new(field: impl Into<String>, error: ServiceError) -> Self {
        Self { field: field.into(), error, rival: None }
    }

    /// Adds the id of the active channel that is in the way.
    pub(in crate::repo) fn with_rival(self, id: String) -> Self {
        Self { rival: Some(id), ..self }
    }

    pub(in crate::repo) fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        let field = field.into();
        let error = ServiceError::invalid(vec![FieldError::invalid(field.clone(), message)]);
        Self::new(field, error)
    }

    /// Returns the objection that the definition refers to something that does not exist (yet).
    pub(in crate::repo) fn missing(field: impl Into<String>, message: impl Into<String>) -> Self {
        let field = field.into();
        let detail = FieldError::new(field.clone(), FieldCode::NotFound, message);
        Self::new(field, ServiceError::invalid(vec![detail]))
    }

    pub(in crate::repo) fn into_issues(self) -> Vec<Issue> {
        let rival = self.rival;
        match self.error.details() {
            [] => vec![Issue { field: self.field, rival, ..Issue::from(&self.error) }],
            details => {
                let issues = details.iter().cloned().map(Issue::from);
                issues.map(|issue| Issue { rival: rival.clone(), ..issue }).collect()
            }
        }
    }
}

impl From<ServiceError> for Objection {
    fn from(error: ServiceError) -> Self {
        Self::new("(root)", error)
    }
}
