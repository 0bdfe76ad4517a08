//! Lists of deliveries and attempts, their replay, their numbers and their end.

use chrono::NaiveDateTime;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use svc_model::{Page, Timestamp};

use super::endpoints;
use super::model::{
    NewWebhookAttempt, WebhookAttempt, WebhookCounts, WebhookDelivery, WebhookDeliveryState, WebhookReplay,
    WebhookState,
};
use crate::clock::Now;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::IDS_PER_QUERY;
use crate::schema::{webhook_attempts, webhook_deliveries};

/// The state of dead letters.
const FAILED: &[&str] = &[WebhookDeliveryState::Failed.name()];
/// The states of deliveries that have ended.
const ENDED: &[&str] = &[WebhookDeliveryState::Failed.name(), WebhookDeliveryState::Delivered.name()];

/// A delivery without its body.
#[derive(Queryable, Selectable)]
#[diesel(table_name = webhook_deliveries)]
struct StoredDelivery {
    id: String,
    webhook_id: String,
    topic: String,
    state: String,
    attempts: i64,
    due_at: NaiveDateTime,
    last_status: Option<i64>,
    last_error: Option<String>,
    created_at: NaiveDateTime,
    ended_at: Option<NaiveDateTime>,
}

impl From<StoredDelivery> for WebhookDelivery {
    fn from(row: StoredDelivery) -> Self {
        let next = row.ended_at.is_none().then(|| Timestamp::from_naive(row.due_at));
        Self {
            id: row.id,
            webhook_id: row.webhook_id,
            topic: row.topic,
            state: row.state,
            attempts: row.attempts,
            next_attempt_at: next,
            last_status: row.last_status,
            last_error: row.last_error,
            created_at: Timestamp::from_naive(row.created_at),
            ended_at: row.ended_at.map(Timestamp::from_naive),
        }
    }
}

/// An attempt.
#[derive(Queryable, Selectable)]
#[diesel(table_name = webhook_attempts)]
struct StoredAttempt {
    id: String,
    endpoint_id: String,
    webhook_id: String,
    topic: String,
    attempt: i64,
    status: Option<i64>,
    error: Option<String>,
    duration_ms: i64,
    created_at: NaiveDateTime,
}

impl From<StoredAttempt> for WebhookAttempt {
    fn from(row: StoredAttempt) -> Self {
        let attempt = NewWebhookAttempt {
            endpoint_id: row.endpoint_id,
            webhook_id: row.webhook_id,
            topic: row.topic,
            attempt: row.attempt,
            status: row.status,
            error: row.error,
            duration_ms: row.duration_ms,
        };
        Self { id: row.id, attempt, created_at: Timestamp::from_naive(row.created_at) }
    }
}

fn delivery_columns() -> <StoredDelivery as Selectable<diesel::sqlite::Sqlite>>::SelectExpression {
    <StoredDelivery as Selectable<diesel::sqlite::Sqlite>>::construct_selection()
}

fn attempt_columns() -> <StoredAttempt as Selectable<diesel::sqlite::Sqlite>>::SelectExpression {
    <StoredAttempt as Selectable<diesel::sqlite::Sqlite>>::construct_selection()
}

/// Returns a page of the deliveries of an endpoint, the newest first, and the number of all that match.
pub(super) async fn list_deliveries(
    conn: &mut Conn,
    endpoint: &str,
    state: Option<WebhookDeliveryState>,
    page: Page,
) -> Result<(Vec<WebhookDelivery>, i64), StoreError> {
    let rows: Vec<StoredDelivery> = on!(conn, c: Db => {
        let mut query = webhook_deliveries::table
            .filter(webhook_deliveries::endpoint_id.eq(endpoint))
            .select(delivery_columns())
            .into_boxed::<Db>();
        if let Some(state) = state {
            query = query.filter(webhook_deliveries::state.eq(state.name()));
        }
        query
            .order((webhook_deliveries::created_at.desc(), webhook_deliveries::id.desc()))
            .limit(page.limit)
            .offset(page.offset)
            .load(c)
            .await
    })?;
    let total: i64 = on!(conn, c: Db => {
        let mut query = webhook_deliveries::table
            .filter(webhook_deliveries::endpoint_id.eq(endpoint))
            .select(diesel::dsl::count_star())
            .into_boxed::<Db>();
        if let Some(state) = state {
            query = query.filter(webhook_deliveries::state.eq(state.name()));
        }
        query.get_result(c).await
    })?;
    Ok((rows.into_iter().map(Into::into).collect(), total))
}

/// Returns a page of the attempts at an endpoint, the newest first, and the number of all.
pub(super) async fn list_attempts(
    conn: &mut Conn,
    endpoint: &str,
    page: Page,
) -> Result<(Vec<WebhookAttempt>, i64), StoreError> {
    let rows = webhook_attempts::table
        .filter(webhook_attempts::endpoint_id.eq(endpoint))
        .select(attempt_columns())
        .order((webhook_attempts::created_at.desc(), webhook_attempts::id.desc()))
        .limit(page.limit)
        .offset(page.offset);
    let rows: Vec<StoredAttempt> = on!(conn, c => rows.load(c).await)?;
    let total = webhook_attempts::table.filter(webhook_attempts::endpoint_id.eq(endpoint)).count();
    let total: i64 = on!(conn, c => total.get_result(c).await)?;
    Ok((rows.into_iter().map(Into::into).collect(), total))
}

