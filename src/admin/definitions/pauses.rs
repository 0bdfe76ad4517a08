//! Pauses of channels: of one by its id, or of those that a tag or a connector selects.
//!
//! A pause is a state of the served channel and no part of its definition. A change is committed first; then this node
//! loads it, and the others as soon as they learn of the epoch.

use std::collections::{HashMap, HashSet};

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use serde_json::{Map, Value, json};
use svc_api::{ChannelPauseStatus, PauseDetail};
use svc_cluster::epoch::LocalChange;
use svc_model::{AuditAction, Channel, ChannelContent, EntityKind, FieldError, ServiceError, unknown_keys};
use svc_registry::ReloadScope;
use svc_store::{Mutation, NewPause, StoreError};

use super::entities::read_latest;
use super::references::references;
use crate::admin::mutation_request::{MutationRequest, dry_run_response};
use crate::admin::request_body::{read_instant, require_known_keys};
use crate::admin::response::list_response;
use crate::http::{Error, JsonBody, OptionalJsonBody};
use crate::state::AppState;

type Answer = Result<HttpResponse, Error>;

/// Longest reason, in characters.
const MAX_REASON: usize = 1000;

/// `POST /channels/{id}/pause`: pauses a channel, or replaces reason and end of its pause.
pub(crate) async fn pause(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
    body: JsonBody,
) -> Answer {
    let members = require_known_keys(&body.0, &["reason", "until"])?;
    let pause = read_pause(members, &change)?;
    let mutation = change.mutation(AuditAction::Pause, EntityKind::Channel, &id);
    let local = state.begin_change(&mutation);
    let outcome = state.store.channel_pauses().pause(&[String::clone(&id)], pause, mutation).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    outcome?;
    publish(&state, AuditAction::Pause, local).await;
    show(&state, &id).await
}

/// `POST /channels/{id}/resume`: resumes a channel. One that is not paused stays as it is.
pub(crate) async fn resume(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
    body: OptionalJsonBody,
) -> Answer {
    let members = require_known_keys(&body.0, &["reason"])?;
    let mutation = change.mutation(AuditAction::Resume, EntityKind::Channel, &id);
    let mutation = with_reason(mutation, read_reason(members)?);
    let local = state.begin_change(&mutation);
    let outcome = state.store.channel_pauses().resume(&[String::clone(&id)], mutation).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    if !outcome?.is_empty() {
        publish(&state, AuditAction::Resume, local).await;
    }
    show(&state, &id).await
}

/// `POST /channels/pause`: pauses the active channels that the filter selects, with one audit row.
pub(crate) async fn pause_selected(state: Data<AppState>, change: MutationRequest, body: JsonBody) -> Answer {
    let members = require_known_keys(&body.0, &["filter", "reason", "until"])?;
    let (selection, pause) = (ChannelSelection::read(members)?, read_pause(members, &change)?);
    let (ids, names) = selection.select(&state).await?;
    let mutation = change.mutation(AuditAction::Pause, EntityKind::Channel, &selection.describe());
    let local = state.begin_change(&mutation);
    let outcome = state.store.channel_pauses().pause(&ids, pause, mutation).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    let paused = outcome?;
    if !paused.is_empty() {
        publish(&state, AuditAction::Pause, local).await;
    }
    Ok(list_response(paused.into_iter().map(|(id, pause)| ChannelPauseStatus {
        channel: names.get(&id).cloned().unwrap_or_default(),
        channel_id: id,
        paused: Some(PauseDetail::from(pause)),
    })))
}

/// `POST /channels/resume`: resumes the paused ones of the active channels that the filter selects, with one audit row.
pub(crate) async fn resume_selected(
    state: Data<AppState>,
    change: MutationRequest,
    body: JsonBody,
) -> Answer {
    let members = require_known_keys(&body.0, &["filter", "reason"])?;
    let (selection, reason) = (ChannelSelection::read(members)?, read_reason(members)?);
    let (ids, names) = selection.select(&state).await?;
    let mutation = change.mutation(AuditAction::Resume, EntityKind::Channel, &selection.describe());
    let mutation = with_reason(mutation, reason);
    let local = state.begin_change(&mutation);
    let outcome = state.store.channel_pauses().resume(&ids, mutation).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    let resumed = outcome?;
    if !resumed.is_empty() {
        publish(&state, AuditAction::Resume, local).await;
    }
    Ok(list_response(resumed.into_iter().map(|id| ChannelPauseStatus {
        channel: names.get(&id).cloned().unwrap_or_default(),
        channel_id: id,
        paused: None,
    })))
}

/// Answers with the channel as it is now.
async fn show(state: &AppState, id: &str) -> Answer {
    let (_, envelope) = read_latest::<Channel>(state, id).await?;
    Ok(HttpResponse::Ok().json(envelope))
}

/// Counts a committed change and loads it.
async fn publish(state: &AppState, action: AuditAction, change: LocalChange) {
    state.metrics.record_audit_event(action, EntityKind::Channel);
    state.reload_after_change(ReloadScope::pauses(), change).await;
}

fn read_pause(members: &Map<String, Value>, change: &MutationRequest) -> Result<NewPause, ServiceError> {
    let reason = read_reason(members)?.ok_or_else(|| FieldError::required("body.reason"))?;
    // The store compares the end with the clock of the database.
    let until = read_instant(members, "until")?;
    Ok(NewPause { until, by: change.caller.principal.name().to_owned(), reason })
}

