//! Webhooks to customers: endpoints, deliveries and attempts.

use serde::{Deserialize, Serialize};
use svc_model::Timestamp;
use utoipa::ToSchema;

use crate::names::{webhook_delivery_state, webhook_state};

/// An endpoint that is to be registered.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookRegistration {
    /// Its address. The connector says which it allows.
    pub url: String,
    /// Name of the consumer that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer: Option<String>,
    /// Its topics, 64 at most; `*` for all.
    pub topics: Vec<String>,
    /// Name of an `http` connector with `allow_urls`, over which it is called.
    pub connector: String,
    /// The secret that signs its messages: `whsec_` and 24 to 64 bytes in base64. Without one it is generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// A change of an endpoint. A member that is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookPatch {
    /// Its address. Another one must be verified anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub url: Option<String>,
    /// Name of the consumer that it belongs to; `null` for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer: Option<String>,
    /// Its topics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub topics: Option<Vec<String>>,
    /// Name of the connector over which it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub connector: Option<String>,
}

/// An endpoint.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Webhook)]
pub struct WebhookDetail {
    /// Its id.
    pub id: String,
    /// Its address.
    pub url: String,
    /// Name of the consumer that it belongs to.
    #[schema(required = true)]
    pub consumer: Option<String>,
    /// Its topics, in the order of their names.
    pub topics: Vec<String>,
    /// Name of the connector over which it is called.
    pub connector: String,
    /// Its state.
    #[schema(schema_with = webhook_state)]
    pub state: String,
    /// The reason of a state other than `enabled`.
    #[schema(required = true)]
    pub reason: Option<String>,
    /// The first failure since the last success.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub failing_since: Option<Timestamp>,
    /// The instant at which it echoed its challenge.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub verified_at: Option<Timestamp>,
    /// Its registration.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Its last change.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// The secret that signs its messages: after its registration and a rotation alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub secret: Option<String>,
}

/// An endpoint as its consumer sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = OwnWebhook)]
pub struct OwnWebhookDetail {
    /// Its id.
    pub id: String,
    /// Its address.
    pub url: String,
    /// Its topics, in the order of their names.
    pub topics: Vec<String>,
    /// Its state.
    #[schema(schema_with = webhook_state)]
    pub state: String,
    /// The first failure since the last success.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub failing_since: Option<Timestamp>,
    /// The instant at which it echoed its challenge.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub verified_at: Option<Timestamp>,
    /// Its registration.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// A new secret of an endpoint.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookRotation {
    /// The secret; without one it is generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Seconds for which the former secret signs as well: a day by default, a week at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0, maximum = 604800)]
    pub overlap_secs: Option<u64>,
}

/// The way in which an endpoint is enabled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookEnabling {
    /// `false` to enable it without a challenge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub verify: Option<bool>,
}

/// The deliveries that are to be made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookReplayRequest {
    /// The earliest acceptance, inclusive.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// `true` for dead letters alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub failed_only: Option<bool>,
}

/// The deliveries that are made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = WebhookReplay)]
pub struct WebhookReplayResult {
    /// Their number, 10000 at most.
    pub replayed: usize,
    /// The acceptance of the first one that was left out: `since` of the next replay.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub next_since: Option<Timestamp>,
}

/// The outcome of a test event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookTest {
    /// `true` if the endpoint answered with 2xx.
    pub delivered: bool,
    /// Id of the event.
    pub webhook_id: String,
    /// Status of the answer; `null` without one.
    #[schema(required = true)]
    pub status: Option<i64>,
    /// The reason of a failure.
    #[schema(required = true)]
    pub error: Option<String>,
    /// Duration in milliseconds.
    pub duration_ms: i64,
}

/// An attempt at an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = WebhookAttempt)]
pub struct WebhookAttemptDetail {
    /// Its id.
    pub id: String,
    /// Id of the event, the same at every attempt.
    pub webhook_id: String,
    /// Topic of the event.
    pub topic: String,
    /// Its number, from 1; 0 for a test event.
    pub attempt: i64,
    /// Status of the answer; `null` without one.
    #[schema(required = true)]
    pub status: Option<i64>,
    /// The reason of a failure.
    #[schema(required = true)]
    pub error: Option<String>,
    /// Duration in milliseconds.
    pub duration_ms: i64,
    /// Its end.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// The delivery of an event to an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = WebhookDelivery)]
pub struct WebhookDeliveryDetail {
    /// Its id.
    pub id: String,
    /// Id of the event.
    pub webhook_id: String,
    /// Topic of the event.
    pub topic: String,
    /// Its state: `failed` is a dead letter.
    #[schema(schema_with = webhook_delivery_state)]
    pub state: String,
    /// Attempts since its acceptance, or its last replay.
    pub attempts: i64,
    /// The next attempt; `null` once it has ended.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub next_attempt_at: Option<Timestamp>,
    /// Status of the last answer.
    #[schema(required = true)]
    pub last_status: Option<i64>,
    /// The reason of the last failure.
    #[schema(required = true)]
    pub last_error: Option<String>,
    /// Its acceptance.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Its end.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub ended_at: Option<Timestamp>,
}
