//! APIs that want a token: how calls come by it, and what they fail with.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use svc_connectors::BreakerSettings;
use svc_testkit::upstream::{Upstream, UpstreamReply};
use tokio::time::Instant;

use crate::kit::{connector_to, run, run_with};

/// An API that says what it was shown, next to its token endpoint `/token`, which answers by `grant` and the
/// number of the request, from 1.
fn api(grant: impl Fn(usize) -> UpstreamReply + Send + Sync + 'static, status: u16) -> Upstream {
    let calls = AtomicUsize::new(0);
    Upstream::start(move |request| match request.target.as_str() {
        "/token" => grant(calls.fetch_add(1, Ordering::SeqCst) + 1),
        _ => UpstreamReply::new(status, json!(request.header("authorization")).to_string()),
    })
    .unwrap()
}

fn granting(number: usize) -> UpstreamReply {
    UpstreamReply::new(
        200,
        json!({"access_token": format!("token-{number}"), "expires_in": 3600}).to_string(),
    )
}

fn oauth(upstream: &Upstream, more: Value) -> Value {
    let mut auth = json!({"type": "oauth2", "grant": "client_credentials", "token_url": upstream.url("/token"),
        "client_id": "id", "client_secret": "swordfish"});
    for (key, value) in more.as_object().unwrap() {
        auth[key] = value.clone();
    }
    connector_to(upstream, json!({"auth": auth, "retry": {"max_retries": 0}}))
}

fn requests(upstream: &Upstream) -> usize {
    upstream.requests().iter().filter(|asked| asked.target == "/token").count()
}

#[test]
fn token_is_fetched_once_and_sent_by_all() {
    run(async |world| {
        let upstream = api(granting, 200);
        world.connect(oauth(&upstream, json!({"scopes": ["a", "b"]}))).await;
        assert!(upstream.requests().is_empty(), "nothing is asked before it is needed");
        for _ in 0..3 {
            assert_eq!(world.call(json!({"path": "x"})).await, "Bearer token-1");
        }
        assert_eq!(requests(&upstream), 1);
        let request = upstream.requests().remove(0);
        assert_eq!(request.text(), "grant_type=client_credentials&scope=a+b");
        assert_eq!(request.header("authorization"), Some("Basic aWQ6c3dvcmRmaXNo"));
        assert_eq!(request.header("content-type"), Some("application/x-www-form-urlencoded"));
        // A change that leaves the block alone leaves the token; credentials of a task go before it.
        let mut config = oauth(&upstream, json!({"scopes": ["a", "b"]}));
        config["headers"] = json!({"Authorization": "connector"});
        world.connect(config).await;
        assert_eq!(world.call(json!({})).await, "Bearer token-1");
        assert_eq!(world.call(json!({"headers": {"Authorization": "own"}})).await, "own");
        // A change of the block is a new beginning.
        world.connect(oauth(&upstream, json!({"scopes": ["a"]}))).await;
        assert_eq!(world.call(json!({})).await, "Bearer token-2");
        assert!(world.count(&["oauth_token_requests_total", "connector=\"c\"", "outcome=\"ok\""]).eq(&2.0));
        world.remove("c").await;
        assert!(world.count(&["oauth_token_requests_total", "connector=\"c\""]).eq(&0.0), "they end with it");
    });
}

#[test]
fn refusal_names_code_and_opens_no_breaker() {
    let breakers =
        BreakerSettings { failure_threshold: 1, recovery: Duration::from_secs(3600), max_breakers: 10 };
    run_with(Some(breakers), async |world| {
        let body = json!({"error": "invalid_client", "error_description": "no swordfish"}).to_string();
        let upstream = api(move |_| UpstreamReply::new(401, body.clone()), 200);
        world.connect(oauth(&upstream, json!({}))).await;
        for _ in 0..5 {
            let error = world.fail(json!({})).await;
            assert_eq!((error.code.name(), error.retryable()), ("connector_detail", false));
            assert_eq!(
                error.message,
                "connector 'c': the token endpoint refused with status 401: invalid_client"
            );
            assert!(!format!("{error:?}").contains("swordfish"));
        }
        assert_eq!((upstream.requests().len(), requests(&upstream)), (1, 1));
        assert!(world.count(&["oauth_token_requests_total", "outcome=\"rejected\""]).eq(&1.0));
        assert!(world.count(&["circuit_breaker_trips_total"]).eq(&0.0));
        // An edited block clears it at once.
        world.connect(oauth(&upstream, json!({"client_id": "other"}))).await;
        world.fail(json!({})).await;
        assert_eq!(requests(&upstream), 2);
    });
}

