//! One attempt at a delivery.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use slog::warn;
use svc_connectors::{OutsideClass, OutsideOutcome, OutsideRequest};
use svc_model::config::SecretText;
use svc_model::mask::mask_url;
use svc_store::{
    ClaimedWebhook, NewWebhookAttempt, RecordedAttempt, StoreError, WebhookAttemptEnd, WebhookOutcome,
    WebhookTarget,
};
use svc_traces::{FailureReport, PreparedReport};
use tokio::time::{Instant, sleep, sleep_until};

use super::state::{DeliveryLanes, Lane};
use crate::settings::Settings;
use crate::shared::WebhookShared;

/// The channel under which connectors count the calls of the service, and the channel that reports name.
const CHANNEL: &str = "webhooks";
/// The function under which connectors count the calls.
const FUNCTION: &str = "send_webhook";
/// The media type of messages.
const JSON: &str = "application/json";

/// Time after its claim within which an attempt begins.
const BEGIN_LIMIT: Duration = Duration::from_secs(10);
/// Time that the lease has left after an attempt, for the write of its end.
const WRITE_LIMIT: Duration = Duration::from_secs(20);
/// Time after which an attempt takes long.
const LONG: Duration = Duration::from_secs(1);
/// Time after which an attempt is made that was not sent.
const DEFERRAL: Duration = Duration::from_secs(2);
/// Longest wait that an answer may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// Longest wait of a delivery for a place among the calls of its host, which its connector bounds as well.
const PLACE_WAIT: Duration = Duration::from_millis(500);
/// Time after the limit of an attempt at which it is given up: the call ends itself before, and is counted as a failure
/// of its host.
const GIVE_UP: Duration = Duration::from_secs(1);
/// Bytes of a stored reason at most.
const MOST_REASON: usize = 500;
/// Time between two writes of an end while the database is away.
const WRITE_RETRY: Duration = Duration::from_millis(500);

/// A claimed delivery, with the instant before its claim.
pub(super) struct PendingAttempt {
    pub(super) delivery: ClaimedWebhook,
    pub(super) claimed_at: Instant,
    pub(super) lane: Lane,
}

/// Returns the time for which a delivery is claimed: it outlasts the attempt.
pub(super) fn lease(settings: &Settings) -> Duration {
    BEGIN_LIMIT + settings.attempt_timeout + WRITE_LIMIT
}

/// Makes the attempt and writes its end. Its place is free again afterwards.
pub(super) async fn make_attempt(
    shared: &WebhookShared,
    lanes: &RefCell<DeliveryLanes>,
    pending: PendingAttempt,
) {
    attempt_and_record(shared, lanes, pending).await;
    shared.metrics.in_flight.dec();
}

async fn attempt_and_record(shared: &WebhookShared, lanes: &RefCell<DeliveryLanes>, pending: PendingAttempt) {
    let PendingAttempt { delivery, claimed_at, mut lane } = pending;
    let url = delivery.target.url.clone();
    if claimed_at.elapsed() > BEGIN_LIMIT {
        // Its lease might end before the attempt would. It is due again then.
        lanes.borrow_mut().end(&url, lane, false);
        return;
    }
    let request = make_request(&delivery.target, &delivery.webhook_id, &delivery.payload, &shared.settings);
    let started = Instant::now();
    let outcome = {
        let sending = send_within(shared, &request, started);
        tokio::pin!(sending);
        tokio::select! {
            outcome = &mut sending => outcome,
            () = sleep(LONG) => {
                lane = lanes.borrow_mut().slow_down(&url, lane);
                sending.await
            }
        }
    };
    let elapsed = started.elapsed();
    shared.metrics.attempt_duration.observe(elapsed.as_secs_f64());
    let was_quick = outcome.class == OutsideClass::Accepted && elapsed < LONG;
    if outcome.class == OutsideClass::Deferred {
        lanes.borrow_mut().block(&url, Instant::now() + DEFERRAL);
    }
    record(shared, &delivery, outcome, elapsed, claimed_at + lease(&shared.settings)).await;
    // After the write: no more is claimed than the database keeps up with.
    lanes.borrow_mut().end(&url, lane, was_quick);
}

