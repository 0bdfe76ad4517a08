//! Endpoints, deliveries and attempts of webhooks as values.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use svc_model::{ServiceError, Timestamp};

use crate::repo::traces::NewTrace;
use crate::repo::words::words;

words! {
    /// The state of an endpoint.
    WebhookState {
        /// It has not echoed its challenge yet, and gets nothing.
        Unverified = "unverified",
        /// It gets the events of its topics.
        Enabled = "enabled",
        /// It gets nothing until an operator enables it.
        Disabled = "disabled",
    }
}

words! {
    /// The state of the delivery of an event to an endpoint.
    WebhookDeliveryState {
        /// It waits for its next attempt, or one goes on.
        Pending = "pending",
        /// The endpoint has answered with 2xx.
        Delivered = "delivered",
        /// It is a dead letter: every attempt failed, or the endpoint was disabled.
        Failed = "failed",
    }
}

/// A secret with which the messages to an endpoint are signed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookSecret {
    /// The secret: `whsec_` and base64.
    pub secret: String,
    /// The instant until which a replaced secret signs too, in milliseconds since 1970; `None` for the current one.
    pub until_ms: Option<i64>,
}

/// Omits the secret.
impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookSecret").field("until_ms", &self.until_ms).finish_non_exhaustive()
    }
}

/// An endpoint that is to be registered.
#[derive(Clone, PartialEq, Eq)]
pub struct NewWebhookEndpoint {
    /// Its address.
    pub url: String,
    /// Name of the consumer that it belongs to.
    pub consumer: Option<String>,
    /// Its topics; `*` for all.
    pub topics: Vec<String>,
    /// Name of the connector over which it is called.
    pub connector: String,
    /// The secret with which its messages are signed.
    pub secret: String,
}

/// Omits the secret.
impl fmt::Debug for NewWebhookEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewWebhookEndpoint").field("topics", &self.topics).finish_non_exhaustive()
    }
}

/// A change of an endpoint. A member that is `None` stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebhookChange {
    /// Its address. Another one must be verified anew.
    pub url: Option<String>,
    /// Name of the consumer that it belongs to; an inner `None` for no consumer.
    pub consumer: Option<Option<String>>,
    pub topics: Option<Vec<String>>,
    /// Name of the connector over which it is called.
    pub connector: Option<String>,
}

/// An endpoint, without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookEndpoint {
    pub id: String,
    /// Its address.
    pub url: String,
    /// Name of the consumer that it belongs to.
    pub consumer: Option<String>,
    /// Its topics, in the order of their names.
    pub topics: Vec<String>,
    /// Name of the connector over which it is called.
    pub connector: String,
    pub state: String,
    /// The reason of a state other than `enabled`.
    pub reason: Option<String>,
    /// The first failure since the last success.
    pub failing_since: Option<Timestamp>,
    /// The instant at which it echoed its challenge.
    pub verified_at: Option<Timestamp>,
    /// Its registration.
    pub created_at: Timestamp,
    /// Its last change.
    pub updated_at: Timestamp,
}

impl WebhookEndpoint {
    /// Returns the refusal of an id that no endpoint has.
    pub fn absent(id: &str) -> ServiceError {
        ServiceError::not_found(format!("webhook endpoint '{id}' does not exist"))
    }

    /// Returns the state, if this program knows it.
    pub fn parsed_state(&self) -> Option<WebhookState> {
        WebhookState::parse(&self.state)
    }
}

/// The endpoints of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebhookFilter {
    /// Name of the consumer.
    pub consumer: Option<String>,
    pub state: Option<WebhookState>,
}

/// The address of an endpoint, with what signs messages to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookTarget {
    pub endpoint_id: String,
    /// Its address.
    pub url: String,
    /// Name of the connector over which it is called.
    pub connector: String,
    /// The secrets that sign now, the current one first.
    pub secrets: Vec<WebhookSecret>,
}

/// An event for the endpoints of its topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookEvent {
    /// The id that its receivers see. An endpoint that has an event of this id gets no second one.
    pub webhook_id: String,
    pub topic: String,
    /// Name of the consumer whose endpoints get it; `None` for those of all.
    pub consumer: Option<String>,
    /// The body that is sent.
    pub payload: String,
}

