//! The active definitions that name a connector or a channel.

use svc_model::{Channel, EntityKind, Workflow};
use svc_secrets::EnvelopeKeys;

use crate::conn::Conn;
use crate::error::StoreError;
use crate::repo::definitions::queries;
use crate::repo::references::{References, distinct};

/// Lists the active definitions that refer to a connector or a channel by a name under which it serves, as texts for a
/// message.
pub(super) async fn definitions_naming(
    conn: &mut Conn,
    references: &dyn References,
    kind: EntityKind,
    id: &str,
    keys: &EnvelopeKeys,
) -> Result<Vec<String>, StoreError> {
    let names = queries::serving_names(conn, kind, id).await?;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut users = workflows_naming(conn, references, kind, &names, keys).await?;
    users.extend(channels_naming(conn, references, kind, &names, keys).await?);
    Ok(users)
}

/// Lists the active workflows that refer to a connector or a channel, as texts for a message.
async fn workflows_naming(
    conn: &mut Conn,
    references: &dyn References,
    kind: EntityKind,
    names: &[String],
    keys: &EnvelopeKeys,
) -> Result<Vec<String>, StoreError> {
    let active = queries::active::<Workflow>(conn, None, keys).await?;
    let names_it = |workflow: &Workflow| {
        names.iter().any(|name| references.workflow_names(&workflow.content, kind, name))
    };
    let users =
        active.into_iter().filter(names_it).map(|workflow| format!("workflow '{}'", workflow.workflow_id));
    Ok(distinct(users))
}

/// Lists the active workflows that call a function of a plugin, as texts for a message.
pub(super) async fn workflows_calling(
    conn: &mut Conn,
    references: &dyn References,
    plugin: &str,
    keys: &EnvelopeKeys,
) -> Result<Vec<String>, StoreError> {
    let active = queries::active::<Workflow>(conn, None, keys).await?;
    let callers = active.into_iter().filter(|workflow| references.workflow_calls(&workflow.content, plugin));
    Ok(distinct(callers.map(|workflow| format!("workflow '{}'", workflow.workflow_id))))
}

/// Lists the active channels that refer to a connector or to another channel, as texts for a message.
async fn channels_naming(
    conn: &mut Conn,
    references: &dyn References,
    kind: EntityKind,
    names: &[String],
    keys: &EnvelopeKeys,
) -> Result<Vec<String>, StoreError> {
    let active = queries::active::<Channel>(conn, None, keys).await?;
    let names_it = |channel: &Channel| {
        let others =
            names.iter().filter(|name| kind != EntityKind::Channel || **name != channel.content.name);
        others.into_iter().any(|name| references.channel_names(&channel.content, kind, name))
    };
    let users = active.into_iter().filter(names_it);
    Ok(distinct(users.map(|channel| format!("channel '{}'", channel.content.name))))
}
