//! What the handlers of workflows and channels need to know of a kind beyond what the store does.

use serde_json::Value;
use svc_model::{FieldError, Issue};
use svc_registry::ReloadScope;
use svc_store::{Merge, Repository, StoreError, Versioned};

use crate::state::AppState;

/// A kind of entity that authors write and activate over HTTP.
pub(super) trait AdminEntity: Versioned {
    /// The document as answered.
    fn to_json(&self) -> Value;
    /// Where it is stored.
    fn repository(state: &AppState) -> Repository<Self>;
    /// What the registry has to look at when this id changes.
    fn reload_scope(id: &str) -> ReloadScope;
    /// Returns the definition that the activation of a version with this content depends on, where there is one.
    fn activation_gates(state: &AppState, content: Option<&Self::Content>) -> Self::Gates;

    /// What the activation does not depend on but its author should know.
    fn activation_warnings(state: &AppState, gates: &Self::Gates) -> Vec<Issue> {
        let _ = (state, gates);
        Vec::new()
    }

    /// Reads a create body.
    fn parse_new(state: &AppState, body: &Value) -> Result<(Option<String>, Self::Content), Vec<FieldError>>;
    /// Reads an update body against the stored draft.
    fn merge_update(state: &AppState, body: Value) -> Merge<Self::Content>;
    /// Lists likely mistakes in a stored document, and what its activation still lacks.
    async fn list_warnings(state: &AppState, content: &Self::Content) -> Result<Vec<Issue>, StoreError>;
    /// Says what create would, as `{valid, errors, warnings}` and what else the kind has to tell.
    async fn validate(state: &AppState, body: &Value) -> Result<Value, StoreError>;
}
