//! Responses: envelopes, task errors, failures, crashes.

use std::time::Duration;

use actix_supervision::{CallErrorKind, Universe};
use serde_json::{Value, json};
use svc_channels::{DataRequest, ProbeVersion, Settings, ShapeLimits, Submit, refusal};
use svc_model::Code;

use crate::kit::{Kit, body, copy, http, task};

/// A task that fails.
fn broken_task(continue_on_error: bool) -> Value {
    let mut task = task("fail", json!({}));
    task["continue_on_error"] = json!(continue_on_error);
    task
}

#[test]
fn a_clean_run_answers_the_envelope_and_nothing_more() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let orders = kit.serve(&tree, json!({}), &json!([copy("payload.qty", "data.qty")])).await;
        let answer = body(orders.post(json!({"qty": 3})).await);
        let id = uuid::Uuid::parse_str(answer["id"].as_str().unwrap()).unwrap();
        assert_eq!(id.get_version_num(), 7);
        assert_eq!(answer, json!({"id": answer["id"], "status": "ok", "data": {"qty": 3}, "errors": []}));
        assert!(kit.metrics_text().contains(r#"svc_messages_total{channel="orders",status="ok"} 1"#));
    });
}

#[test]
fn errors_of_continued_run_are_listed_under_200() {
    for (verbose, shows) in [(false, "full detail is available in the trace"), (true, "db.internal")] {
        Universe::new(1).run(async |tree| {
            let kit = Kit::new(Settings { verbose_errors: verbose, ..Settings::default() });
            let tasks = json!([broken_task(true), copy("payload.text", "data.text")]);
            let orders = kit.serve(&tree, json!({}), &tasks).await;
            let answer = body(orders.post(json!({"text": "kept"})).await);
            assert_eq!(answer["status"], "ok");
            assert_eq!(answer["data"], json!({"text": "kept"}));
            assert_eq!(answer["request_id"], "req-1");
            let error = &answer["errors"][0];
            assert_eq!((&error["task_id"], &error["code"]), (&json!("fail"), &json!("FUNCTION_ERROR")));
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(shows), "{message}");
        });
    }
}

#[test]
fn untolerated_error_counts_answered_run_as_error() {
    for (is_tolerated, status) in [(false, "error"), (true, "ok")] {
        Universe::new(1).run(async |tree| {
            let kit = Kit::new(Settings::default());
            let mut check = task("validation", json!({"rules": [{"logic": false, "message": "no"}]}));
            check["continue_on_error"] = json!(is_tolerated);
            let orders = kit.serve(&tree, json!({}), &json!([check])).await;
            let answer = body(orders.post(json!({})).await);
            assert_eq!(answer["errors"][0]["code"], "VALIDATION_ERROR", "{answer}");
            let page = kit.metrics_text();
            let counted = format!(r#"svc_messages_total{{channel="orders",status="{status}"}} 1"#);
            assert!(page.contains(&counted), "{page}");
        });
    }
}

#[test]
fn stopping_failure_names_task_and_requested_cause() {
    for (verbose_errors, expected) in [
        (false, "Task 'fail' failed with FUNCTION_ERROR; the trace of the run has the cause"),
        (true, "Task 'fail' failed with FUNCTION_ERROR: the host db.internal refused"),
    ] {
        Universe::new(1).run(async |tree| {
            let kit = Kit::new(Settings { verbose_errors, ..Settings::default() });
            let orders = kit.serve(&tree, json!({}), &json!([broken_task(false)])).await;
            let error = orders.post(json!({"text": "kept"})).await.unwrap_err();
            assert_eq!((error.code(), error.message()), (Code::EngineError, expected));
            let page = kit.metrics_text();
            assert!(page.contains(r#"svc_messages_total{channel="orders",status="error"} 1"#));
            assert!(page.contains(r#"svc_errors_total{reason="engine"} 1"#));
        });
    }
}

#[test]
fn result_over_cap_is_refused_with_both_sizes() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings { max_result_bytes: Some(200), ..Settings::default() });
        let orders = kit.serve(&tree, json!({}), &json!([copy("payload.text", "data.text")])).await;
        assert!(orders.post(json!({"text": "short"})).await.is_ok());
        let error = orders.post(json!({"text": "x".repeat(200)})).await.unwrap_err();
        assert_eq!(error.code(), Code::ResponseTooLarge);
        assert!(error.message().contains("200") && error.message().contains("bytes"), "{}", error.message());
    });
}

#[test]
fn the_deadline_of_a_run_answers_504() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let orders = kit.serve(&tree, json!({"timeout_ms": 60_000}), &json!([task("hang", json!({}))])).await;
        let before = tokio::time::Instant::now();
        let error = orders.post(json!({})).await.unwrap_err();
        assert_eq!((error.code(), error.status()), (Code::Timeout, 504));
        assert_eq!(before.elapsed().as_secs(), 60);
        assert!(kit.metrics_text().contains(r#"svc_messages_total{channel="orders",status="timeout"} 1"#));
    });
}

#[test]
fn crashing_payload_costs_only_its_own_answer() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let mut crash = task("crash", json!({}));
        crash["condition"] = json!({"==": [{"var": "payload.evil"}, true]});
        let orders =
            kit.serve(&tree, json!({"backpressure": {"max_concurrent_per_node": 1}}), &json!([crash])).await;
        for _ in 0..20 {
            let error = orders.post(json!({"evil": true})).await.unwrap_err();
            assert_eq!((error.code(), error.message()), (Code::InternalError, "Internal server error"));
        }
        assert!(orders.post(json!({"evil": false})).await.is_ok(), "the permits of crashed runs came back");
        assert!(kit.metrics_text().contains(r#"svc_messages_total{channel="orders",status="error"} 20"#));
        let vitals = orders.0.vitals();
        assert_eq!((vitals.generation, vitals.restarts), (1, 0));
        assert_eq!(orders.0.call(ProbeVersion).await.unwrap(), 1);
    });
}

