//! Consumers and their keys.
//!
//! A change is committed first; then this node loads all consumers, and the others as soon as they learn of the epoch. The
//! secret of a key is in the response to its creation alone: no log, no audit row and no later response has it.

mod bodies;
pub(super) mod issues;

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use svc_api::{ConsumerDetail, ConsumerKeyDetail, CreatedConsumerKey, PageEnvelope};
use svc_cluster::epoch::LocalChange;
use svc_model::{AuditAction, AuditResource, Consumer, ServiceError, consumer_quota_scope};

use crate::admin::mutation_request::{MutationRequest, dry_run_response};
use crate::admin::query::QueryParameters;
use crate::admin::response::{created_response, data_response, list_response};
use crate::http::{Error, JsonBody};
use crate::state::AppState;

type Answer = Result<HttpResponse, Error>;

/// The resource types in audit rows.
const CONSUMER: AuditResource = AuditResource::Consumer;
const KEY: AuditResource = AuditResource::ConsumerKey;

/// `GET /consumers`.
pub(super) async fn list(state: Data<AppState>, query: QueryParameters) -> Answer {
    let page = query.page()?;
    let (rows, total) = state.store.consumers().list(query.text("tag"), page).await?;
    let rows = rows.into_iter().map(ConsumerDetail::from);
    Ok(HttpResponse::Ok().json(PageEnvelope::new(rows, total, page)))
}

/// `POST /consumers`.
pub(super) async fn create(state: Data<AppState>, change: MutationRequest, body: JsonBody) -> Answer {
    let (name, content) = bodies::read_consumer(&body.0)?;
    let mutation = change.mutation(AuditAction::Create, CONSUMER, &name);
    let local = state.begin_change(&mutation);
    let outcome = state.store.consumers().create(&name, content, mutation).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    let consumer = outcome?;
    publish(&state, AuditAction::Create, CONSUMER, local).await;
    Ok(created_response(ConsumerDetail::from(consumer)))
}

/// `GET /consumers/{name}`: the consumer, with the use of its quota.
pub(super) async fn read(state: Data<AppState>, name: Path<String>) -> Answer {
    let consumer = find(&state, &name).await?;
    let used = match consumer.quota {
        Some(terms) => {
            let scope = consumer_quota_scope(&name);
            let usages = state.store.quota_counts().list(&scope, terms).await?;
            let unused: u64 = state.serving.quotas.count_unused(&scope).values().sum();
            Some(usages.iter().map(|usage| usage.used).sum::<u64>().saturating_sub(unused))
        }
        None => None,
    };
    Ok(data_response(ConsumerDetail { used, ..ConsumerDetail::from(consumer) }))
}

/// `PATCH /consumers/{name}`: changes the members that the body has.
pub(super) async fn update(
    state: Data<AppState>,
    change: MutationRequest,
    name: Path<String>,
    body: JsonBody,
) -> Answer {
    let patch = bodies::read_patch(&body.0)?;
    let mutation = change.mutation(AuditAction::Update, CONSUMER, &name);
    let local = state.begin_change(&mutation);
    let outcome = state.store.consumers().update(&name, patch, mutation).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    let consumer = outcome?;
    publish(&state, AuditAction::Update, CONSUMER, local).await;
    Ok(data_response(ConsumerDetail::from(consumer)))
}

/// `DELETE /consumers/{name}`: deletes it with its keys.
pub(super) async fn delete(state: Data<AppState>, change: MutationRequest, name: Path<String>) -> Answer {
    let mutation = change.mutation(AuditAction::Delete, CONSUMER, &name);
    let local = state.begin_change(&mutation);
    let outcome = state.store.consumers().delete(&name, mutation).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    outcome?;
    publish(&state, AuditAction::Delete, CONSUMER, local).await;
    Ok(HttpResponse::NoContent().finish())
}

/// `GET /consumers/{name}/keys`.
pub(super) async fn list_keys(state: Data<AppState>, name: Path<String>) -> Answer {
    let consumer = find(&state, &name).await?;
    Ok(list_response(consumer.keys.into_iter().map(ConsumerKeyDetail::from)))
}

/// `POST /consumers/{name}/keys`: the response alone has the secret.
pub(super) async fn create_key(
    state: Data<AppState>,
    change: MutationRequest,
    name: Path<String>,
    body: JsonBody,
) -> Answer {
    let new = bodies::read_key(&body.0)?;
    // The store adds the id of the key.
    let mutation = change.mutation(AuditAction::Create, KEY, "");
    let local = state.begin_change(&mutation);
    let outcome = state.store.consumers().create_key(&name, new, mutation).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    let (key, secret) = outcome?;
    publish(&state, AuditAction::Create, KEY, local).await;
    Ok(created_response(CreatedConsumerKey::new(key, secret.expose())))
}

/// `DELETE /consumers/{name}/keys/{id}`.
pub(super) async fn delete_key(
    state: Data<AppState>,
    change: MutationRequest,
    path: Path<(String, String)>,
) -> Answer {
    let (name, id) = path.into_inner();
    let mutation = change.mutation(AuditAction::Delete, KEY, &format!("{name}/{id}"));
    let local = state.begin_change(&mutation);
    let outcome = state.store.consumers().delete_key(&name, &id, mutation).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    outcome?;
    publish(&state, AuditAction::Delete, KEY, local).await;
    Ok(HttpResponse::NoContent().finish())
}

async fn find(state: &AppState, name: &str) -> Result<Consumer, ServiceError> {
    let consumer = state.store.consumers().get(name).await?;
    consumer.ok_or_else(|| ServiceError::not_found(format!("consumer '{name}' not found")))
}

/// Counts a committed change and loads it.
async fn publish(state: &AppState, action: AuditAction, resource: AuditResource, change: LocalChange) {
    state.metrics.record_audit_event(action, resource);
    state.load_consumers_after_change(change).await;
}
