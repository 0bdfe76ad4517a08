//! The tables of endpoints and their topics.

use std::collections::HashMap;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::{Page, Timestamp};
use svc_secrets::{EnvelopeKeys, EnvelopePlace};

use super::model::{
    NewWebhookEndpoint, UnreadableEndpoint, WebhookDeliveryState, WebhookEndpoint, WebhookFilter,
    WebhookSecret, WebhookState, WebhookTarget,
};
use super::{pending, topic_rows};
use crate::clock::{self, Now};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::{IDS_PER_QUERY, seal};
use crate::schema::{webhook_endpoints, webhook_topics};

/// A row without its secrets.
#[derive(Queryable, Selectable)]
#[diesel(table_name = webhook_endpoints)]
struct StoredEndpoint {
    id: String,
    url: String,
    consumer: Option<String>,
    connector: String,
    state: String,
    reason: Option<String>,
    failing_since: Option<NaiveDateTime>,
    verified_at: Option<NaiveDateTime>,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
}

impl StoredEndpoint {
    fn with_topics(self, topics: Vec<String>) -> WebhookEndpoint {
        WebhookEndpoint {
            id: self.id,
            url: self.url,
            consumer: self.consumer,
            topics,
            connector: self.connector,
            state: self.state,
            reason: self.reason,
            failing_since: self.failing_since.map(Timestamp::from_naive),
            verified_at: self.verified_at.map(Timestamp::from_naive),
            created_at: Timestamp::from_naive(self.created_at),
            updated_at: Timestamp::from_naive(self.updated_at),
        }
    }
}

fn columns() -> <StoredEndpoint as Selectable<diesel::sqlite::Sqlite>>::SelectExpression {
    <StoredEndpoint as Selectable<diesel::sqlite::Sqlite>>::construct_selection()
}

/// Restricts a boxed query to the endpoints of a filter.
macro_rules! filtered {
    ($query:expr, $filter:expr) => {{
        let mut query = $query;
        if let Some(consumer) = &$filter.consumer {
            query = query.filter(webhook_endpoints::consumer.eq(consumer));
        }
        if let Some(state) = $filter.state {
            query = query.filter(webhook_endpoints::state.eq(state.name()));
        }
        query
    }};
}

/// Returns the place to which the secrets of an endpoint are bound.
pub(crate) const fn webhook_secret_place(id: &str) -> EnvelopePlace<'_> {
    EnvelopePlace { table: "webhook_endpoints", row: id, column: "secrets_json" }
}

pub(super) async fn find(conn: &mut Conn, id: &str) -> Result<Option<WebhookEndpoint>, StoreError> {
    let row = webhook_endpoints::table.find(id).select(columns());
    let row: Option<StoredEndpoint> = on!(conn, c => row.first(c).await.optional())?;
    Ok(add_topics(conn, row.into_iter().collect()).await?.pop())
}

/// Reads an endpoint and locks it.
pub(super) async fn lock(conn: &mut Conn, id: &str) -> Result<Option<WebhookEndpoint>, StoreError> {
    let Conn::Postgres(c) = conn else { return find(conn, id).await };
    let row = webhook_endpoints::table.find(id).select(columns()).for_update();
    let row: Option<StoredEndpoint> = row.first(&mut **c).await.optional()?;
    Ok(add_topics(conn, row.into_iter().collect()).await?.pop())
}

/// Returns a page of the endpoints, the oldest first, and the number of all that match.
pub(super) async fn list(
    conn: &mut Conn,
    filter: &WebhookFilter,
    page: Page,
) -> Result<(Vec<WebhookEndpoint>, i64), StoreError> {
    let rows: Vec<StoredEndpoint> = on!(conn, c: Db => {
        let query = webhook_endpoints::table.select(columns()).into_boxed::<Db>();
        let query = filtered!(query, filter);
        query
            .order((webhook_endpoints::created_at.asc(), webhook_endpoints::id.asc()))
            .limit(page.limit)
            .offset(page.offset)
            .load(c)
            .await
    })?;
    let total: i64 = on!(conn, c: Db => {
        let query = webhook_endpoints::table.select(diesel::dsl::count_star()).into_boxed::<Db>();
        filtered!(query, filter).get_result(c).await
    })?;
    Ok((add_topics(conn, rows).await?, total))
}

