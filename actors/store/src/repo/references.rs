//! References between definitions, which prevent the deletion or the renaming of their targets.

use svc_model::{Channel, ChannelContent, EntityKind, ServiceError, Workflow, WorkflowContent};

use crate::conn::Conn;
use crate::error::StoreError;
use crate::repo::versioned::Versioned;

/// Extracts the references of a definition.
pub trait References: Send + Sync {
    /// Returns whether a task of the workflow refers to this connector or channel.
    fn workflow_names(&self, workflow: &WorkflowContent, kind: EntityKind, name: &str) -> bool;
    /// Returns whether the config of the channel refers to this connector or channel.
    fn channel_names(&self, channel: &ChannelContent, kind: EntityKind, name: &str) -> bool;
}

/// Definitions without references.
impl References for () {
    fn workflow_names(&self, _: &WorkflowContent, _: EntityKind, _: &str) -> bool {
        false
    }

    fn channel_names(&self, _: &ChannelContent, _: EntityKind, _: &str) -> bool {
        false
    }
}

/// Lists the active workflows that refer to a connector or a channel, as texts for a message.
pub(super) async fn workflows_naming(
    conn: &mut Conn,
    references: &dyn References,
    kind: EntityKind,
    names: &[String],
) -> Result<Vec<String>, StoreError> {
    let active = Workflow::active(conn, None).await?;
    let names_it = |workflow: &Workflow| {
        names.iter().any(|name| references.workflow_names(&workflow.content, kind, name))
    };
    let users =
        active.into_iter().filter(names_it).map(|workflow| format!("workflow '{}'", workflow.workflow_id));
    Ok(distinct(users))
}

/// Lists the active channels that refer to a connector or to another channel, as texts for a message.
pub(super) async fn channels_naming(
    conn: &mut Conn,
    references: &dyn References,
    kind: EntityKind,
    names: &[String],
) -> Result<Vec<String>, StoreError> {
    let active = Channel::active(conn, None).await?;
    let names_it = |channel: &Channel| {
        let others =
            names.iter().filter(|name| kind != EntityKind::Channel || **name != channel.content.name);
        others.into_iter().any(|name| references.channel_names(&channel.content, kind, name))
    };
    let users = active.into_iter().filter(names_it);
    Ok(distinct(users.map(|channel| format!("channel '{}'", channel.content.name))))
}

/// Sorts texts and removes duplicates.
pub(super) fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut texts: Vec<_> = texts.collect();
    texts.sort_unstable();
    texts.dedup();
    texts
}

/// Refuses the deletion of an entity that active definitions refer to. The message names them and the way to delete
/// it nevertheless.
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