/// Reads the reason, if there is one.
fn read_reason(members: &Map<String, Value>) -> Result<Option<String>, ServiceError> {
    let Some(reason) = read_text(members, "body", "reason")? else { return Ok(None) };
    let length = reason.chars().count();
    if length > MAX_REASON {
        return Err(FieldError::too_long("body.reason", MAX_REASON, length, "characters").into());
    }
    Ok(Some(reason.to_owned()))
}

/// Reads a text that is not blank; `null` counts as absent.
fn read_text<'m>(
    members: &'m Map<String, Value>,
    path: &str,
    key: &str,
) -> Result<Option<&'m str>, ServiceError> {
    match members.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => {
            Err(FieldError::invalid(format!("{path}.{key}"), "it is empty").into())
        }
        // PostgreSQL stores no such text.
        Some(Value::String(text)) if text.contains('\0') => {
            let message = "text cannot hold the character U+0000";
            Err(FieldError::invalid(format!("{path}.{key}"), message).into())
        }
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(FieldError::type_mismatch(format!("{path}.{key}"), "string", other).into()),
    }
}

/// Adds the reason of a request to the audit row.
fn with_reason(mut mutation: Mutation, reason: Option<String>) -> Mutation {
    if let Some(reason) = reason {
        mutation.audit.add_details(json!({ "reason": reason }));
    }
    mutation
}

/// The active channels with a tag, or those that use a connector; with both only those that do both.
struct ChannelSelection {
    tag: Option<String>,
    connector: Option<String>,
}

/// The ids of channels, and their names by id.
type SelectedChannels = (Vec<String>, HashMap<String, String>);

impl ChannelSelection {
    fn read(members: &Map<String, Value>) -> Result<Self, ServiceError> {
        let filter = match members.get("filter") {
            Some(Value::Object(filter)) => filter,
            None | Some(Value::Null) => return Err(FieldError::required("body.filter").into()),
            Some(other) => return Err(FieldError::type_mismatch("body.filter", "object", other).into()),
        };
        let unknown = unknown_keys(filter, "body.filter", &["tag", "connector"], &[]);
        if !unknown.is_empty() {
            return Err(unknown.into());
        }
        let read = |key| Ok::<_, ServiceError>(read_text(filter, "body.filter", key)?.map(str::to_owned));
        let selection = Self { tag: read("tag")?, connector: read("connector")? };
        if selection.tag.is_none() && selection.connector.is_none() {
            return Err(FieldError::invalid("body.filter", "name a tag or a connector").into());
        }
        Ok(selection)
    }

    /// Returns the filter as text, for the resource of the audit row.
    fn describe(&self) -> String {
        let words = [("tag", &self.tag), ("connector", &self.connector)];
        let words = words.iter().filter_map(|(key, value)| Some(format!("{key}={}", value.as_deref()?)));
        words.collect::<Vec<_>>().join(",")
    }

    /// Finds the channels, whether or not this node serves them.
    async fn select(&self, state: &AppState) -> Result<SelectedChannels, StoreError> {
        let references = references(&state.serving.engine);
        let mut users = HashSet::new();
        if let Some(connector) = &self.connector {
            let workflows = state.store.workflows().active().await?;
            let uses = workflows.into_iter().filter(|workflow| {
                references.workflow_names(&workflow.content, EntityKind::Connector, connector)
            });
            users.extend(uses.map(|workflow| workflow.workflow_id));
        }
        let uses_connector = |content: &ChannelContent| {
            self.connector.as_ref().is_none_or(|connector| {
                content.workflow_id.as_ref().is_some_and(|id| users.contains(id))
                    || references.channel_names(content, EntityKind::Connector, connector)
            })
        };
        let has_tag = |content: &ChannelContent| {
            self.tag.as_ref().is_none_or(|tag| content.tags.iter().any(|known| known == tag))
        };
        let channels = state.store.channels().active().await?.into_iter();
        let selected =
            channels.filter(|channel| has_tag(&channel.content) && uses_connector(&channel.content));
        let selected: Vec<_> = selected.map(|channel| (channel.channel_id, channel.content.name)).collect();
        Ok((selected.iter().map(|(id, _)| id.clone()).collect(), selected.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(body: &Value) -> &Map<String, Value> {
        body.as_object().unwrap()
    }

    #[test]
    fn filter_names_tag_or_connector_and_nothing_else() {
        for (filter, expected) in [
            (json!({"tag": "billing"}), "tag=billing"),
            (json!({"connector": "bank"}), "connector=bank"),
            (json!({"tag": "a", "connector": "b"}), "tag=a,connector=b"),
        ] {
            let body = json!({"filter": filter});
            assert_eq!(ChannelSelection::read(members(&body)).map(|s| s.describe()).unwrap(), expected);
        }
        for filter in [json!({}), json!(null), json!("billing"), json!({"tag": ""}), json!({"tag": 1})] {
            let body = json!({"filter": filter});
            let refused = ChannelSelection::read(members(&body)).map(|s| s.describe()).unwrap_err();
            assert_eq!(refused.status(), 400, "{body}");
        }
        let body = json!({"filter": {"conector": "bank"}});
        let refused = ChannelSelection::read(members(&body)).map(|s| s.describe()).unwrap_err();
        assert!(refused.message().contains("connector"), "{}", refused.message());
    }
}