/// Returns the number of endpoints.
pub(super) async fn count(conn: &mut Conn) -> Result<i64, StoreError> {
    Ok(on!(conn, c => webhook_endpoints::table.count().get_result(c).await)?)
}

/// Returns the numbers of endpoints by their states.
pub(super) async fn count_by_state(conn: &mut Conn) -> Result<Vec<(String, i64)>, StoreError> {
    let counted = webhook_endpoints::table
        .group_by(webhook_endpoints::state)
        .select((webhook_endpoints::state, diesel::dsl::count_star()));
    Ok(on!(conn, c => counted.load(c).await)?)
}

async fn add_topics(conn: &mut Conn, rows: Vec<StoredEndpoint>) -> Result<Vec<WebhookEndpoint>, StoreError> {
    let ids: Vec<String> = rows.iter().map(|row| row.id.clone()).collect();
    let mut topics: HashMap<String, Vec<String>> = HashMap::new();
    for ids in ids.chunks(IDS_PER_QUERY) {
        let of_ids = webhook_topics::table
            .filter(webhook_topics::endpoint_id.eq_any(ids))
            .order(webhook_topics::topic.asc())
            .select((webhook_topics::endpoint_id, webhook_topics::topic));
        let of_ids: Vec<(String, String)> = on!(conn, c => of_ids.load(c).await)?;
        for (id, topic) in of_ids {
            topics.entry(id).or_default().push(topic);
        }
    }
    let with_topics = |row: StoredEndpoint| {
        let own = topics.remove(&row.id).unwrap_or_default();
        row.with_topics(own)
    };
    Ok(rows.into_iter().map(with_topics).collect())
}

pub(super) async fn insert(
    conn: &mut Conn,
    id: &str,
    endpoint: &NewWebhookEndpoint,
    keys: &EnvelopeKeys,
) -> Result<(), StoreError> {
    let secrets = [WebhookSecret { secret: endpoint.secret.clone(), until_ms: None }];
    let row = (
        webhook_endpoints::id.eq(id),
        webhook_endpoints::url.eq(endpoint.url.as_str()),
        webhook_endpoints::consumer.eq(endpoint.consumer.as_deref()),
        webhook_endpoints::connector.eq(endpoint.connector.as_str()),
        webhook_endpoints::secrets_json.eq(seal_secrets(id, &secrets, keys)?),
    );
    on!(conn, c => diesel::insert_into(webhook_endpoints::table).values(row).execute(c).await)?;
    topic_rows::replace(conn, id, &endpoint.topics).await
}

/// Writes the members of a locked endpoint that a change may have.
pub(super) async fn save(conn: &mut Conn, endpoint: &WebhookEndpoint) -> Result<(), StoreError> {
    let members = (
        webhook_endpoints::url.eq(endpoint.url.as_str()),
        webhook_endpoints::consumer.eq(endpoint.consumer.as_deref()),
        webhook_endpoints::connector.eq(endpoint.connector.as_str()),
        webhook_endpoints::state.eq(endpoint.state.as_str()),
        webhook_endpoints::reason.eq(endpoint.reason.as_deref()),
        webhook_endpoints::failing_since.eq(endpoint.failing_since.map(Timestamp::naive)),
        webhook_endpoints::verified_at.eq(endpoint.verified_at.map(Timestamp::naive)),
        webhook_endpoints::updated_at.eq(Now),
    );
    let row = webhook_endpoints::table.find(&endpoint.id);
    on!(conn, c => diesel::update(row).set(members).execute(c).await)?;
    Ok(())
}

