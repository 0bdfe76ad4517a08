//! Webhooks to customers: endpoints and their states, deliveries, attempts, test events and replays.
//!
//! Deliveries read the endpoints with each claim, so that a change serves on every node once it is committed, and raises
//! no epoch. The secret of an endpoint is in the responses to its registration and to a rotation alone.

mod address;
mod bodies;
mod details;

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use svc_api::PageEnvelope;
use svc_model::mask::restore_url;
use svc_model::{AuditAction, AuditResource, FieldError, ServiceError, nearest};
use svc_store::{Mutation, WebhookDeliveryState, WebhookEndpoint, WebhookFilter, WebhookState};

use crate::admin::mutation_request::{MutationRequest, dry_run_response};
use crate::admin::query::QueryParameters;
use crate::admin::response::{created_response, data_response};
use crate::http::{AdminCaller, Error, JsonBody, OptionalJsonBody};
use crate::state::AppState;

use address::{has_same_origin, require_public_address};
pub(crate) use bodies::read_replay;
pub(crate) use details::{to_attempt, to_own_detail, to_replay, to_test};
use details::{to_delivery, to_detail};

type Answer = Result<HttpResponse, Error>;

/// The resource type in audit rows.
const WEBHOOK: AuditResource = AuditResource::Webhook;

/// `GET /webhooks`, the oldest first.
pub(super) async fn list(state: Data<AppState>, query: QueryParameters) -> Answer {
    let page = query.page()?;
    let filter = WebhookFilter {
        consumer: query.text("consumer"),
        state: query.text("state").as_deref().and_then(WebhookState::parse),
    };
    let (rows, total) = state.store.webhooks().list(filter, page).await?;
    Ok(HttpResponse::Ok().json(PageEnvelope::new(rows.into_iter().map(to_detail), total, page)))
}

/// `POST /webhooks`: registers an endpoint and sends it a challenge. Only this response has the secret.
pub(super) async fn create(state: Data<AppState>, change: MutationRequest, body: JsonBody) -> Answer {
    let new = bodies::read_registration(&body.0)?;
    require_connector(&state, &new.connector)?;
    require_public_address(&state, &new.connector, &new.url).await?;
    require_consumer(&state, new.consumer.as_deref()).await?;
    let (secret, most) = (new.secret.clone(), state.config.webhooks.max_endpoints);
    let mutation = change.mutation(AuditAction::Create, WEBHOOK, "");
    let outcome = state.store.webhooks().create(new, most, mutation).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    let endpoint = outcome?;
    state.metrics.record_audit_event(AuditAction::Create, WEBHOOK);
    let mut detail = to_detail(challenge(&state, &endpoint.id).await?);
    detail.secret = Some(secret);
    Ok(created_response(detail))
}

/// `GET /webhooks/{id}`.
pub(super) async fn read(state: Data<AppState>, id: Path<String>) -> Answer {
    Ok(data_response(to_detail(find(&state, &id).await?)))
}

/// `PATCH /webhooks/{id}`: changes the members that the body has. Another address is challenged.
pub(super) async fn update(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
    body: JsonBody,
) -> Answer {
    let mut patch = bodies::read_change(&body.0)?;
    if let Some(connector) = &patch.connector {
        require_connector(&state, connector)?;
    }
    if let Some(url) = &mut patch.url {
        let stored = find(&state, &id).await?;
        // What a read masks may be sent back as it was read, to the host that it is for.
        if has_same_origin(url, &stored.url) {
            *url = restore_url(url, &stored.url);
        }
        bodies::refuse_mask(url)?;
        let connector = patch.connector.as_ref().unwrap_or(&stored.connector);
        require_public_address(&state, connector, url).await?;
    }
    require_consumer(&state, patch.consumer.as_ref().and_then(Option::as_deref)).await?;
    let (mutation, is_moved) = (change.mutation(AuditAction::Update, WEBHOOK, &id), patch.url.is_some());
    let outcome = state.store.webhooks().update(&id, patch, mutation).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    let mut endpoint = outcome?;
    state.metrics.record_audit_event(AuditAction::Update, WEBHOOK);
    if is_moved && endpoint.parsed_state() == Some(WebhookState::Unverified) {
        endpoint = challenge(&state, &id).await?;
    }
    Ok(data_response(to_detail(endpoint)))
}

/// `DELETE /webhooks/{id}`.
pub(super) async fn delete(state: Data<AppState>, change: MutationRequest, id: Path<String>) -> Answer {
    let mutation = change.mutation(AuditAction::Delete, WEBHOOK, &id);
    let outcome = state.store.webhooks().delete(&id, mutation).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    outcome?;
    state.metrics.record_audit_event(AuditAction::Delete, WEBHOOK);
    Ok(HttpResponse::NoContent().finish())
}

