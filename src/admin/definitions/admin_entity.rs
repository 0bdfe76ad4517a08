//! The trait behind the handlers that workflows and channels share.

use serde::Serialize;
use serde_json::Value;
use svc_model::{FieldError, Issue, ValidationReport};
use svc_registry::ReloadScope;
use svc_store::{Merge, Repository, StoreError, Versioned};

use crate::state::AppState;

/// A kind of entity that authors write and activate over HTTP.
pub(crate) trait AdminEntity: Versioned {
    /// The document as the API shows it.
    type Resource: From<Self> + Serialize;
    /// The report of a validation.
    type Report: Serialize;
    /// True if the requirements of an activation depend on the content of the version.
    const REQUIREMENTS_DEPEND_ON_CONTENT: bool;

    /// Adds the version that serves to the document of a list or a read.
    fn with_active_version(resource: Self::Resource, version: Option<i64>) -> Self::Resource;

    /// Adds the pause and the quarantine of this id to the document of a list or a read.
    fn with_serving_state(state: &AppState, id: &str, resource: Self::Resource) -> Self::Resource {
        let _ = (state, id);
        resource
    }

    /// Returns the repository of this kind.
    fn repository(state: &AppState) -> Repository<Self>;
    /// Returns the scope of the reload after a change of this id.
    fn reload_scope(id: &str) -> ReloadScope;
    /// Returns the requirements of the activation of a version with this content.
    fn activation_requirements(state: &AppState, content: Option<&Self::Content>) -> Self::Requirements;

    /// Returns warnings about an activation that do not prevent it.
    fn activation_warnings(state: &AppState, requirements: &Self::Requirements) -> Vec<Issue> {
        let _ = (state, requirements);
        Vec::new()
    }

    /// Reads a create body.
    fn parse_new(state: &AppState, body: &Value) -> Result<(Option<String>, Self::Content), Vec<FieldError>>;
    /// Reads an update body against the stored draft.
    fn merge_update(state: &AppState, body: Value) -> Merge<Self::Content>;
    /// Lists likely mistakes in a stored document.
    fn content_warnings(state: &AppState, content: &Self::Content) -> Vec<Issue>;
    /// Lists the definitions that the activation of a stored document still lacks.
    async fn missing_definitions(state: &AppState, content: &Self::Content)
    -> Result<Vec<Issue>, StoreError>;
    /// Reports the result of a create.
    async fn validate(state: &AppState, body: &Value) -> Result<ValidationReport, StoreError>;

    /// Completes the report of a validation with facts about the body.
    fn to_report(report: ValidationReport, body: &Value) -> Self::Report;

    /// Lists what is questionable about the running form of this id.
    fn load_warnings(state: &AppState, id: &str) -> Vec<Issue> {
        let _ = (state, id);
        Vec::new()
    }
}