/// Deletes an endpoint and its topics. What it was to get ends; retention deletes it. Returns `false` if there is none.
pub(super) async fn delete(conn: &mut Conn, id: &str) -> Result<bool, StoreError> {
    topic_rows::replace(conn, id, &[]).await?;
    let row = webhook_endpoints::table.find(id);
    let is_deleted = on!(conn, c => diesel::delete(row).execute(c).await)? > 0;
    if is_deleted {
        pending::end_pending(conn, id, "the endpoint was deleted").await?;
    }
    Ok(is_deleted)
}

/// Adds a secret that signs from now on. The current one signs as well for `overlap_ms`; older ones end.
pub(super) async fn rotate(
    conn: &mut Conn,
    id: &str,
    secret: &str,
    overlap_ms: i64,
    keys: &EnvelopeKeys,
) -> Result<(), StoreError> {
    let until_ms = clock::now(conn).await?.and_utc().timestamp_millis().saturating_add(overlap_ms);
    let sealed = webhook_endpoints::table.find(id).select(webhook_endpoints::secrets_json);
    let sealed: String = on!(conn, c => sealed.first(c).await)?;
    let mut secrets = vec![WebhookSecret { secret: secret.to_owned(), until_ms: None }];
    // Without an overlap secrets that cannot be read any more are replaced as well.
    if overlap_ms > 0 {
        let known = open_secrets(id, &sealed, keys).map_err(|problem| {
            let endpoint_id = id.to_owned();
            StoreError::Database(UnreadableEndpoint { endpoint_id, problem }.to_string())
        })?;
        let current = known.into_iter().find(|old| old.until_ms.is_none());
        secrets.extend(current.map(|old| WebhookSecret { until_ms: Some(until_ms), ..old }));
    }
    let change = (
        webhook_endpoints::secrets_json.eq(seal_secrets(id, &secrets, keys)?),
        webhook_endpoints::updated_at.eq(Now),
    );
    let row = webhook_endpoints::table.find(id);
    on!(conn, c => diesel::update(row).set(change).execute(c).await)?;
    Ok(())
}

/// Returns what messages to an endpoint need, whatever its state.
pub(super) async fn target(
    conn: &mut Conn,
    id: &str,
    keys: &EnvelopeKeys,
) -> Result<Option<WebhookTarget>, StoreError> {
    let ids = [id.to_owned()];
    let target = targets(conn, &ids, None, keys).await?.pop();
    target.transpose().map_err(|unread| StoreError::Database(unread.to_string()))
}

/// Returns what messages to endpoints need, of those in a state. Secrets that cannot be read are the problem of their
/// endpoint alone.
pub(super) async fn targets(
    conn: &mut Conn,
    ids: &[String],
    state: Option<WebhookState>,
    keys: &EnvelopeKeys,
) -> Result<Vec<Result<WebhookTarget, UnreadableEndpoint>>, StoreError> {
    let now_ms = clock::now(conn).await?.and_utc().timestamp_millis();
    let mut targets = Vec::with_capacity(ids.len());
    for ids in ids.chunks(IDS_PER_QUERY) {
        let rows: Vec<(String, String, String, String)> = on!(conn, c: Db => {
            let mut query = webhook_endpoints::table
                .filter(webhook_endpoints::id.eq_any(ids))
                .select((
                    webhook_endpoints::id,
                    webhook_endpoints::url,
                    webhook_endpoints::connector,
                    webhook_endpoints::secrets_json,
                ))
                .into_boxed::<Db>();
            if let Some(state) = state {
                query = query.filter(webhook_endpoints::state.eq(state.name()));
            }
            query.load(c).await
        })?;
        for (endpoint_id, url, connector, sealed) in rows {
            targets.push(match open_secrets(&endpoint_id, &sealed, keys) {
                Ok(mut secrets) => {
                    secrets.retain(|secret| secret.until_ms.is_none_or(|until| until > now_ms));
                    Ok(WebhookTarget { endpoint_id, url, connector, secrets })
                }
                Err(problem) => Err(UnreadableEndpoint { endpoint_id, problem }),
            });
        }
    }
    Ok(targets)
}

