//! A backend in trouble is left alone.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use svc_connectors::{BreakerSettings, BreakerState, ConnectorScope};
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::kit::{connector_to, run, run_with};

fn settings(recovery: Duration) -> Option<BreakerSettings> {
    Some(BreakerSettings { failure_threshold: 2, recovery, max_breakers: 10 })
}

/// A server that answers with a status that can be changed.
fn changing(status: u16) -> (Upstream, Arc<AtomicU16>) {
    let status = Arc::new(AtomicU16::new(status));
    let told = Arc::clone(&status);
    (Upstream::start(move |_| UpstreamReply::new(told.load(Ordering::Relaxed), "1")).unwrap(), status)
}

#[test]
fn consecutive_failed_calls_open_the_breaker() {
    run_with(settings(Duration::from_secs(3600)), async |world| {
        let (upstream, status) = changing(404);
        world
            .connect(connector_to(&upstream, json!({"retry": {"max_retries": 1, "retry_delay_ms": 1}})))
            .await;
        for _ in 0..5 {
            assert_eq!(world.fail(json!({})).await.code.name(), "HTTP_ERROR");
        }
        assert_eq!(world.connectors.breakers().unwrap(), [("ch:c".to_owned(), BreakerState::Closed)]);
        status.store(500, Ordering::Relaxed);
        for _ in 0..2 {
            assert_eq!(world.fail(json!({})).await.code.name(), "HTTP_ERROR");
        }
        let request_count = upstream.requests().len();
        assert_eq!(request_count, 5 + 2 * 2);
        let error = world.fail(json!({})).await;
        assert_eq!((error.code.name(), error.retryable()), ("circuit_open", true));
        assert_eq!(error.message, "the circuit breaker of connector 'c' is open for channel 'ch'");
        assert_eq!(upstream.requests().len(), request_count, "nothing was sent");
        let labels = ["channel=\"ch\"", "connector=\"c\""];
        assert!(world.count(&["circuit_breaker_trips_total", labels[0], labels[1]]).eq(&1.0));
        assert!(world.count(&["circuit_breaker_rejections_total", labels[0], labels[1]]).eq(&1.0));
        assert!(world.count(&["connector_requests_total", labels[0], labels[1]]).eq(&7.0));
        // A reload of the same connector closes nothing.
        world.connectors.reload(ConnectorScope::All).await.unwrap();
        world.connectors.reload(ConnectorScope::One("c".to_owned())).await.unwrap();
        assert_eq!(world.fail(json!({})).await.code.name(), "circuit_open");
        status.store(200, Ordering::Relaxed);
        assert!(world.connectors.reset_breaker("ch:c"));
        assert_eq!(world.call(json!({})).await, 1);
    });
}

#[test]
fn changed_or_recreated_connector_has_closed_breaker() {
    run_with(settings(Duration::from_secs(3600)), async |world| {
        let (upstream, _) = changing(200);
        let dead = json!({"url": "http://127.0.0.1:1", "allow_private_urls": true,
            "retry": {"max_retries": 0}});
        let open = async || {
            world.connect(dead.clone()).await;
            while world.fail(json!({})).await.code.name() != "circuit_open" {}
        };
        open().await;
        world.connect(connector_to(&upstream, json!({}))).await;
        assert_eq!(world.call(json!({})).await, 1);
        open().await;
        world.remove("c").await;
        assert_eq!(world.connectors.breakers().unwrap(), [], "it went with the connector");
        world.connect(connector_to(&upstream, json!({}))).await;
        assert_eq!(world.call(json!({})).await, 1);
        open().await;
        world.put("c", "http", false, dead.clone()).await;
        assert_eq!(world.connectors.breakers().unwrap(), [], "what is switched off has none");
    });
}