#[test]
fn run_id_ignores_ids_of_the_caller() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let orders = kit.serve(&tree, json!({}), &json!([copy("metadata.run.key", "data.key")])).await;
        let mut keys = Vec::new();
        for _ in 0..5 {
            let forged = json!({"data": {}, "metadata": {"run": {"key": "forged"}}});
            let answer = body(orders.submit(http(forged, &[("x-request-id", "req-1")])).await);
            assert_eq!(answer["data"]["key"], answer["id"], "the request id of all five is req-1");
            keys.push(answer["data"]["key"].to_string());
        }
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 5);
    });
}

#[test]
fn repeated_message_keeps_key_of_first_run() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({
            "auth": {"mode": "api_key", "header": "x-tenant", "keys": ["one", "two"]},
            "deduplication": {"header": "idempotency-key", "window_secs": 60},
        });
        let orders = kit.serve(&tree, config, &json!([copy("metadata.run.key", "data.key")])).await;
        let ask = async |tenant: &str, key: &str| {
            let request = http(json!({}), &[("x-tenant", tenant), ("idempotency-key", key)]);
            body(orders.submit(request).await)["data"]["key"].clone()
        };
        let first = ask("one", "order-1").await;
        assert!(first.as_str().is_some_and(|key| key.len() == 32), "{first}");
        assert_ne!(ask("two", "order-1").await, first);
        assert_ne!(ask("one", "order-2").await, first);
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(ask("one", "order-1").await, first);
    });
}

#[test]
fn too_wide_body_is_refused_before_any_guard() {
    Universe::new(1).run(async |tree| {
        let shape_limits = ShapeLimits { object_members: 3, array_elements: 2 };
        let kit = Kit::new(Settings { shape_limits, ..Settings::default() });
        let config = json!({"validation_logic": {"==": [1, 2]}});
        let orders = kit.serve(&tree, config, &json!([copy("payload", "data.all")])).await;
        let refused = orders.submit(http(json!({"data": {"rows": [1, 2, 3]}}), &[])).await.unwrap_err();
        assert_eq!(refused.status(), 400);
        let expected = "body.data.rows: an array of 3 elements; ingest.max_array_elements allows 2";
        assert_eq!(refused.message(), expected);
    });
}

#[test]
fn profile_is_added_if_requested_and_allowed() {
    for (allowed, asked, given) in [(true, true, true), (true, false, false), (false, true, false)] {
        Universe::new(1).run(async |tree| {
            let kit = Kit::new(Settings { profiles: allowed, ..Settings::default() });
            let orders = kit.serve(&tree, json!({}), &json!([copy("payload", "data.all")])).await;
            let request = DataRequest { profile: asked, ..http(json!({}), &[]) };
            let answer = body(orders.submit(request).await);
            let profile = &answer["_svc"]["profile"];
            assert_eq!(profile.is_object(), given);
            if given {
                assert_eq!(profile["handlers"][0]["function"], "map");
                assert_eq!(profile["by_function"]["map"]["count"], 1);
            }
        });
    }
}

#[test]
fn every_failed_call_has_its_answer() {
    let answer = |kind| {
        refusal::from_call_error("orders", &actix_supervision::CallError::<Submit> { kind, message: None })
    };
    let quarantined = CallErrorKind::Quarantined { reason: "no key".into() };
    for (kind, status, retry_after) in [
        (CallErrorKind::Full, 503, Some(1)),
        (CallErrorKind::Draining, 503, Some(1)),
        (CallErrorKind::Stopped, 503, Some(1)),
        (CallErrorKind::Restarting { retry_after: Duration::from_millis(10) }, 503, Some(1)),
        (CallErrorKind::Restarting { retry_after: Duration::from_millis(4200) }, 503, Some(5)),
        (quarantined, 503, None),
        (CallErrorKind::Crashed, 500, None),
        (CallErrorKind::Expired, 504, None),
    ] {
        let error = answer(kind.clone());
        assert_eq!((error.status(), error.retry_after()), (status, retry_after), "{kind:?}");
    }
    let error = answer(CallErrorKind::Quarantined { reason: "last exit: panicked at".into() });
    assert_eq!(error.message(), "Channel is unavailable", "the reason is for operators");
    assert_eq!(answer(CallErrorKind::Full).message(), "Channel 'orders' is at capacity");
}

#[test]
fn timings_last_until_the_last_definition_goes() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let tasks = json!([copy("payload.a", "data.a"), copy("payload.b", "data.b")]);
        let sibling = kit.build(json!({}), &tasks).unwrap();
        let orders = kit.serve(&tree, json!({}), &tasks).await;
        for _ in 0..2 {
            body(orders.post(json!({"a": 1})).await);
        }
        let page = kit.metrics_text();
        assert!(page.contains("svc_workflow_duration_seconds_count{workflow=\"flow\"} 2"), "{page}");
        let task = "svc_task_duration_seconds_count{workflow=\"flow\",task=\"data.b\",function=\"map\"} 2";
        assert!(page.contains(task), "{page}");
        let runs = "svc_workflow_runs_total{workflow=\"flow\",version=\"1\",status=\"ok\"} 2";
        assert!(page.contains(runs), "{page}");

        let reloaded = kit.build(json!({}), &tasks).unwrap();
        drop(sibling);
        tree.retire("channels/orders", Duration::from_secs(5)).await.unwrap();
        drop(orders);
        assert!(kit.metrics_text().contains(task), "a reload goes on counting");
        drop(reloaded);
        assert!(!kit.metrics_text().contains("workflow="), "{}", kit.metrics_text());
    });
}
