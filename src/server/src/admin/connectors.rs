//! Connectors: create, read, list, update, delete, switch on and off.
//!
//! They have no versions: a change takes effect at once. What is answered hides every secret.

use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use serde_json::{Map, Value, json};
use svc_connectors::{LoadState, Scope};
use svc_model::config::connector::{ConnectorConfig, Place};
use svc_model::{
    Connector, ConnectorChecks, ConnectorContent, FieldError, Issue, Kind, PageOf, ServiceError, Status,
    Validation, parse_connector_update, parse_new_connector,
};
use svc_outbound::{check_host, check_target};
use svc_store::{ConnectorUser, Filter, Merge, Mutation};

use super::query::Query;
use super::status::target;
use super::{created, data, page};
use crate::http::{Caller, Error, JsonBody};
use crate::state::AppState;

type Answer = Result<HttpResponse, Error>;

/// What a connector is checked for beyond its document: an address that could never be dialled is refused.
pub(super) struct ConnectorRules;

impl ConnectorChecks for ConnectorRules {
    fn config(&self, config: &ConnectorConfig) -> Vec<FieldError> {
        let private = config.allows_private();
        let refused = config.places().into_iter().filter_map(|(field, place)| {
            let checked = match place {
                Place::Url(url) => check_target(url, private).map(drop),
                Place::Host(host) => check_host(host, private),
            };
            checked.err().map(|why| FieldError::invalid(field, why.to_string()))
        });
        refused.collect()
    }
}

fn mutation(caller: &Caller, action: &str, id: &str) -> Mutation {
    Mutation { audit: caller.audit(action, Kind::Connector.name(), id), epoch: true, dry_run: false }
}

/// Whether a task of a workflow names a connector.
fn user() -> ConnectorUser {
    Arc::new(|workflow, name| {
        svc_engine::dependencies(workflow).connectors.iter().any(|used| used.connector == name)
    })
}

pub(super) async fn list(state: Data<AppState>, query: Query) -> Answer {
    let asked = query.page()?;
    let filter = Filter {
        tag: query.text("tag"),
        sort_by: query.text("sort_by"),
        sort_order: query.text("sort_order"),
        ..Filter::default()
    };
    let (rows, total) = state.store.connectors().list(filter, asked).await?;
    Ok(page(PageOf::new(rows, total, asked).map(|row| shown(&state, &row))))
}

pub(super) async fn create(state: Data<AppState>, caller: Caller, body: JsonBody) -> Answer {
    let (id, content) = parse_new_connector(&body.0, &ConnectorRules)?;
    let connector = state.store.connectors().create(id, content, mutation(&caller, "create", "")).await?;
    changed(&state, "create", &connector.id).await;
    Ok(created(shown(&state, &connector)))
}

pub(super) async fn read(state: Data<AppState>, id: Path<String>) -> Answer {
    let connector = state.store.connectors().get(&id).await?.ok_or_else(|| absent(&id))?;
    Ok(data(shown(&state, &connector)))
}

pub(super) async fn update(
    state: Data<AppState>,
    caller: Caller,
    id: Path<String>,
    body: JsonBody,
) -> Answer {
    let merge: Merge<_> = Box::new(move |current| parse_connector_update(&body.0, current, &ConnectorRules));
    store(&state, "update", &id, merge, &caller).await
}

pub(super) async fn delete(state: Data<AppState>, caller: Caller, id: Path<String>) -> Answer {
    state.store.connectors().delete(&id, mutation(&caller, "delete", &id)).await?;
    changed(&state, "delete", &id).await;
    Ok(HttpResponse::NoContent().finish())
}

/// `PATCH /connectors/{id}/status`: `active` loads the connector, `archived` takes it out of use. Asked again, it stays.
pub(super) async fn status(
    state: Data<AppState>,
    caller: Caller,
    id: Path<String>,
    query: Query,
    body: JsonBody,
) -> Answer {
    let (target, _) = target(&body.0)?;
    if query.flag("dry_run")? {
        let known = state.store.connectors().get(&id).await?.is_some();
        let errors = if known { Vec::new() } else { vec![Issue::root(absent(&id).message())] };
        return Ok(data(Validation { errors, warnings: Vec::new() }.to_json()));
    }
    let enabled = target == Status::Active;
    let merge: Merge<_> =
        Box::new(move |current: &ConnectorContent| Ok(ConnectorContent { enabled, ..current.clone() }));
    store(&state, if enabled { "status_active" } else { "status_archived" }, &id, merge, &caller).await
}

async fn store(
    state: &AppState,
    action: &str,
    id: &str,
    merge: Merge<ConnectorContent>,
    caller: &Caller,
) -> Answer {
    let connectors = state.store.connectors();
    let connector = connectors.update(id, merge, user(), mutation(caller, action, id)).await?;
    changed(state, action, id).await;
    Ok(data(shown(state, &connector)))
}

/// Counts a committed change and puts it into effect.
async fn changed(state: &AppState, action: &str, id: &str) {
    state.metrics.audited(action, Kind::Connector.name());
    if let Err(error) = state.connectors.reload(Scope::One(id.to_owned())).await {
        slog::warn!(state.log, "a committed change of a connector is not in use"; "error" => %error);
    }
}

/// The document as answered.
fn shown(state: &AppState, connector: &Connector) -> Value {
    let mut document = connector.to_json();
    // One that another node has made is not looked at here before the next reload.
    if let Some(status) = state.connectors.status(&connector.id) {
        document["load_status"] = status.state.name().into();
        if let LoadState::Failed(error) = status.state {
            document["load_error"] = error.reason.into();
            document["load_error_stage"] = error.stage.name().into();
        }
    }
    document
}

/// `GET /connectors/circuit-breakers`.
pub(super) async fn breakers(state: Data<AppState>) -> HttpResponse {
    let list = state.connectors.breakers();
    let breakers: Map<String, Value> =
        list.iter().flatten().map(|(key, breaker)| (key.clone(), breaker.name().into())).collect();
    data(json!({
        "enabled": list.is_some(),
        "scope": "node",
        "instance_id": state.config.cluster.instance_id,
        "breakers": breakers,
    }))
}

/// `POST /connectors/circuit-breakers/{key}`: closes a breaker.
pub(super) async fn reset_breaker(state: Data<AppState>, caller: Caller, key: Path<String>) -> Answer {
    let known = state.connectors.breakers().into_iter().flatten().any(|(known, _)| known == *key);
    if !known {
        return Err(ServiceError::not_found(format!("circuit breaker '{key}' does not exist")).into());
    }
    // Recorded before it happens, so that nothing happens unrecorded.
    state.store.audit().record(caller.audit("reset", "circuit_breaker", &key)).await?;
    state.metrics.audited("reset", "circuit_breaker");
    let found = state.connectors.reset_breaker(&key);
    Ok(data(json!({"reset": true, "key": key.as_str(), "found_on_this_node": found})))
}

fn absent(id: &str) -> ServiceError {
    ServiceError::not_found(format!("connector '{id}' does not exist"))
}