#[test]
fn unreachable_token_endpoint_is_retried_and_opens_breaker() {
    let breakers =
        BreakerSettings { failure_threshold: 3, recovery: Duration::from_secs(3600), max_breakers: 10 };
    run_with(Some(breakers), async |world| {
        let upstream = api(|number| UpstreamReply::new(if number < 3 { 503 } else { 502 }, ""), 200);
        world.connect(oauth(&upstream, json!({}))).await;
        for status in [503, 503, 502] {
            let error = world.fail(json!({})).await;
            assert_eq!((error.code.name(), error.retryable()), ("IO_ERROR", true));
            assert!(error.message.contains(&format!("status {status}")), "{}", error.message);
        }
        assert_eq!(world.fail(json!({})).await.code.name(), "circuit_open");
        assert_eq!(requests(&upstream), 3);
        assert!(world.count(&["oauth_token_requests_total", "outcome=\"transport_error\""]).eq(&3.0));
    });
}

#[test]
fn token_refused_by_api_is_replaced_next_call() {
    run(async |world| {
        let calls = AtomicUsize::new(0);
        let upstream = Upstream::start(move |request| match request.header("authorization") {
            _ if request.target == "/token" => granting(calls.fetch_add(1, Ordering::SeqCst) + 1),
            Some("Bearer token-1") => UpstreamReply::new(401, "token-1 is no good"),
            _ => UpstreamReply::new(200, "1"),
        })
        .unwrap();
        world.connect(oauth(&upstream, json!({}))).await;
        let error = world.fail(json!({})).await;
        assert_eq!((error.code.name(), error.http_status), ("HTTP_ERROR", Some(401)));
        assert!(error.message.ends_with("****** is no good"), "{}", error.message);
        assert_eq!(world.call(json!({})).await, 1);
        assert_eq!(requests(&upstream), 2);
    });
}

#[test]
fn wait_for_token_is_bounded_by_call_timeout() {
    run(async |world| {
        let upstream = Arc::new(api(|_| UpstreamReply::Held, 200));
        world.connect(oauth(&upstream, json!({}))).await;
        let error = world.fail(json!({"timeout_ms": 50})).await;
        assert_eq!((error.code.name(), error.retryable()), ("TIMEOUT_ERROR", true));
    });
}

#[test]
fn local_token_endpoint_is_refused_when_dialled() {
    run(async |world| {
        let upstream = api(granting, 200);
        let mut config = oauth(&upstream, json!({"token_url": "http://localhost:1/token"}));
        config["url"] = "https://api.example".into();
        config["allow_private_urls"] = false.into();
        world.connect(config).await;
        let error = world.fail(json!({})).await;
        assert_eq!((error.code.name(), error.retryable()), ("FUNCTION_ERROR", false));
        assert!(error.message.starts_with("SSRF protection: "), "{}", error.message);
        let remedy = "(connector 'c': auth.token_url)";
        assert!(error.message.ends_with(remedy), "{}", error.message);
    });
}

#[test]
fn trying_a_connector_out_obtains_a_real_token() {
    run(async |world| {
        let upstream = api(granting, 200);
        world.connect(oauth(&upstream, json!({}))).await;
        let probe = world.probe("c").await;
        assert_eq!((probe.reachable, probe.probe, requests(&upstream)), (true, "GET url", 1));
        assert_eq!(world.call(json!({})).await, "Bearer token-1", "and calls use it");
        let refusing = api(|_| UpstreamReply::new(400, r#"{"error": "invalid_scope"}"#), 200);
        world.connect(oauth(&refusing, json!({}))).await;
        let probe = world.probe("c").await;
        assert_eq!((probe.reachable, probe.probe), (false, "token"));
        assert!(probe.error.unwrap().ends_with("status 400: invalid_scope"));
    });
}

#[test]
fn busy_token_endpoint_is_retried_after_requested_wait() {
    run(async |world| {
        let busy = |number| match number {
            1 => UpstreamReply::Answer {
                status: 429,
                headers: vec![("retry-after".into(), "1".into())],
                body: br#"{"error": "rate_limited"}"#.to_vec(),
            },
            number => granting(number),
        };
        let upstream = api(busy, 200);
        let mut config = oauth(&upstream, json!({}));
        config["retry"] = json!({"max_retries": 3, "retry_delay_ms": 1});
        world.connect(config).await;
        let begun = Instant::now();
        assert_eq!(world.call(json!({"path": "x"})).await, "Bearer token-2");
        assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
        assert_eq!(requests(&upstream), 2);
    });
}
