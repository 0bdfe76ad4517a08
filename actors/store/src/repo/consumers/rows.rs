//! The tables of consumers and of their keys.

use std::collections::HashMap;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::config::QuotaTerms;
use svc_model::{Consumer, ConsumerKey, ConsumerKeyKind, Page, Timestamp};
use svc_secrets::{EnvelopeKeys, EnvelopePlace, Secret};

use super::model::{ConsumerContent, ConsumerCredentials, ConsumerSecret, NewConsumerKey};
use crate::clock::Now;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::{IDS_PER_QUERY, json, tagged};
use crate::schema::{consumer_keys, consumers};

/// A row, in the order of the columns.
#[derive(Queryable)]
struct ConsumerRow {
    name: String,
    tags: String,
    quota: Option<String>,
    expires_at: Option<NaiveDateTime>,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
}

/// A row, in the order of the columns.
#[derive(Queryable)]
struct KeyRow {
    id: String,
    consumer: String,
    kind: String,
    secret: String,
    expires_at: Option<NaiveDateTime>,
    created_at: NaiveDateTime,
}

impl ConsumerRow {
    /// Returns the bounds of the requests.
    ///
    /// # Errors
    /// This release does not know their form.
    fn quota(&self) -> Result<Option<QuotaTerms>, StoreError> {
        let quota = self.quota.as_deref().map(|text| {
            QuotaTerms::parse(&json::value(text), "quota")
                .map_err(|error| StoreError::Database(format!("consumer '{}': {error}", self.name)))
        });
        quota.transpose()
    }

    fn into_consumer(self) -> Result<Consumer, StoreError> {
        let quota = self.quota()?;
        Ok(self.with_quota(quota))
    }

    fn with_quota(self, quota: Option<QuotaTerms>) -> Consumer {
        Consumer {
            tags: json::names(json::value(&self.tags)),
            quota,
            expires_at: self.expires_at.map(Timestamp::from_naive),
            created_at: Timestamp::from_naive(self.created_at),
            updated_at: Timestamp::from_naive(self.updated_at),
            name: self.name,
            keys: Vec::new(),
        }
    }
}

impl KeyRow {
    /// Returns the key; `None` if this release does not know its kind.
    fn key(&self) -> Option<ConsumerKey> {
        Some(ConsumerKey {
            id: self.id.clone(),
            kind: ConsumerKeyKind::parse(&self.kind)?,
            expires_at: self.expires_at.map(Timestamp::from_naive),
            created_at: Timestamp::from_naive(self.created_at),
        })
    }

    fn secret(&self, keys: &EnvelopeKeys) -> ConsumerSecret {
        match ConsumerKeyKind::parse(&self.kind) {
            Some(ConsumerKeyKind::ApiKey) => {
                parse_digest(&self.secret).map_or(ConsumerSecret::Unknown, ConsumerSecret::Digest)
            }
            Some(ConsumerKeyKind::Hmac) => match keys.open(&self.secret, secret_place(&self.id)) {
                Ok(text) => ConsumerSecret::Text(Secret::new(text)),
                Err(error) => ConsumerSecret::Sealed(error),
            },
            None => ConsumerSecret::Unknown,
        }
    }
}

/// Returns the place to which the secret of a key is bound: the id of the key.
pub(crate) const fn secret_place(id: &str) -> EnvelopePlace<'_> {
    EnvelopePlace { table: "consumer_keys", row: id, column: "secret" }
}

