//! References between definitions, which prevent the deletion or the renaming of their targets.

use svc_model::{ChannelContent, EntityKind, ServiceError, WorkflowContent};

use crate::error::StoreError;

/// Extracts the references of a definition.
pub trait References: Send + Sync {
    /// Returns whether a task of the workflow refers to this connector or channel.
    fn workflow_names(&self, workflow: &WorkflowContent, kind: EntityKind, name: &str) -> bool;
    /// Returns whether the config of the channel refers to this connector or channel.
    fn channel_names(&self, channel: &ChannelContent, kind: EntityKind, name: &str) -> bool;
    /// Returns whether a task of the workflow calls a function of this plugin.
    fn workflow_calls(&self, workflow: &WorkflowContent, plugin: &str) -> bool;
}

/// Definitions without references.
impl References for () {
    fn workflow_names(&self, _: &WorkflowContent, _: EntityKind, _: &str) -> bool {
        false
    }

    fn channel_names(&self, _: &ChannelContent, _: EntityKind, _: &str) -> bool {
        false
    }

    fn workflow_calls(&self, _: &WorkflowContent, _: &str) -> bool {
        false
    }
}

/// Sorts texts and removes duplicates.
pub(super) fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut texts: Vec<_> = texts.collect();
    texts.sort_unstable();
    texts.dedup();
    texts
}

/// Refuses the deletion of an entity that active definitions refer to. The message names them and the way to
/// delete it nevertheless.
pub(super) fn refuse_deletion(kind: EntityKind, id: &str, users: &[String]) -> Result<(), StoreError> {
    if users.is_empty() {
        return Ok(());
    }
    let users = users.join(", ");
    let message = format!(
        "{kind} '{id}' is in use by {users}; archive or change them first, or delete it with ?force=true"
    );
    Err(ServiceError::conflict(message).into())
}
