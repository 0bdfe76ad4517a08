//! The table of deliveries: acceptance, claims, and the ends of attempts.
//!
//! A claim moves `due_at` to the end of its lease and counts `claim` up. No other node takes the row before, and the end of
//! an attempt under an earlier number changes nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{NaiveDateTime, TimeDelta};
use diesel::dsl::{exists, sql};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Text};
use diesel_async::RunQueryDsl;
use serde_json::json;
use svc_model::id::new_ordered_id;
use svc_model::{AuditAction, AuditResource};
use svc_secrets::EnvelopeKeys;

use super::model::{
    ClaimedWebhook, DueEndpoint, EndpointRoom, NewWebhookAttempt, RecordedAttempt, WebhookAttemptEnd,
    WebhookClaims, WebhookDeliveryState, WebhookEvent, WebhookOutcome, WebhookState,
};
use super::{endpoints, topic_rows};
use crate::bulk_statement::{Numbers, Texts};
use crate::clock::{self, FromNow, Now};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::mutation::{AuditEntry, AuditReceipt, record};
use crate::repo::traces::TraceWrite;
use crate::schema::{webhook_attempts, webhook_deliveries, webhook_endpoints};

/// Condition of the rows of the index of due deliveries, as its text.
const PENDING: &str = "webhook_deliveries.state = 'pending'";

/// Principal in the audit log of an endpoint that has echoed its challenge, or is disabled after failures.
const PRINCIPAL: &str = "webhooks";

/// A claim of due deliveries.
pub(super) struct WebhookClaimRequest {
    pub(super) holder: String,
    pub(super) endpoints: Vec<EndpointRoom>,
    pub(super) lease: Duration,
    pub(super) keys: Arc<EnvelopeKeys>,
}

/// The rows of an event on PostgreSQL, in one statement that has the body once.
const ACCEPT: &str = "INSERT INTO webhook_deliveries (id, endpoint_id, webhook_id, topic, payload) \
     SELECT given.id, given.endpoint_id, $3, $4, $5 FROM unnest($1, $2) AS given(id, endpoint_id) \
     ON CONFLICT DO NOTHING";

/// Accepts an event: one row for each endpoint that gets it, unless it has one already. Returns their number.
pub(super) async fn accept(conn: &mut Conn, event: &WebhookEvent) -> Result<usize, StoreError> {
    let endpoints = topic_rows::subscribers(conn, event).await?;
    let number = endpoints.len();
    if number == 0 {
        return Ok(0);
    }
    let new_id = || new_ordered_id().to_string();
    match conn {
        Conn::Sqlite(c) => {
            for endpoint in &endpoints {
                let row = (
                    webhook_deliveries::id.eq(new_id()),
                    webhook_deliveries::endpoint_id.eq(endpoint),
                    webhook_deliveries::webhook_id.eq(&event.webhook_id),
                    webhook_deliveries::topic.eq(&event.topic),
                    webhook_deliveries::payload.eq(&event.payload),
                );
                let insert =
                    diesel::insert_into(webhook_deliveries::table).values(row).on_conflict_do_nothing();
                insert.execute(c).await?;
            }
        }
        Conn::Postgres(c) => {
            let ids: Vec<String> = endpoints.iter().map(|_| new_id()).collect();
            let insert = diesel::sql_query(ACCEPT)
                .bind::<Texts, _>(ids)
                .bind::<Texts, _>(endpoints)
                .bind::<Text, _>(event.webhook_id.clone())
                .bind::<Text, _>(event.topic.clone())
                .bind::<Text, _>(event.payload.clone());
            insert.execute(&mut **c).await?;
        }
    }
    Ok(number)
}

