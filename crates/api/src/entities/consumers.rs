//! Consumers, the named holders of keys that channels may accept.

use serde::{Deserialize, Serialize};
use svc_model::config::QuotaTerms;
use svc_model::{Consumer, ConsumerKey, Timestamp};
use utoipa::ToSchema;

use crate::names::{consumer_key_kind, quota_period, quota_window};

/// A consumer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Consumer)]
pub struct ConsumerDetail {
    /// Its name.
    pub name: String,
    /// Words by which channels accept it.
    pub tags: Vec<String>,
    /// The bounds of its requests, over all channels together; `null` without any.
    #[schema(required = true)]
    pub quota: Option<ConsumerQuota>,
    /// Requests of the current window of the quota, those that other nodes have reserved included; only in the response
    /// about one consumer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub used: Option<u64>,
    /// Time from which on it is refused; `null` if it does not end.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// Time of its creation.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Time of its last change; that of a key is none.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// Its keys without their secrets, the oldest first; those that have expired are among them.
    pub keys: Vec<ConsumerKeyDetail>,
}

/// The quota of a consumer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConsumerQuota {
    /// Requests within the window, over all channels and nodes.
    #[schema(minimum = 1)]
    pub limit: u64,
    /// The length of the window.
    #[schema(schema_with = quota_period)]
    pub per: String,
    /// The place of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = quota_window)]
    pub window: Option<String>,
}

/// A key of a consumer, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ConsumerKey)]
pub struct ConsumerKeyDetail {
    /// Its id.
    pub id: String,
    /// The way in which the consumer proves that it has the key.
    #[schema(schema_with = consumer_key_kind)]
    pub kind: String,
    /// Time from which on it is refused; `null` if it does not end.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// Time of its creation.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// A key that was created now, with its secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedConsumerKey {
    /// Its id.
    pub id: String,
    /// The way in which the consumer proves that it has the key.
    #[schema(schema_with = consumer_key_kind)]
    pub kind: String,
    /// The secret. It is shown here and never again.
    pub secret: String,
    /// Time from which on it is refused; `null` if it does not end.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// Time of its creation.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// The body of the request that creates a consumer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConsumerRequest {
    /// Its name, which never changes: letters, digits, `.`, `_`, `-` and `@`.
    #[schema(min_length = 1, max_length = 100, pattern = "^[A-Za-z0-9][A-Za-z0-9._@-]*$")]
    pub name: String,
    /// Words by which channels accept it, at most 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// The bounds of its requests, over all channels together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<ConsumerQuota>,
    /// Time from which on it is refused, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}

/// The body of the request that changes a consumer. Absent members stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConsumerChange {
    /// The new tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tags: Option<Vec<String>>,
    /// The new quota; `null` removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<ConsumerQuota>,
    /// The new end, RFC 3339; `null` removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}

/// The body of the request that creates a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConsumerKeyRequest {
    /// The way in which the consumer will prove that it has the key.
    #[schema(schema_with = consumer_key_kind)]
    pub kind: String,
    /// Time from which on it is refused, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}

impl From<Consumer> for ConsumerDetail {
    fn from(consumer: Consumer) -> Self {
        let Consumer { name, tags, quota, expires_at, created_at, updated_at, keys } = consumer;
        let keys = keys.into_iter().map(ConsumerKeyDetail::from).collect();
        let quota = quota.map(ConsumerQuota::from);
        Self { name, tags, quota, used: None, expires_at, created_at, updated_at, keys }
    }
}

impl From<QuotaTerms> for ConsumerQuota {
    fn from(terms: QuotaTerms) -> Self {
        let (per, window) = (terms.per.name().to_owned(), Some(terms.window.name().to_owned()));
        Self { limit: terms.limit, per, window }
    }
}

impl From<ConsumerKey> for ConsumerKeyDetail {
    fn from(key: ConsumerKey) -> Self {
        let ConsumerKey { id, kind, expires_at, created_at } = key;
        Self { id, kind: kind.name().to_owned(), expires_at, created_at }
    }
}

impl CreatedConsumerKey {
    /// Creates the response for a key with its secret.
    pub fn new(key: ConsumerKey, secret: &str) -> Self {
        let ConsumerKey { id, kind, expires_at, created_at } = key;
        Self { id, kind: kind.name().to_owned(), secret: secret.to_owned(), expires_at, created_at }
    }
}