#[test]
fn series_of_calls_end_with_connector_and_channel() {
    run_with(settings(Duration::from_secs(3600)), async |world| {
        let (upstream, _) = changing(200);
        world.connect(connector_to(&upstream, json!({}))).await;
        let counted = |connector: &str| {
            ["connector_requests_total", "connector_request_duration_seconds_count"]
                .map(|family| world.count(&[family, connector, "channel=\"ch\""]))
        };
        let (of_c, of_d) = ("connector=\"c\"", "connector=\"d\"");
        assert_eq!(world.call(json!({})).await, 1);
        world.connectors.retain_channels(|channel| channel == "ch");
        world.connectors.reload(ConnectorScope::All).await.unwrap();
        assert_eq!(counted(of_c), [1.0, 1.0]);
        world.connectors.retain_channels(|_| false);
        assert_eq!(counted(of_c), [0.0, 0.0], "they end with the channel");
        assert_eq!(world.call(json!({})).await, 1);
        assert_eq!(counted(of_c), [1.0, 1.0]);
        world.rename("c", "d").await;
        assert_eq!(counted(of_c), [0.0, 0.0], "no connector has the name any more");
        assert!(world.connectors.last_calls("c").is_empty());
        assert_eq!(world.call(json!({"connector": "d"})).await, 1);
        assert_eq!(counted(of_d), [1.0, 1.0]);
        world.remove("c").await;
        assert_eq!(counted(of_d), [0.0, 0.0], "they end with the connector");
    });
}

#[test]
fn call_cut_by_run_deadline_is_a_failure() {
    run_with(settings(Duration::from_secs(3600)), async |world| {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let config = json!({"url": format!("http://127.0.0.1:{port}"), "allow_private_urls": true});
        world.connect(config).await;
        world.put("pg", "db", true, json!({"connection_string": format!("postgres://u@127.0.0.1:{port}/d"), "allow_private_urls": true})).await;
        for (function, connector) in [("http_call", "c"), ("db_read", "pg")] {
            let input = match function {
                "http_call" => json!({}),
                _ => json!({"connector": "pg", "query": "select 1"}),
            };
            let run = async |limit| {
                let outcome = world.task_within(Some(limit), function, input.clone(), Value::Null).await;
                outcome.failure.unwrap().error.code.name()
            };
            for _ in 0..2 {
                assert_eq!(run(Duration::from_secs(1)).await, "TIMEOUT_ERROR");
            }
            assert_eq!(run(Duration::from_secs(10)).await, "circuit_open");
            let connector = format!("connector=\"{connector}\"");
            let failed = ["connector_requests_total", "status=\"error\"", &connector];
            assert!(world.count(&failed).eq(&2.0), "{function}");
            assert!(world.count(&["connector_request_duration_seconds_count", &connector]).eq(&2.0));
            assert!(world.count(&["circuit_breaker_trips_total", &connector]).eq(&1.0));
        }
    });
}

#[test]
fn success_after_recovery_time_closes_the_breaker() {
    run_with(settings(Duration::ZERO), async |world| {
        let (upstream, status) = changing(500);
        world.connect(connector_to(&upstream, json!({"retry": {"max_retries": 0}}))).await;
        for _ in 0..2 {
            world.fail(json!({})).await;
        }
        assert_eq!(world.connectors.breakers().unwrap()[0].1, BreakerState::Open);
        assert_eq!(world.fail(json!({})).await.code.name(), "HTTP_ERROR");
        assert_eq!(world.connectors.breakers().unwrap()[0].1, BreakerState::Open);
        status.store(200, Ordering::Relaxed);
        assert_eq!(world.call(json!({})).await, 1);
        assert_eq!(world.connectors.breakers().unwrap()[0].1, BreakerState::Closed);
    });
}

#[test]
fn failures_before_the_backend_leave_breaker_closed() {
    run_with(settings(Duration::from_secs(3600)), async |world| {
        world.connect(json!({"url": "http://localhost:1", "operations": {"methods": ["GET"]}})).await;
        for input in [json!({}), json!({"method": "POST"}), json!({"connector": "gone"})] {
            for _ in 0..3 {
                world.fail(input.clone()).await;
            }
        }
        let states = world.connectors.breakers().unwrap();
        assert!(states.iter().all(|(_, state)| *state == BreakerState::Closed), "{states:?}");
    });
}

#[test]
fn disabled_breaker_lets_every_call_through() {
    run(async |world| {
        let (upstream, _) = changing(500);
        world.connect(connector_to(&upstream, json!({"retry": {"max_retries": 0}}))).await;
        for _ in 0..10 {
            assert_eq!(world.fail(json!({})).await.code.name(), "HTTP_ERROR");
        }
        assert!(world.connectors.breakers().is_none());
    });
}