/// Makes the request of a message to an endpoint.
pub(crate) fn make_request(
    target: &WebhookTarget,
    webhook_id: &str,
    body: &str,
    settings: &Settings,
) -> OutsideRequest {
    let secrets = target.secrets.iter().map(|secret| SecretText::new(secret.secret.as_str())).collect();
    OutsideRequest {
        connector: target.connector.as_str().into(),
        url: target.url.clone(),
        channel: CHANNEL.into(),
        function: FUNCTION.into(),
        id: webhook_id.to_owned(),
        secrets,
        content_type: JSON,
        body: Bytes::copy_from_slice(body.as_bytes()),
        timeout: settings.attempt_timeout,
        place_wait: PLACE_WAIT,
    }
}

/// Sends a request that ends by itself at its limit, and gives it up soon after. That instant is looked at first: a
/// process that was stopped sends nothing more of an attempt whose lease may have ended meanwhile.
pub(crate) async fn send_within(
    shared: &WebhookShared,
    request: &OutsideRequest,
    started: Instant,
) -> OutsideOutcome {
    tokio::select! {
        biased;
        () = sleep_until(started + request.timeout + GIVE_UP) => OutsideOutcome {
            class: OutsideClass::Failed,
            status: None,
            retry_after: None,
            reason: Some(format!("no answer within {} s", shared.settings.attempt_timeout.as_secs())),
            body: Bytes::new(),
        },
        outcome = shared.sender.send(request) => outcome,
    }
}

/// Returns the meaning of an attempt for its delivery.
pub(super) fn judge(settings: &Settings, attempt: i64, outcome: &OutsideOutcome) -> WebhookOutcome {
    let failures = usize::try_from(attempt).unwrap_or(usize::MAX);
    match outcome.class {
        OutsideClass::Accepted => WebhookOutcome::Delivered,
        OutsideClass::Gone => WebhookOutcome::Gone,
        OutsideClass::Deferred => WebhookOutcome::Deferred(DEFERRAL),
        OutsideClass::Failed | OutsideClass::Forbidden => {
            match settings.retry_schedule.get(failures.saturating_sub(1)) {
                Some(delay) => {
                    let asked = outcome.retry_after.unwrap_or_default().min(LONGEST_WAIT);
                    WebhookOutcome::Retry(asked.max(*delay))
                }
                None => WebhookOutcome::Exhausted,
            }
        }
    }
}

/// Returns the word of an outcome in metrics.
fn name_outcome(outcome: WebhookOutcome) -> &'static str {
    match outcome {
        WebhookOutcome::Delivered => "delivered",
        WebhookOutcome::Gone => "gone",
        WebhookOutcome::Deferred(_) => "deferred",
        WebhookOutcome::Retry(_) | WebhookOutcome::Exhausted => "failed",
    }
}

/// Makes the row of an attempt.
fn make_row(
    delivery: &ClaimedWebhook,
    status: Option<u16>,
    error: Option<String>,
    elapsed: Duration,
) -> NewWebhookAttempt {
    NewWebhookAttempt {
        endpoint_id: delivery.target.endpoint_id.clone(),
        webhook_id: delivery.webhook_id.clone(),
        topic: delivery.topic.clone(),
        attempt: delivery.attempt,
        status: status.map(i64::from),
        error,
        duration_ms: i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX),
    }
}

/// Writes the end of an attempt, again and again while the database is away and the lease lasts.
async fn record(
    shared: &WebhookShared,
    delivery: &ClaimedWebhook,
    outcome: OutsideOutcome,
    elapsed: Duration,
    lease_end: Instant,
) {
    let meaning = judge(&shared.settings, delivery.attempt, &outcome);
    shared.metrics.count_attempt(name_outcome(meaning));
    let reason = outcome.reason.map(|reason| bounded(&reason));
    let report = prepare_report(shared, delivery, meaning, reason.as_deref());
    let end = WebhookAttemptEnd {
        delivery_id: delivery.id.clone(),
        claim: delivery.claim,
        attempt: make_row(delivery, outcome.status, reason, elapsed),
        outcome: meaning,
        disable_after: shared.settings.disable_after,
        report: report.as_ref().map(|report| report.row().clone()),
    };
    let mut is_uncertain = false;
    loop {
        let written = {
            // Nothing closes the semaphore.
            let _place = shared.writes.acquire().await.ok();
            shared.webhooks.record_end(end.clone()).await
        };
        match written {
            Ok(RecordedAttempt::Disabled) => {
                shared.metrics.disabled.inc();
                warn!(shared.log, "webhook endpoint disabled"; "endpoint" => &end.attempt.endpoint_id);
                if let Some(report) = report {
                    report.begin();
                }
                break;
            }
            Ok(RecordedAttempt::Written) => break,
            Ok(RecordedAttempt::Lost) => {
                // A write whose answer was lost may have disabled the endpoint.
                if let Some(report) = report.filter(|_| is_uncertain) {
                    report.begin_if_stored().await;
                }
                return;
            }
            Err(error) if error.is_outage() && Instant::now() + WRITE_RETRY < lease_end => {
                is_uncertain |= matches!(error, StoreError::Unanswered(_));
                sleep(WRITE_RETRY).await;
            }
            Err(error) => {
                warn!(shared.log, "the end of a webhook attempt was not written; it is made again";
                    "endpoint" => &end.attempt.endpoint_id, "error" => %error);
                return;
            }
        }
    }
    if matches!(meaning, WebhookOutcome::Exhausted | WebhookOutcome::Gone) {
        shared.metrics.exhausted.inc();
    }
}