/// Makes the ended deliveries of an endpoint due again that were accepted since an instant, the oldest first and `limit`
/// at most: every one, or the dead letters alone. One whose attempt may still go on, because its endpoint was disabled
/// meanwhile, is due at the end of the lease of that attempt.
pub(super) async fn replay(
    conn: &mut Conn,
    endpoint: &str,
    since: NaiveDateTime,
    is_failed_only: bool,
    limit: usize,
) -> Result<WebhookReplay, StoreError> {
    let states = if is_failed_only { FAILED } else { ENDED };
    let ended = webhook_deliveries::table
        .filter(webhook_deliveries::endpoint_id.eq(endpoint))
        .filter(webhook_deliveries::state.eq_any(states))
        .filter(webhook_deliveries::created_at.ge(since))
        .order((webhook_deliveries::created_at.asc(), webhook_deliveries::id.asc()))
        .limit(i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1))
        .select((webhook_deliveries::id, webhook_deliveries::created_at));
    let mut rows: Vec<(String, NaiveDateTime)> = on!(conn, c => ended.load(c).await)?;
    let next_since = rows.get(limit).map(|(_, created_at)| Timestamp::from_naive(*created_at));
    rows.truncate(limit);
    for rows in rows.chunks(IDS_PER_QUERY) {
        let ids: Vec<&str> = rows.iter().map(|(id, _)| id.as_str()).collect();
        let free = webhook_deliveries::table
            .filter(webhook_deliveries::id.eq_any(ids.clone()))
            .filter(webhook_deliveries::due_at.lt(Now));
        let now = webhook_deliveries::due_at.eq(Now);
        on!(conn, c => diesel::update(free).set(now).execute(c).await)?;
        let pending = (
            webhook_deliveries::state.eq(WebhookDeliveryState::Pending.name()),
            webhook_deliveries::attempts.eq(0_i64),
            webhook_deliveries::claim.eq(webhook_deliveries::claim + 1_i64),
            webhook_deliveries::claimed_by.eq(None::<&str>),
            webhook_deliveries::ended_at.eq(None::<NaiveDateTime>),
        );
        let rows = webhook_deliveries::table.filter(webhook_deliveries::id.eq_any(ids));
        on!(conn, c => diesel::update(rows).set(pending).execute(c).await)?;
    }
    Ok(WebhookReplay { replayed: rows.len(), next_since })
}

/// Returns the numbers of endpoints and deliveries.
pub(super) async fn counts(conn: &mut Conn) -> Result<WebhookCounts, StoreError> {
    let mut counts = WebhookCounts::default();
    for (state, number) in endpoints::count_by_state(conn).await? {
        match WebhookState::parse(&state) {
            Some(WebhookState::Enabled) => counts.enabled = number,
            Some(WebhookState::Unverified) => counts.unverified = number,
            Some(WebhookState::Disabled) => counts.disabled = number,
            None => {}
        }
    }
    if counts == WebhookCounts::default() {
        return Ok(counts);
    }
    // The conditions are those of partial indexes, as their text.
    let open = webhook_deliveries::table.filter(sql::<Bool>("state = 'pending'")).count();
    counts.pending = on!(conn, c => open.get_result(c).await)?;
    let failed = webhook_deliveries::table.filter(sql::<Bool>("state = 'failed'")).count();
    counts.failed = on!(conn, c => failed.get_result(c).await)?;
    Ok(counts)
}

/// Deletes the deliveries and the attempts of an endpoint.
pub(super) async fn forget(conn: &mut Conn, endpoint: &str) -> Result<(), StoreError> {
    let deliveries = webhook_deliveries::table.filter(webhook_deliveries::endpoint_id.eq(endpoint));
    on!(conn, c => diesel::delete(deliveries).execute(c).await)?;
    let attempts = webhook_attempts::table.filter(webhook_attempts::endpoint_id.eq(endpoint));
    on!(conn, c => diesel::delete(attempts).execute(c).await)?;
    Ok(())
}

/// Deletes deliveries that ended before an instant and attempts that were made before it, `chunk` of each at most. Returns
/// the number of the larger.
pub(super) async fn delete_expired(
    conn: &mut Conn,
    before: NaiveDateTime,
    chunk: i64,
) -> Result<u64, StoreError> {
    let ended = webhook_deliveries::table
        .filter(webhook_deliveries::ended_at.lt(before))
        .order(webhook_deliveries::ended_at.asc())
        .limit(chunk)
        .select(webhook_deliveries::id);
    let ids: Vec<String> = on!(conn, c => ended.load(c).await)?;
    // One that was replayed in between stays.
    let rows = webhook_deliveries::table
        .filter(webhook_deliveries::id.eq_any(ids))
        .filter(webhook_deliveries::ended_at.lt(before));
    let deliveries = on!(conn, c => diesel::delete(rows).execute(c).await)?;
    let old = webhook_attempts::table
        .filter(webhook_attempts::created_at.lt(before))
        .order(webhook_attempts::created_at.asc())
        .limit(chunk)
        .select(webhook_attempts::id);
    let ids: Vec<String> = on!(conn, c => old.load(c).await)?;
    let rows = webhook_attempts::table.filter(webhook_attempts::id.eq_any(ids));
    let attempts = on!(conn, c => diesel::delete(rows).execute(c).await)?;
    Ok(u64::try_from(deliveries.max(attempts)).unwrap_or(u64::MAX))
}