/// An endpoint with deliveries that are due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueEndpoint {
    pub id: String,
    /// Its address.
    pub url: String,
    /// True if its last attempt failed.
    pub is_failing: bool,
}

/// An endpoint whose due deliveries are claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointRoom {
    pub endpoint_id: String,
    /// Number of deliveries at most.
    pub room: i64,
}

/// A delivery that this node attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedWebhook {
    /// Id of the delivery.
    pub id: String,
    /// The number of the claim, which proves it.
    pub claim: i64,
    /// The endpoint.
    pub target: WebhookTarget,
    /// The id that receivers see.
    pub webhook_id: String,
    pub topic: String,
    /// The body.
    pub payload: String,
    /// The number of this attempt, from 1.
    pub attempt: i64,
}

/// An endpoint whose secrets cannot be read, so that nothing is sent to it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secrets of webhook endpoint '{endpoint_id}': {problem}")]
pub struct UnreadableEndpoint {
    pub endpoint_id: String,
    /// The reason.
    pub problem: String,
}

/// The deliveries that a claim took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebhookClaims {
    /// The deliveries.
    pub claimed: Vec<ClaimedWebhook>,
    /// The endpoints that it left out, because their secrets cannot be read.
    pub unreadable: Vec<UnreadableEndpoint>,
}

/// The meaning of an attempt for its delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookOutcome {
    /// The endpoint took the event.
    Delivered,
    /// Another attempt follows after this time.
    Retry(Duration),
    /// Nothing was sent; this time later the same attempt is made.
    Deferred(Duration),
    /// No further attempt follows.
    Exhausted,
    /// The endpoint is gone for good and is disabled.
    Gone,
}

/// An attempt as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWebhookAttempt {
    pub endpoint_id: String,
    /// The id that receivers see.
    pub webhook_id: String,
    pub topic: String,
    /// The number of the attempt, from 1; 0 for a test event.
    pub attempt: i64,
    /// The status of the answer; `None` without one.
    pub status: Option<i64>,
    /// The reason of a failure.
    pub error: Option<String>,
    /// Its duration in milliseconds.
    pub duration_ms: i64,
}

/// The end of an attempt at a claimed delivery.
#[derive(Clone, Debug)]
pub struct WebhookAttemptEnd {
    pub delivery_id: String,
    /// The number of the claim.
    pub claim: i64,
    pub attempt: NewWebhookAttempt,
    /// Its meaning.
    pub outcome: WebhookOutcome,
    /// The time of failures alone after which the endpoint is disabled.
    pub disable_after: Duration,
    /// The report to the channel of `on_disabled`, which is written if this attempt disables the endpoint.
    pub report: Option<NewTrace>,
}

/// The effect of the end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedAttempt {
    /// It was written.
    Written,
    /// It was written, and the endpoint is disabled now.
    Disabled,
    /// The claim is no longer valid; nothing was written.
    Lost,
}

/// A stored attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookAttempt {
    pub id: String,
    pub attempt: NewWebhookAttempt,
    /// Its end.
    pub created_at: Timestamp,
}

/// The delivery of an event to an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookDelivery {
    pub id: String,
    /// The id that receivers see.
    pub webhook_id: String,
    pub topic: String,
    pub state: String,
    /// Attempts since its acceptance, or its last replay.
    pub attempts: i64,
    /// The next attempt; `None` once it has ended.
    pub next_attempt_at: Option<Timestamp>,
    /// The status of the last answer.
    pub last_status: Option<i64>,
    /// The reason of the last failure.
    pub last_error: Option<String>,
    /// Its acceptance.
    pub created_at: Timestamp,
    /// Its end.
    pub ended_at: Option<Timestamp>,
}

/// The deliveries that a replay made due again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookReplay {
    /// Their number.
    pub replayed: usize,
    /// The acceptance of the first delivery that was left out, because one replay takes only so many.
    pub next_since: Option<Timestamp>,
}

/// The numbers of endpoints and deliveries, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebhookCounts {
    /// Endpoints that get events.
    pub enabled: i64,
    /// Endpoints that have not been verified.
    pub unverified: i64,
    /// Endpoints that were disabled.
    pub disabled: i64,
    /// Deliveries that have not ended.
    pub pending: i64,
    /// Dead letters.
    pub failed: i64,
}