/// Returns enabled endpoints with deliveries that are due.
pub(super) async fn due_endpoints(conn: &mut Conn, limit: i64) -> Result<Vec<DueEndpoint>, StoreError> {
    let now = clock::now(conn).await?;
    let due = webhook_deliveries::table
        .filter(webhook_deliveries::endpoint_id.eq(webhook_endpoints::id))
        .filter(sql::<Bool>(PENDING))
        .filter(webhook_deliveries::due_at.le(now));
    let rows = webhook_endpoints::table
        .filter(webhook_endpoints::state.eq(WebhookState::Enabled.name()))
        .filter(exists(due))
        .order(webhook_endpoints::id.asc())
        .limit(limit)
        .select((
            webhook_endpoints::id,
            webhook_endpoints::url,
            webhook_endpoints::failing_since.is_not_null(),
        ));
    let rows: Vec<(String, String, bool)> = on!(conn, c => rows.load(c).await)?;
    Ok(rows.into_iter().map(|(id, url, is_failing)| DueEndpoint { id, url, is_failing }).collect())
}

/// A due delivery, locked.
#[derive(Queryable, QueryableByName)]
struct DueDelivery {
    #[diesel(sql_type = Text)]
    id: String,
    #[diesel(sql_type = Text)]
    endpoint_id: String,
    #[diesel(sql_type = Text)]
    webhook_id: String,
    #[diesel(sql_type = Text)]
    topic: String,
    #[diesel(sql_type = Text)]
    payload: String,
    #[diesel(sql_type = BigInt)]
    attempts: i64,
    #[diesel(sql_type = BigInt)]
    claim: i64,
}

/// Claims due deliveries of endpoints, the oldest of each first. An endpoint whose secrets cannot be read is left out.
pub(super) async fn claim(
    conn: &mut Conn,
    request: &WebhookClaimRequest,
) -> Result<WebhookClaims, StoreError> {
    let now = clock::now(conn).await?;
    let ids: Vec<String> = request.endpoints.iter().map(|room| room.endpoint_id.clone()).collect();
    let (mut targets, mut unreadable) = (HashMap::new(), Vec::new());
    for target in endpoints::targets(conn, &ids, Some(WebhookState::Enabled), &request.keys).await? {
        match target {
            Ok(target) => drop(targets.insert(target.endpoint_id.clone(), target)),
            Err(unread) => unreadable.push(unread),
        }
    }
    let mut rooms = request.endpoints.clone();
    rooms.retain(|room| targets.contains_key(&room.endpoint_id));
    let due = due_rows(conn, rooms, now).await?;
    let claimed: Vec<ClaimedWebhook> = due
        .into_iter()
        .filter_map(|row| {
            let target = targets.get(&row.endpoint_id)?.clone();
            let DueDelivery { id, webhook_id, topic, payload, attempts, claim, .. } = row;
            Some(ClaimedWebhook {
                id,
                claim: claim + 1,
                target,
                webhook_id,
                topic,
                payload,
                attempt: attempts + 1,
            })
        })
        .collect();
    let ids: Vec<&str> = claimed.iter().map(|delivery| delivery.id.as_str()).collect();
    if !ids.is_empty() {
        let lease = (
            webhook_deliveries::due_at.eq(FromNow::seconds(request.lease.as_secs_f64())),
            webhook_deliveries::claim.eq(webhook_deliveries::claim + 1_i64),
            webhook_deliveries::claimed_by.eq(request.holder.as_str()),
        );
        let rows = webhook_deliveries::table.filter(webhook_deliveries::id.eq_any(ids));
        on!(conn, c => diesel::update(rows).set(lease).execute(c).await)?;
    }
    Ok(WebhookClaims { claimed, unreadable })
}

/// The due deliveries of several endpoints on PostgreSQL, each read along the index of its endpoint.
const DUE: &str = "SELECT due.id, due.endpoint_id, due.webhook_id, due.topic, due.payload, due.attempts, due.claim \
     FROM unnest($1, $2) AS given(endpoint_id, room) CROSS JOIN LATERAL \
     (SELECT d.id, d.endpoint_id, d.webhook_id, d.topic, d.payload, d.attempts, d.claim FROM webhook_deliveries d \
     WHERE d.endpoint_id = given.endpoint_id AND d.state = 'pending' AND d.due_at <= $3 \
     ORDER BY d.due_at, d.id LIMIT given.room FOR UPDATE SKIP LOCKED) AS due";

