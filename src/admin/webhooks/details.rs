//! Rows of webhooks as they are shown.

use svc_api::{
    OwnWebhookDetail, WebhookAttemptDetail, WebhookDeliveryDetail, WebhookDetail, WebhookReplayResult,
    WebhookTest,
};
use svc_model::mask::mask_url;
use svc_store::{WebhookAttempt, WebhookDelivery, WebhookEndpoint, WebhookReplay};
use svc_webhooks::SentTest;

/// Shows an endpoint, without its secret and those in its address.
pub(crate) fn to_detail(endpoint: WebhookEndpoint) -> WebhookDetail {
    WebhookDetail {
        id: endpoint.id,
        url: mask_url(&endpoint.url),
        consumer: endpoint.consumer,
        topics: endpoint.topics,
        connector: endpoint.connector,
        state: endpoint.state,
        reason: endpoint.reason,
        failing_since: endpoint.failing_since,
        verified_at: endpoint.verified_at,
        created_at: endpoint.created_at,
        updated_at: endpoint.updated_at,
        secret: None,
    }
}

/// Shows an endpoint to its consumer.
pub(crate) fn to_own_detail(endpoint: WebhookEndpoint) -> OwnWebhookDetail {
    OwnWebhookDetail {
        id: endpoint.id,
        url: mask_url(&endpoint.url),
        topics: endpoint.topics,
        state: endpoint.state,
        failing_since: endpoint.failing_since,
        verified_at: endpoint.verified_at,
        created_at: endpoint.created_at,
    }
}

/// Shows an attempt.
pub(crate) fn to_attempt(row: WebhookAttempt) -> WebhookAttemptDetail {
    let WebhookAttempt { id, attempt, created_at } = row;
    WebhookAttemptDetail {
        id,
        webhook_id: attempt.webhook_id,
        topic: attempt.topic,
        attempt: attempt.attempt,
        status: attempt.status,
        error: attempt.error,
        duration_ms: attempt.duration_ms,
        created_at,
    }
}

/// Shows a delivery.
pub(super) fn to_delivery(row: WebhookDelivery) -> WebhookDeliveryDetail {
    WebhookDeliveryDetail {
        id: row.id,
        webhook_id: row.webhook_id,
        topic: row.topic,
        state: row.state,
        attempts: row.attempts,
        next_attempt_at: row.next_attempt_at,
        last_status: row.last_status,
        last_error: row.last_error,
        created_at: row.created_at,
        ended_at: row.ended_at,
    }
}

/// Shows the outcome of a test event.
pub(crate) fn to_test(sent: SentTest) -> WebhookTest {
    let SentTest { attempt, is_delivered } = sent;
    WebhookTest {
        delivered: is_delivered,
        webhook_id: attempt.webhook_id,
        status: attempt.status,
        error: attempt.error,
        duration_ms: attempt.duration_ms,
    }
}

/// Shows the outcome of a replay.
pub(crate) fn to_replay(replay: WebhookReplay) -> WebhookReplayResult {
    WebhookReplayResult { replayed: replay.replayed, next_since: replay.next_since }
}