/// `POST /webhooks/{id}/enable`: after a challenge, unless the operator answers for the address.
pub(super) async fn enable(
    state: Data<AppState>,
    caller: AdminCaller,
    id: Path<String>,
    query: QueryParameters,
    body: OptionalJsonBody,
) -> Answer {
    query.refuse_dry_run()?;
    let verified_url = match bodies::read_enabling(&body.0)? {
        false => None,
        true => {
            let verified = state.work.webhooks.verify(&id).await?;
            if let Err(reason) = verified.outcome {
                let message = format!(
                    "webhook endpoint '{id}' is not verified: {reason}; send \"verify\": false to enable it all the same"
                );
                return Err(ServiceError::conflict(message).into());
            }
            Some(verified.url)
        }
    };
    let mutation = Mutation::new(caller.audit(AuditAction::Enable, WEBHOOK, &id));
    let endpoint = state.store.webhooks().enable(&id, verified_url, mutation).await?;
    state.metrics.record_audit_event(AuditAction::Enable, WEBHOOK);
    state.work.webhooks.wake();
    Ok(data_response(to_detail(endpoint)))
}

/// `POST /webhooks/{id}/rotate`: only this response has the new secret.
pub(super) async fn rotate(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
    body: OptionalJsonBody,
) -> Answer {
    let rotation = bodies::read_rotation(&body.0)?;
    let mutation = change.mutation(AuditAction::Rotate, WEBHOOK, &id);
    let secret = rotation.secret.clone();
    let outcome = state.store.webhooks().rotate(&id, rotation.secret, rotation.overlap, mutation).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    let mut detail = to_detail(outcome?);
    state.metrics.record_audit_event(AuditAction::Rotate, WEBHOOK);
    detail.secret = Some(secret);
    Ok(data_response(detail))
}

/// `POST /webhooks/{id}/test`: sends a test event and waits for the answer. The order is recorded before.
pub(super) async fn test(
    state: Data<AppState>,
    caller: AdminCaller,
    id: Path<String>,
    query: QueryParameters,
) -> Answer {
    query.refuse_dry_run()?;
    find(&state, &id).await?;
    state.store.audit().record(caller.audit(AuditAction::Test, WEBHOOK, &id)).await?;
    state.metrics.record_audit_event(AuditAction::Test, WEBHOOK);
    Ok(data_response(to_test(state.work.webhooks.send_test(&id).await?)))
}

/// `POST /webhooks/{id}/replay`: makes ended deliveries again.
pub(super) async fn replay(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
    body: JsonBody,
) -> Answer {
    let selection = read_replay(&body.0)?;
    let mutation = change.mutation(AuditAction::Replay, WEBHOOK, &id);
    let webhooks = state.store.webhooks();
    let outcome = webhooks.replay(&id, selection.since, selection.is_failed_only, mutation).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    let replay = outcome?;
    state.metrics.record_audit_event(AuditAction::Replay, WEBHOOK);
    state.work.webhooks.wake();
    Ok(data_response(to_replay(replay)))
}

/// `GET /webhooks/{id}/attempts`, the newest first.
pub(super) async fn list_attempts(state: Data<AppState>, id: Path<String>, query: QueryParameters) -> Answer {
    let page = query.page()?;
    find(&state, &id).await?;
    let (rows, total) = state.store.webhooks().attempts(&id, page).await?;
    Ok(HttpResponse::Ok().json(PageEnvelope::new(rows.into_iter().map(to_attempt), total, page)))
}

/// `GET /webhooks/{id}/deliveries`, the newest first.
pub(super) async fn list_deliveries(
    state: Data<AppState>,
    id: Path<String>,
    query: QueryParameters,
) -> Answer {
    let page = query.page()?;
    find(&state, &id).await?;
    let selected = query.text("state").as_deref().and_then(WebhookDeliveryState::parse);
    let (rows, total) = state.store.webhooks().deliveries(&id, selected, page).await?;
    Ok(HttpResponse::Ok().json(PageEnvelope::new(rows.into_iter().map(to_delivery), total, page)))
}

async fn find(state: &AppState, id: &str) -> Result<WebhookEndpoint, ServiceError> {
    let endpoint = state.store.webhooks().get(id).await?;
    endpoint.ok_or_else(|| WebhookEndpoint::absent(id))
}

/// Sends a challenge to an endpoint and notes the outcome. Returns the endpoint.
async fn challenge(state: &AppState, id: &str) -> Result<WebhookEndpoint, ServiceError> {
    let verified = state.work.webhooks.verify(id).await?;
    Ok(state.store.webhooks().note_challenge(id, verified.url, verified.outcome).await?)
}

/// Refuses a connector that does not exist.
fn require_connector(state: &AppState, name: &str) -> Result<(), ServiceError> {
    let statuses = state.serving.connectors.statuses();
    if statuses.iter().any(|status| *status.name == *name) {
        return Ok(());
    }
    let message = match nearest(name, statuses.iter().map(|status| &*status.name)) {
        Some(meant) => format!("there is no connector '{name}', did you mean '{meant}'?"),
        None => format!("there is no connector '{name}'; create an http connector with allow_urls first"),
    };
    Err(FieldError::invalid("body.connector", message).with_got(name).into())
}

/// Refuses a consumer that does not exist.
async fn require_consumer(state: &AppState, name: Option<&str>) -> Result<(), ServiceError> {
    let Some(name) = name else { return Ok(()) };
    match state.store.consumers().get(name).await? {
        Some(_) => Ok(()),
        None => {
            let message = format!("there is no consumer '{name}'; create it first");
            Err(FieldError::invalid("body.consumer", message).with_got(name).into())
        }
    }
}
