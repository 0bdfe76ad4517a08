//! Retries of calls.

use std::num::{NonZeroU16, NonZeroU32};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::state::eventually;
use svc_testkit::upstream::{Upstream, UpstreamReply};
use tokio::time::Instant;

use crate::kit::{connector_to, run};

fn always(status: u16) -> Upstream {
    Upstream::start(move |_| UpstreamReply::new(status, "")).unwrap()
}

#[test]
fn only_idempotent_calls_are_retried() {
    run(async |world| {
        for (status, method, more, attempts) in [
            (500, "GET", json!({}), 4),
            (503, "PUT", json!({}), 4),
            (429, "DELETE", json!({}), 4),
            (408, "GET", json!({"retry": {"max_retries": 1, "retry_delay_ms": 1}}), 2),
            (500, "GET", json!({"retry": {"max_retries": 0}}), 1),
            (500, "POST", json!({}), 1),
            (500, "PATCH", json!({}), 1),
            (500, "POST", json!({"retry_non_idempotent": true}), 4),
            (404, "GET", json!({}), 1),
            (401, "GET", json!({}), 1),
            (302, "GET", json!({}), 1),
        ] {
            let upstream = always(status);
            world.connect(connector_to(&upstream, more)).await;
            let error = world.fail(json!({"method": method})).await;
            assert_eq!((error.code.name(), error.http_status), ("HTTP_ERROR", Some(status)));
            assert_eq!(upstream.requests().len(), attempts, "{status} {method}");
            let retries = NonZeroU32::new(u32::try_from(attempts - 1).unwrap());
            assert_eq!((error.retry_count, error.retry_attempted.unwrap_or(false)), (retries, attempts > 1));
        }
    });
}

#[test]
fn broken_connection_is_retried_within_one_call() {
    run(async |world| {
        let calls = AtomicUsize::new(0);
        let upstream = Upstream::start(move |_| match calls.fetch_add(1, Ordering::Relaxed) {
            0 => UpstreamReply::Cut,
            1 => UpstreamReply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc".to_vec()),
            _ => UpstreamReply::new(200, "7"),
        })
        .unwrap();
        world.connect(connector_to(&upstream, json!({}))).await;
        assert_eq!(world.call(json!({})).await, 7);
        assert_eq!(upstream.requests().len(), 3);
        assert!(world.count(&["connector_requests_total", "status=\"ok\""]).eq(&1.0));
        assert!(world.count(&["connector_requests_total", "status=\"error\""]).eq(&0.0));
        assert!(world.count(&["duration_seconds_count", "channel=\"ch\"", "connector=\"c\""]).eq(&1.0));
    });
}

#[test]
fn pause_beyond_the_deadline_ends_the_call() {
    run(async |world| {
        let upstream = always(500);
        world.connect(connector_to(&upstream, json!({"retry": {"retry_delay_ms": 3_600_000}}))).await;
        let error = world.fail(json!({"timeout_ms": 2000})).await;
        assert_eq!((error.code.name(), upstream.requests().len()), ("HTTP_ERROR", 1));
    });
}

#[test]
fn next_attempt_waits_for_the_requested_time() {
    run(async |world| {
        for status in [429, 503] {
            let calls = AtomicUsize::new(0);
            let upstream = Upstream::start(move |_| match calls.fetch_add(1, Ordering::Relaxed) {
                0 => busy(status, "1"),
                _ => UpstreamReply::new(200, "7"),
            })
            .unwrap();
            world.connect(connector_to(&upstream, json!({}))).await;
            let begun = Instant::now();
            assert_eq!(world.call(json!({})).await, 7);
            assert!(begun.elapsed() >= Duration::from_secs(1), "{status}: {:?}", begun.elapsed());
        }
    });
}

#[test]
fn wait_beyond_the_deadline_ends_the_call() {
    run(async |world| {
        let upstream = Upstream::start(|_| busy(503, "7200")).unwrap();
        world.connect(connector_to(&upstream, json!({}))).await;
        let error = world.fail(json!({})).await;
        assert_eq!((error.code.name(), upstream.requests().len()), ("HTTP_ERROR", 1));
        assert_eq!(error.retry_after_secs.map(NonZeroU16::get), Some(3600), "an hour at most");
    });
}

fn busy(status: u16, retry_after: &str) -> UpstreamReply {
    let headers = vec![("retry-after".to_owned(), retry_after.to_owned())];
    UpstreamReply::Answer { status, headers, body: Vec::new() }
}

#[test]
fn an_attempt_ends_with_its_own_limit() {
    run(async |world| {
        let calls = AtomicUsize::new(0);
        let upstream = Upstream::start(move |_| match calls.fetch_add(1, Ordering::Relaxed) {
            0 => UpstreamReply::Held,
            _ => UpstreamReply::new(200, "1"),
        })
        .unwrap();
        world.connect(connector_to(&upstream, json!({}))).await;
        assert_eq!(world.call(json!({"timeout_ms": 300})).await, 1);
        let held = Upstream::start(|_| UpstreamReply::Held).unwrap();
        world.connect(connector_to(&held, json!({"retry": {"max_retries": 0}}))).await;
        for timeout_ms in [json!(50), json!({"*": [5, 10]})] {
            let error = world.fail(json!({"timeout_ms": timeout_ms})).await;
            assert_eq!((error.code.name(), error.retryable()), ("TIMEOUT_ERROR", true), "{timeout_ms}");
        }
        let error = world.fail(json!({"timeout_ms": {"*": [-1, 50]}})).await;
        assert_eq!(error.message, "timeout_ms: must be a whole number from 1 to 86400000");
        let error = world.fail(json!({"timeout_ms": 50})).await;
        let message = error.message;
        assert!(
            message.starts_with("connector 'c': no answer from '127.0.0.1:")
                && message.ends_with(" within 50 ms"),
            "{message}"
        );
    });
}

#[test]
fn connector_change_counts_from_the_next_attempt() {
    run(async |world| {
        let (bad, good) = (always(500), Upstream::start(|_| UpstreamReply::new(200, "1")).unwrap());
        world.connect(connector_to(&bad, json!({"retry": {"max_retries": 16, "retry_delay_ms": 20}}))).await;
        let change = async {
            eventually("a first attempt", async || !bad.requests().is_empty()).await;
            world.connect(connector_to(&good, json!({}))).await;
        };
        let (said, ()) = futures_util::future::join(world.call(json!({})), change).await;
        assert_eq!(said, Value::from(1));
    });
}