/// Disables an endpoint that is enabled, and ends what it was to get. Returns `true` if it was.
pub(super) async fn disable(conn: &mut Conn, id: &str, reason: &str) -> Result<bool, StoreError> {
    let enabled =
        webhook_endpoints::table.find(id).filter(webhook_endpoints::state.eq(WebhookState::Enabled.name()));
    let change = (
        webhook_endpoints::state.eq(WebhookState::Disabled.name()),
        webhook_endpoints::reason.eq(reason),
        webhook_endpoints::updated_at.eq(Now),
    );
    let is_disabled = on!(conn, c => diesel::update(enabled).set(change).execute(c).await)? > 0;
    if is_disabled {
        pending::end_pending(conn, id, &format!("the endpoint was disabled: {reason}")).await?;
    }
    Ok(is_disabled)
}

/// Takes the endpoints of a consumer that is deleted from it, and disables them: a later consumer of the same name is
/// another one, whose events are not for them.
pub(crate) async fn abandon_endpoints(conn: &mut Conn, consumer: &str) -> Result<(), StoreError> {
    const REASON: &str = "its consumer was deleted";
    let own = webhook_endpoints::table
        .filter(webhook_endpoints::consumer.eq(consumer))
        .select(webhook_endpoints::id);
    let ids: Vec<String> = on!(conn, c => own.load(c).await)?;
    for id in &ids {
        let change = (
            webhook_endpoints::consumer.eq(None::<&str>),
            webhook_endpoints::state.eq(WebhookState::Disabled.name()),
            webhook_endpoints::reason.eq(REASON),
            webhook_endpoints::updated_at.eq(Now),
        );
        let row = webhook_endpoints::table.find(id);
        on!(conn, c => diesel::update(row).set(change).execute(c).await)?;
        pending::end_pending(conn, id, REASON).await?;
    }
    Ok(())
}

/// Notes the success or the failure of an attempt. Returns the first failure since the last success.
pub(super) async fn note_attempt(
    conn: &mut Conn,
    id: &str,
    state: WebhookDeliveryState,
    now: NaiveDateTime,
) -> Result<Option<NaiveDateTime>, StoreError> {
    if state == WebhookDeliveryState::Delivered {
        let failing =
            webhook_endpoints::table.find(id).filter(webhook_endpoints::failing_since.is_not_null());
        let none = webhook_endpoints::failing_since.eq(None::<NaiveDateTime>);
        on!(conn, c => diesel::update(failing).set(none).execute(c).await)?;
        return Ok(None);
    }
    let sound = webhook_endpoints::table.find(id).filter(webhook_endpoints::failing_since.is_null());
    let begin = webhook_endpoints::failing_since.eq(Some(now));
    on!(conn, c => diesel::update(sound).set(begin).execute(c).await)?;
    let since = webhook_endpoints::table.find(id).select(webhook_endpoints::failing_since);
    let since: Option<Option<NaiveDateTime>> = on!(conn, c => since.first(c).await.optional())?;
    Ok(since.flatten())
}

fn seal_secrets(id: &str, secrets: &[WebhookSecret], keys: &EnvelopeKeys) -> Result<String, StoreError> {
    let text = serde_json::to_string(secrets).map_err(|error| StoreError::Database(error.to_string()))?;
    seal(&text, webhook_secret_place(id), keys)
}

/// Opens the secrets of an endpoint; the error says why they cannot be read.
fn open_secrets(id: &str, sealed: &str, keys: &EnvelopeKeys) -> Result<Vec<WebhookSecret>, String> {
    let text = keys.open(sealed, webhook_secret_place(id)).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|_| "they have no known form".to_owned())
}
