//! Consumers, the named holders of keys that channels may accept.
//!
//! Of an API key its SHA-256 is stored; the text of a key that signs is encrypted if a key is configured, bound to the
//! id of its row. Either secret is returned once, by the call that creates it. Every change raises the epoch, so that all
//! nodes load the consumers again, and leaves one audit row. Ends go by the clock of the database here, and by that of the
//! node on the way of requests.

mod model;
mod rows;

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use sha2::{Digest, Sha256};
use svc_model::id::new_ordered_id;
use svc_model::{
    Consumer, ConsumerKey, ConsumerKeyKind, FieldError, MAX_CONSUMER_KEYS, MAX_CONSUMERS, Page, ServiceError,
    Timestamp, consumer_quota_scope,
};
use svc_secrets::{EnvelopeKeys, Secret};

use crate::clock;
use crate::conn::{Conn, on};
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::mutation::{Mutation, MutationResult, mutate};
use crate::repo::seal::seal;
use crate::repo::{abandon_endpoints, key};
use crate::schema::quota_counts;

pub use model::{ConsumerContent, ConsumerCredentials, ConsumerPatch, ConsumerSecret, NewConsumerKey};
pub(crate) use rows::{list_all as list_consumers, secret_place as consumer_secret_place};

/// Random bytes of a key.
const KEY_BYTES: usize = 32;

/// Begins every API key, so that scanners of repositories find those that were committed.
const API_KEY_PREFIX: &str = "svck_";

/// Begins every key that signs, as [Standard Webhooks](https://www.standardwebhooks.com) write theirs.
const SIGNING_KEY_PREFIX: &str = "whsec_";

/// The consumers.
#[derive(Clone)]
pub struct Consumers {
    pub(crate) database: Database,
    pub(crate) keys: Arc<EnvelopeKeys>,
}

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("consumers", method)
}

impl Consumers {
    /// Returns the consumer of a name with its keys.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn get(&self, name: &str) -> Result<Option<Consumer>, StoreError> {
        let name = key(name);
        self.database
            .read(operation("get"), move |conn| Box::pin(async move { rows::get(conn, &name).await }))
            .await
    }

    /// Returns a page of the consumers by name, of those with a tag if one is given, and the number of all.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    pub async fn list(&self, tag: Option<String>, page: Page) -> Result<(Vec<Consumer>, i64), StoreError> {
        if tag.as_ref().is_some_and(|tag| tag.contains('\0')) {
            return Ok((Vec::new(), 0));
        }
        self.database
            .read(operation("list"), move |conn| {
                Box::pin(async move { rows::list(conn, tag.as_ref(), page).await })
            })
            .await
    }

    /// Returns all consumers with their secrets, by name, as nodes know them.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    pub async fn load(&self) -> Result<Vec<ConsumerCredentials>, StoreError> {
        let keys = Arc::clone(&self.keys);
        self.database
            .read(operation("load"), move |conn| Box::pin(async move { rows::load(conn, &keys).await }))
            .await
    }

    /// Creates a consumer without keys.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 409 if there is one of that name, or as many as a service may have; 400 if its end has
    /// passed. The other variants if the database fails.
    pub async fn create(
        &self,
        name: &str,
        content: ConsumerContent,
        mutation: Mutation,
    ) -> Result<Consumer, StoreError> {
        let name = key(name);
        let mutation = Mutation { epoch: true, ..mutation };
        mutate(&self.database, operation("create"), mutation, move |conn| {
            Box::pin(async move {
                require_future(conn, content.expires_at).await?;
                if rows::count(conn).await? >= i64::try_from(MAX_CONSUMERS).unwrap_or(i64::MAX) {
                    let message = format!("there are {MAX_CONSUMERS} consumers already: delete one first");
                    return Err(ServiceError::conflict(message).into());
                }
                if !rows::insert(conn, &name, &content).await? {
                    return Err(ServiceError::conflict(format!("consumer '{name}' exists already")).into());
                }
                read_written(conn, &name).await
            })
        })
        .await
    }

    /// Changes the members of a consumer that the patch names.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is no such consumer, 400 if its new end has passed. The other variants if the
    /// database fails.
    pub async fn update(
        &self,
        name: &str,
        patch: ConsumerPatch,
        mutation: Mutation,
    ) -> Result<Consumer, StoreError> {
        let name = key(name);
        let mutation = Mutation { epoch: true, ..mutation };
        mutate(&self.database, operation("update"), mutation, move |conn| {
            Box::pin(async move {
                let stored = rows::get(conn, &name).await?.ok_or_else(|| absent(&name))?;
                require_future(conn, patch.expires_at.flatten()).await?;
                let content = ConsumerContent {
                    tags: patch.tags.unwrap_or(stored.tags),
                    quota: patch.quota.unwrap_or(stored.quota),
                    expires_at: patch.expires_at.unwrap_or(stored.expires_at),
                };
                rows::replace(conn, &name, &content).await?;
                read_written(conn, &name).await
            })
        })
        .await
    }

    /// Deletes a consumer with its keys and the counts of its quota.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is no such consumer. The other variants if the database fails.
    pub async fn delete(&self, name: &str, mutation: Mutation) -> Result<(), StoreError> {
        let name = key(name);
        let mutation = Mutation { epoch: true, ..mutation };
        mutate(&self.database, operation("delete"), mutation, move |conn| {
            Box::pin(async move {
                if !rows::delete(conn, &name).await? {
                    return Err(absent(&name).into());
                }
                abandon_endpoints(conn, &name).await?;
                let counts =
                    quota_counts::table.filter(quota_counts::channel_id.eq(consumer_quota_scope(&name)));
                on!(conn, c => diesel::delete(counts).execute(c).await)?;
                Ok(MutationResult::new((), &name))
            })
        })
        .await
    }

    /// Creates a key of a consumer. The secret is returned here and never again; in a dry run it is of no use.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is no such consumer, 409 if it has as many keys as it may have, 400 if the end
    /// of the key has passed. The other variants if the database fails.
    pub async fn create_key(
        &self,
        name: &str,
        new: NewConsumerKey,
        mutation: Mutation,
    ) -> Result<(ConsumerKey, Secret), StoreError> {
        let (name, keys) = (key(name), Arc::clone(&self.keys));
        let mutation = Mutation { epoch: true, ..mutation };
        let secret = generate_secret(new.kind)?;
        mutate(&self.database, operation("create_key"), mutation, move |conn| {
            Box::pin(async move {
                let stored = rows::get(conn, &name).await?.ok_or_else(|| absent(&name))?;
                require_future(conn, new.expires_at).await?;
                if stored.keys.len() >= MAX_CONSUMER_KEYS {
                    let message = format!(
                        "consumer '{name}' has {MAX_CONSUMER_KEYS} keys already, those that have expired included: \
                         delete one first"
                    );
                    return Err(ServiceError::conflict(message).into());
                }
                let id = new_ordered_id().to_string();
                let text = match new.kind {
                    ConsumerKeyKind::ApiKey => rows::digest_text(Sha256::digest(secret.expose()).into()),
                    ConsumerKeyKind::Hmac => seal(secret.expose(), rows::secret_place(&id), &keys)?,
                };
                rows::insert_key(conn, &id, &name, new, &text).await?;
                let consumer = rows::get(conn, &name).await?.ok_or_else(|| absent(&name))?;
                let created = consumer.keys.into_iter().find(|key| key.id == id);
                let created = created.ok_or_else(|| absent_key(&name, &id))?;
                Ok(MutationResult::new((created, secret), &key_name(&name, &id)))
            })
        })
        .await
    }

    /// Deletes a key of a consumer.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is no such consumer, or it has no such key. The other variants if the database
    /// fails.
    pub async fn delete_key(&self, name: &str, id: &str, mutation: Mutation) -> Result<(), StoreError> {
        let (name, id) = (key(name), key(id));
        let mutation = Mutation { epoch: true, ..mutation };
        mutate(&self.database, operation("delete_key"), mutation, move |conn| {
            Box::pin(async move {
                if !rows::delete_key(conn, &name, &id).await? {
                    rows::get(conn, &name).await?.ok_or_else(|| absent(&name))?;
                    return Err(absent_key(&name, &id).into());
                }
                Ok(MutationResult::new((), &key_name(&name, &id)))
            })
        })
        .await
    }
}