/// Reads due deliveries of endpoints, the oldest of each first, and locks them. Those that another node is claiming are
/// skipped.
async fn due_rows(
    conn: &mut Conn,
    rooms: Vec<EndpointRoom>,
    now: NaiveDateTime,
) -> Result<Vec<DueDelivery>, StoreError> {
    match conn {
        // A file has a single writer, which this is.
        Conn::Sqlite(c) => {
            let mut rows = Vec::new();
            for room in &rooms {
                let due = webhook_deliveries::table
                    .filter(webhook_deliveries::endpoint_id.eq(&room.endpoint_id))
                    .filter(sql::<Bool>(PENDING))
                    .filter(webhook_deliveries::due_at.le(now))
                    .order((webhook_deliveries::due_at.asc(), webhook_deliveries::id.asc()))
                    .limit(room.room)
                    .select((
                        webhook_deliveries::id,
                        webhook_deliveries::endpoint_id,
                        webhook_deliveries::webhook_id,
                        webhook_deliveries::topic,
                        webhook_deliveries::payload,
                        webhook_deliveries::attempts,
                        webhook_deliveries::claim,
                    ));
                rows.extend(due.load::<DueDelivery>(c).await?);
            }
            Ok(rows)
        }
        Conn::Postgres(c) => {
            let (ids, room): (Vec<String>, Vec<i64>) =
                rooms.into_iter().map(|room| (room.endpoint_id, room.room)).unzip();
            let due = diesel::sql_query(DUE)
                .bind::<Texts, _>(ids)
                .bind::<Numbers, _>(room)
                .bind::<diesel::sql_types::Timestamp, _>(now);
            Ok(due.load::<DueDelivery>(&mut **c).await?)
        }
    }
}

/// Writes the end of an attempt, if its claim is still valid: the delivery, the attempt, the failures of the endpoint and,
/// after too many of them, the end of the endpoint.
pub(super) async fn record_end(
    conn: &mut Conn,
    end: &WebhookAttemptEnd,
) -> Result<RecordedAttempt, StoreError> {
    let now = clock::now(conn).await?;
    let state = match end.outcome {
        WebhookOutcome::Deferred(delay) => return defer(conn, end, delay).await,
        WebhookOutcome::Delivered => WebhookDeliveryState::Delivered,
        WebhookOutcome::Retry(_) => WebhookDeliveryState::Pending,
        WebhookOutcome::Exhausted | WebhookOutcome::Gone => WebhookDeliveryState::Failed,
    };
    if !write_end(conn, end, state).await? {
        return Ok(RecordedAttempt::Lost);
    }
    insert_attempt(conn, &end.attempt).await?;
    let endpoint = &end.attempt.endpoint_id;
    let failing_since = endpoints::note_attempt(conn, endpoint, state, now).await?;
    let Some(reason) = disable_reason(end, failing_since, now) else { return Ok(RecordedAttempt::Written) };
    if !endpoints::disable(conn, endpoint, &reason).await? {
        return Ok(RecordedAttempt::Written);
    }
    if let Some(report) = &end.report {
        TraceWrite::Insert(report.clone().into()).apply(conn).await?;
    }
    record(conn, audit_entry(AuditAction::Disable, endpoint, &reason), endpoint).await?;
    Ok(RecordedAttempt::Disabled)
}

/// Gives a claimed delivery back, without an attempt.
async fn defer(
    conn: &mut Conn,
    end: &WebhookAttemptEnd,
    delay: Duration,
) -> Result<RecordedAttempt, StoreError> {
    let own = webhook_deliveries::table
        .find(&end.delivery_id)
        .filter(webhook_deliveries::claim.eq(end.claim))
        .filter(webhook_deliveries::state.eq(WebhookDeliveryState::Pending.name()));
    let free = (
        webhook_deliveries::due_at.eq(FromNow::seconds(delay.as_secs_f64())),
        webhook_deliveries::claimed_by.eq(None::<&str>),
        webhook_deliveries::last_error.eq(end.attempt.error.as_deref()),
    );
    match on!(conn, c => diesel::update(own).set(free).execute(c).await)? {
        0 => Ok(RecordedAttempt::Lost),
        _ => Ok(RecordedAttempt::Written),
    }
}