/// Prepares the report of an endpoint that this attempt may disable; `None` without a channel for it.
fn prepare_report(
    shared: &WebhookShared,
    delivery: &ClaimedWebhook,
    meaning: WebhookOutcome,
    reason: Option<&str>,
) -> Option<PreparedReport> {
    let target = shared.settings.on_disabled.clone()?;
    if matches!(meaning, WebhookOutcome::Delivered | WebhookOutcome::Deferred(_)) {
        return None;
    }
    let data = json!({
        "endpoint": delivery.target.endpoint_id,
        "url": mask_url(&delivery.target.url),
        "topic": delivery.topic,
        "webhook_id": delivery.webhook_id,
    });
    let report = FailureReport { target, trace_id: None, channel: Arc::from(CHANNEL), data };
    let error = format!("webhook endpoint disabled: {}", reason.unwrap_or("no 2xx"));
    shared.traces.prepare_report(report, &error)
}

/// Shortens a reason to what is stored.
fn bounded(reason: &str) -> String {
    let end =
        reason.char_indices().map(|(at, char)| at + char.len_utf8()).take_while(|end| *end <= MOST_REASON);
    reason[..end.last().unwrap_or_default()].replace('\0', "\u{FFFD}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            retry_schedule: vec![Duration::from_secs(5), Duration::from_secs(300)],
            disable_after: Duration::from_secs(3600),
            on_disabled: None,
            attempt_timeout: Duration::from_secs(15),
            max_concurrent: 8,
            max_concurrent_per_host: 2,
            needs: Vec::new(),
        }
    }

    fn outcome(class: OutsideClass, retry_after: Option<u64>) -> OutsideOutcome {
        let retry_after = retry_after.map(Duration::from_secs);
        OutsideOutcome { class, status: None, retry_after, reason: None, body: Bytes::new() }
    }

    #[test]
    fn failed_attempt_waits_as_the_schedule_says() {
        let judge =
            |attempt, retry_after| judge(&settings(), attempt, &outcome(OutsideClass::Failed, retry_after));
        let retry = |secs| WebhookOutcome::Retry(Duration::from_secs(secs));
        assert_eq!(judge(1, None), retry(5));
        assert_eq!(judge(2, None), retry(300));
        assert_eq!(judge(3, None), WebhookOutcome::Exhausted);
        assert_eq!(judge(1, Some(60)), retry(60), "as the answer asks");
        assert_eq!(judge(1, Some(2)), retry(5));
        assert_eq!(judge(1, Some(100_000)), retry(3600));
    }

    #[test]
    fn class_of_answer_decides_about_the_delivery() {
        let judge = |class| judge(&settings(), 3, &outcome(class, None));
        assert_eq!(judge(OutsideClass::Accepted), WebhookOutcome::Delivered);
        assert_eq!(judge(OutsideClass::Gone), WebhookOutcome::Gone);
        assert_eq!(judge(OutsideClass::Forbidden), WebhookOutcome::Exhausted);
        assert_eq!(judge(OutsideClass::Deferred), WebhookOutcome::Deferred(DEFERRAL));
    }

    #[test]
    fn stored_reason_is_bounded_at_a_character() {
        assert_eq!(bounded("short"), "short");
        assert_eq!(bounded(&"ä".repeat(400)), "ä".repeat(250));
        assert_eq!(bounded(&format!("a{}", "ä".repeat(400))).len(), 499);
    }
}