/// Returns the consumer that was written.
async fn read_written(conn: &mut Conn, name: &str) -> Result<MutationResult<Consumer>, StoreError> {
    let consumer = rows::get(conn, name).await?.ok_or_else(|| absent(name))?;
    Ok(MutationResult::new(consumer, name))
}

/// Returns the name of a key in audit rows.
fn key_name(consumer: &str, id: &str) -> String {
    format!("{consumer}/{id}")
}

fn absent(name: &str) -> ServiceError {
    ServiceError::not_found(format!("consumer '{name}' not found"))
}

fn absent_key(name: &str, id: &str) -> ServiceError {
    ServiceError::not_found(format!("consumer '{name}' has no key '{id}'"))
}

/// Refuses an end that has passed by the clock of the database.
async fn require_future(conn: &mut Conn, end: Option<Timestamp>) -> Result<(), StoreError> {
    let Some(end) = end else { return Ok(()) };
    if end.naive() <= clock::now(conn).await? {
        let error = FieldError::invalid("body.expires_at", "the end has passed already");
        return Err(ServiceError::from(error).into());
    }
    Ok(())
}

/// Generates a secret that can be sent in a header.
fn generate_secret(kind: ConsumerKeyKind) -> Result<Secret, StoreError> {
    let mut bytes = [0; KEY_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Database(error.to_string()))?;
    Ok(Secret::new(match kind {
        ConsumerKeyKind::ApiKey => format!("{API_KEY_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)),
        ConsumerKeyKind::Hmac => format!("{SIGNING_KEY_PREFIX}{}", STANDARD.encode(bytes)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_random_header_values() {
        for (kind, prefix) in
            [(ConsumerKeyKind::ApiKey, API_KEY_PREFIX), (ConsumerKeyKind::Hmac, SIGNING_KEY_PREFIX)]
        {
            let secrets = [(); 2].map(|()| generate_secret(kind).unwrap());
            let [one, other] = secrets.each_ref().map(Secret::expose);
            assert!(one.starts_with(prefix) && one != other, "{kind:?}");
            assert!(one.bytes().all(|byte| byte.is_ascii_graphic()), "{kind:?}");
        }
    }
}