/// Writes the state of a claimed delivery. Returns `false` if the claim is no longer valid.
async fn write_end(
    conn: &mut Conn,
    end: &WebhookAttemptEnd,
    state: WebhookDeliveryState,
) -> Result<bool, StoreError> {
    let own = webhook_deliveries::table
        .find(&end.delivery_id)
        .filter(webhook_deliveries::claim.eq(end.claim))
        .filter(webhook_deliveries::state.eq(WebhookDeliveryState::Pending.name()));
    let facts = (
        webhook_deliveries::state.eq(state.name()),
        webhook_deliveries::attempts.eq(end.attempt.attempt),
        webhook_deliveries::claimed_by.eq(None::<&str>),
        webhook_deliveries::last_status.eq(end.attempt.status),
        webhook_deliveries::last_error.eq(end.attempt.error.as_deref()),
    );
    let changed = match end.outcome {
        WebhookOutcome::Retry(after) => {
            let next = webhook_deliveries::due_at.eq(FromNow::seconds(after.as_secs_f64()));
            on!(conn, c => diesel::update(own).set((facts, next)).execute(c).await)?
        }
        _ => {
            // The lease ends with the attempt: a replay may begin another one at once.
            let ended = (webhook_deliveries::ended_at.eq(Now.nullable()), webhook_deliveries::due_at.eq(Now));
            on!(conn, c => diesel::update(own).set((facts, ended)).execute(c).await)?
        }
    };
    Ok(changed > 0)
}

/// Returns the reason for which an attempt disables its endpoint, if it does.
fn disable_reason(
    end: &WebhookAttemptEnd,
    failing_since: Option<NaiveDateTime>,
    now: NaiveDateTime,
) -> Option<String> {
    match end.outcome {
        WebhookOutcome::Delivered | WebhookOutcome::Deferred(_) => None,
        WebhookOutcome::Gone => Some("it answered 410 Gone".to_owned()),
        WebhookOutcome::Retry(_) | WebhookOutcome::Exhausted => {
            let limit = TimeDelta::from_std(end.disable_after).ok()?;
            let since = failing_since.filter(|since| now - *since >= limit)?;
            let last = end.attempt.error.as_deref().unwrap_or("no 2xx");
            Some(format!("every attempt since {}Z failed, the last one with: {last}", since.format("%FT%T")))
        }
    }
}

/// Makes the audit row of a change that the service makes by itself.
pub(super) fn audit_entry(action: AuditAction, endpoint: &str, reason: &str) -> AuditEntry {
    AuditEntry {
        principal: PRINCIPAL.to_owned(),
        action: action.name().to_owned(),
        resource_type: AuditResource::Webhook.name().to_owned(),
        resource_id: endpoint.to_owned(),
        details: Some(json!({"reason": reason})),
        receipt: AuditReceipt::default(),
    }
}

pub(super) async fn insert_attempt(conn: &mut Conn, attempt: &NewWebhookAttempt) -> Result<(), StoreError> {
    let row = (
        webhook_attempts::id.eq(new_ordered_id().to_string()),
        webhook_attempts::endpoint_id.eq(attempt.endpoint_id.as_str()),
        webhook_attempts::webhook_id.eq(attempt.webhook_id.as_str()),
        webhook_attempts::topic.eq(attempt.topic.as_str()),
        webhook_attempts::attempt.eq(attempt.attempt),
        webhook_attempts::status.eq(attempt.status),
        webhook_attempts::error.eq(attempt.error.as_deref()),
        webhook_attempts::duration_ms.eq(attempt.duration_ms),
    );
    on!(conn, c => diesel::insert_into(webhook_attempts::table).values(row).execute(c).await)?;
    Ok(())
}