/// Returns the text of a digest: two hexadecimal digits for each byte.
pub(super) fn digest_text(digest: [u8; 32]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn parse_digest(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(digest)
}

pub(super) async fn get(conn: &mut Conn, name: &str) -> Result<Option<Consumer>, StoreError> {
    let row = consumers::table.find(name);
    let row: Option<ConsumerRow> = on!(conn, c => row.first(c).await.optional())?;
    let Some(row) = row else { return Ok(None) };
    let mut consumer = row.into_consumer()?;
    consumer.keys = keys_of(conn, name).await?.iter().filter_map(KeyRow::key).collect();
    Ok(Some(consumer))
}

async fn keys_of(conn: &mut Conn, name: &str) -> Result<Vec<KeyRow>, StoreError> {
    let rows = consumer_keys::table
        .filter(consumer_keys::consumer.eq(name))
        .order((consumer_keys::created_at.asc(), consumer_keys::id.asc()));
    Ok(on!(conn, c => rows.load(c).await)?)
}

/// Returns a page of the consumers by name, with the number of all.
pub(super) async fn list(
    conn: &mut Conn,
    tag: Option<&String>,
    page: Page,
) -> Result<(Vec<Consumer>, i64), StoreError> {
    let backend = conn.backend();
    let (rows, total) = on!(conn, c: Db => {
        let mut query = consumers::table.into_boxed::<Db>();
        let mut all = consumers::table.into_boxed::<Db>();
        if let Some(tag) = tag {
            query = tagged!(query, backend, tag);
            all = tagged!(all, backend, tag);
        }
        let query = query.order(consumers::name.asc()).limit(page.limit).offset(page.offset);
        let rows = query.load::<ConsumerRow>(c).await?;
        (rows, all.count().get_result::<i64>(c).await?)
    });
    let mut listed = rows.into_iter().map(ConsumerRow::into_consumer).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = listed.iter().map(|consumer| consumer.name.clone()).collect();
    let mut keys: HashMap<String, Vec<ConsumerKey>> = HashMap::new();
    for names in names.chunks(IDS_PER_QUERY) {
        let rows = consumer_keys::table
            .filter(consumer_keys::consumer.eq_any(names))
            .order((consumer_keys::created_at.asc(), consumer_keys::id.asc()));
        let rows: Vec<KeyRow> = on!(conn, c => rows.load(c).await)?;
        for row in rows {
            let key = row.key();
            keys.entry(row.consumer).or_default().extend(key);
        }
    }
    for consumer in &mut listed {
        consumer.keys = keys.remove(&consumer.name).unwrap_or_default();
    }
    Ok((listed, total))
}

/// Returns all consumers by name, without their keys.
pub(crate) async fn list_all(conn: &mut Conn) -> Result<Vec<Consumer>, StoreError> {
    let rows = consumers::table.order(consumers::name.asc());
    let rows: Vec<ConsumerRow> = on!(conn, c => rows.load(c).await)?;
    rows.into_iter().map(ConsumerRow::into_consumer).collect()
}

/// Returns all consumers with their secrets, by name.
pub(super) async fn load(
    conn: &mut Conn,
    keys: &EnvelopeKeys,
) -> Result<Vec<ConsumerCredentials>, StoreError> {
    let rows = consumers::table.order(consumers::name.asc());
    let rows: Vec<ConsumerRow> = on!(conn, c => rows.load(c).await)?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let stored = consumer_keys::table.order((consumer_keys::created_at.asc(), consumer_keys::id.asc()));
    let stored: Vec<KeyRow> = on!(conn, c => stored.load(c).await)?;
    let mut by_consumer: HashMap<String, (Vec<ConsumerKey>, Vec<ConsumerSecret>)> = HashMap::new();
    for row in stored {
        let Some(key) = row.key() else { continue };
        let secret = row.secret(keys);
        let (keys, secrets) = by_consumer.entry(row.consumer).or_default();
        keys.push(key);
        secrets.push(secret);
    }
    let credentials = |row: ConsumerRow| {
        let (keys, mut secrets) = by_consumer.remove(&row.name).unwrap_or_default();
        let quota = row.quota().unwrap_or_else(|_| {
            // It is not served without its bounds; the others are, and what they lost is taken from them.
            secrets.fill(ConsumerSecret::Unknown);
            None
        });
        ConsumerCredentials { consumer: Consumer { keys, ..row.with_quota(quota) }, secrets }
    };
    Ok(rows.into_iter().map(credentials).collect())
}

pub(super) async fn count(conn: &mut Conn) -> Result<i64, StoreError> {
    Ok(on!(conn, c => consumers::table.count().get_result(c).await)?)
}

/// Inserts a consumer; `false` if there is one of that name.
pub(super) async fn insert(
    conn: &mut Conn,
    name: &str,
    content: &ConsumerContent,
) -> Result<bool, StoreError> {
    let row = (
        consumers::name.eq(name),
        consumers::tags.eq(json::list(&content.tags)),
        consumers::quota.eq(content.quota.map(|quota| quota.to_json().to_string())),
        consumers::expires_at.eq(content.expires_at.map(Timestamp::naive)),
    );
    let new = diesel::insert_into(consumers::table).values(row).on_conflict_do_nothing();
    Ok(on!(conn, c => new.execute(c).await)? > 0)
}

pub(super) async fn replace(
    conn: &mut Conn,
    name: &str,
    content: &ConsumerContent,
) -> Result<(), StoreError> {
    let change = diesel::update(consumers::table.find(name)).set((
        consumers::tags.eq(json::list(&content.tags)),
        consumers::quota.eq(content.quota.map(|quota| quota.to_json().to_string())),
        consumers::expires_at.eq(content.expires_at.map(Timestamp::naive)),
        consumers::updated_at.eq(Now),
    ));
    on!(conn, c => change.execute(c).await)?;
    Ok(())
}

/// Deletes a consumer with its keys; `false` if there is none.
pub(super) async fn delete(conn: &mut Conn, name: &str) -> Result<bool, StoreError> {
    let keys = diesel::delete(consumer_keys::table.filter(consumer_keys::consumer.eq(name)));
    on!(conn, c => keys.execute(c).await)?;
    let row = diesel::delete(consumers::table.find(name));
    Ok(on!(conn, c => row.execute(c).await)? > 0)
}

/// Inserts a key with the text that is stored of its secret.
pub(super) async fn insert_key(
    conn: &mut Conn,
    id: &str,
    consumer: &str,
    key: NewConsumerKey,
    secret: &str,
) -> Result<(), StoreError> {
    let row = (
        consumer_keys::id.eq(id),
        consumer_keys::consumer.eq(consumer),
        consumer_keys::kind.eq(key.kind.name()),
        consumer_keys::secret.eq(secret),
        consumer_keys::expires_at.eq(key.expires_at.map(Timestamp::naive)),
    );
    let new = diesel::insert_into(consumer_keys::table).values(row);
    on!(conn, c => new.execute(c).await)?;
    Ok(())
}

/// Deletes a key of a consumer; `false` if it has none of that id.
pub(super) async fn delete_key(conn: &mut Conn, consumer: &str, id: &str) -> Result<bool, StoreError> {
    let own =
        consumer_keys::table.filter(consumer_keys::consumer.eq(consumer)).filter(consumer_keys::id.eq(id));
    Ok(on!(conn, c => diesel::delete(own).execute(c).await)? > 0)
}
