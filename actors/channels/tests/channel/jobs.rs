//! Jobs that were accepted: how they run, and what is kept of them.

use std::time::Duration;

use actix_supervision::Universe;
use serde_json::{Map, Value, json};
use svc_channels::{PanicFlag, RunJob, Settings};
use svc_traces::{Job, JobFailure, JobOutcome, JobResult};
use uuid::Uuid;

use crate::kit::{Kit, Orders, copy, empty_workflow, task};

const LIMIT: Duration = Duration::from_secs(60);

fn job(payload: Value) -> Job {
    Job {
        trace_id: Uuid::now_v7(),
        channel_id: Some("orders".into()),
        channel: "orders".into(),
        payload,
        metadata: Map::from_iter([("auth".to_owned(), json!({"claims": {"sub": "u-1"}}))]),
        bucket: None,
        hold: None,
        attempt: None,
        trace_headers: Default::default(),
    }
}

async fn run(orders: &Orders, job: Job) -> JobResult {
    orders.0.ask(RunJob { job, limit: LIMIT, pinned: None, panicked: PanicFlag::default() }).await.unwrap()
}

fn failure(completed: &JobResult) -> &str {
    let JobOutcome::Failed(JobFailure { message, .. }) = &completed.ended else { panic!("{completed:?}") };
    message
}

fn code(completed: &JobResult) -> Option<&'static str> {
    let JobOutcome::Failed(JobFailure { code, .. }) = &completed.ended else { panic!("{completed:?}") };
    *code
}

#[test]
fn job_result_is_the_message_under_trace_id() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let tasks = json!([
            copy("payload.qty", "data.qty"),
            copy("metadata.auth.claims.sub", "temp_data.who"),
            copy("payload.control", "data._svc.response"),
        ]);
        let orders = kit.serve(&tree, json!({}), &tasks).await;
        let job = job(json!({"qty": 3, "control": {"status": 201}}));
        let id = job.trace_id;
        let completed = run(&orders, job).await;
        let JobOutcome::Completed { result: Some(result) } = completed.ended else { panic!("{completed:?}") };
        let message: Value = serde_json::from_str(&result).unwrap();
        assert_eq!(message["id"], id.to_string());
        assert_eq!(message["payload"]["qty"], 3);
        assert_eq!(message["context"]["data"], json!({"qty": 3}), "the control document is gone");
        assert_eq!(message["context"]["temp_data"], json!({"who": "u-1"}));
        assert_eq!(message["context"]["metadata"]["auth"]["claims"]["sub"], "u-1");
        assert_eq!(message["errors"], json!([]));
        let entry = &message["audit_trail"][0];
        assert_eq!((&entry["task_id"], &entry["status"]), (&json!("data.qty"), &json!(200)));
        assert_eq!(entry["changes"], json!([{"path": "data.qty", "old_value": null, "new_value": 3}]));
        assert!(kit.metrics_text().contains(r#"svc_messages_total{channel="orders",status="ok"} 1"#));
    });
}

#[test]
fn job_keeps_its_key_at_every_attempt() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let orders = kit.serve(&tree, json!({}), &json!([copy("metadata.run.key", "data.key")])).await;
        let key = async |job| {
            let completed = run(&orders, job).await;
            let JobOutcome::Completed { result: Some(result) } = completed.ended else {
                panic!("{completed:?}")
            };
            serde_json::from_str::<Value>(&result).unwrap()["context"]["data"]["key"].clone()
        };
        let unnamed = job(json!({}));
        let id = unnamed.trace_id.to_string();
        assert_eq!(key(unnamed).await, id, "a job of an older version is named by its trace");
        let mut named = job(json!({}));
        named.metadata.insert("run".into(), json!({"key": "first"}));
        assert_eq!(key(named).await, "first", "a retry has another trace and the same key");
    });
}

/// A task whose failure its workflow tolerates.
fn tolerated(mut task: Value) -> Value {
    task["continue_on_error"] = json!(true);
    task
}

#[test]
fn untolerated_error_fails_job_and_is_named() {
    let refuse = || task("validation", json!({"rules": [{"logic": false, "message": "no quantity"}]}));
    for (tasks, named) in [
        (json!([task("fail", json!({}))]), "fail: FUNCTION_ERROR the host db.internal refused"),
        (json!([refuse()]), "validation: VALIDATION_ERROR no quantity"),
        (json!([tolerated(task("fail", json!({}))), refuse()]), "validation: VALIDATION_ERROR no quantity"),
    ] {
        Universe::new(1).run(async |tree| {
            let kit = Kit::new(Settings::default());
            let orders = kit.serve(&tree, json!({}), &tasks).await;
            let completed = run(&orders, job(json!({}))).await;
            let message = failure(&completed);
            assert!(message.starts_with(named), "{message}");
            if named.starts_with("validation") {
                assert_eq!(code(&completed), Some("VALIDATION_ERROR"), "not that of a tolerated error");
            }
            assert!(kit.metrics_text().contains(r#"svc_messages_total{channel="orders",status="error"} 1"#));
        });
    }
}

#[test]
fn tolerated_error_fails_no_job_but_is_listed() {
    let refuse = task("validation", json!({"rules": [{"logic": false, "message": "no quantity"}]}));
    for (task, code) in [(task("fail", json!({})), "FUNCTION_ERROR"), (refuse, "VALIDATION_ERROR")] {
        Universe::new(1).run(async |tree| {
            let kit = Kit::new(Settings::default());
            let orders = kit.serve(&tree, json!({}), &json!([tolerated(task.clone())])).await;
            let completed = run(&orders, job(json!({}))).await;
            let JobOutcome::Completed { result: Some(result) } = &completed.ended else {
                panic!("{completed:?}")
            };
            let result: Value = serde_json::from_str(result).unwrap();
            let error = &result["errors"][0];
            assert_eq!((&error["code"], &error["tolerated"]), (&json!(code), &json!(true)), "{result}");
            let page = kit.metrics_text();
            assert!(page.contains(r#"svc_messages_total{channel="orders",status="ok"} 1"#), "{page}");
        });
    }
}

#[test]
fn job_is_bounded_by_channel_and_queue_timeout() {
    for (timeout_ms, seconds) in [(json!(5000), 5), (json!(90_000), 60), (Value::Null, 60)] {
        Universe::new(1).run(async |tree| {
            let kit = Kit::new(Settings::default());
            let config = if timeout_ms.is_null() { json!({}) } else { json!({"timeout_ms": timeout_ms}) };
            let orders = kit.serve(&tree, config, &json!([task("hang", json!({}))])).await;
            let completed = run(&orders, job(json!({}))).await;
            assert!(failure(&completed).contains("TIMEOUT_ERROR"), "{completed:?}");
            assert_eq!(completed.took.as_secs(), seconds);
            let page = kit.metrics_text();
            assert!(page.contains(r#"svc_messages_total{channel="orders",status="timeout"} 1"#), "{page}");
            assert!(page.contains(r#"svc_errors_total{reason="timeout"} 1"#), "{page}");
        });
    }
}

#[test]
fn result_over_cap_ends_job_without_result() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings { max_result_bytes: Some(2000), ..Settings::default() });
        let orders = kit.serve(&tree, json!({}), &empty_workflow()).await;
        let small = run(&orders, job(json!({}))).await;
        assert!(matches!(small.ended, JobOutcome::Completed { .. }), "{small:?}");
        let large = run(&orders, job(json!({"text": "x".repeat(2000)}))).await;
        let JobOutcome::TooLarge { message } = &large.ended else { panic!("{large:?}") };
        assert!(message.contains("2000"), "{message}");
        let uncounted = "svc_errors_total{reason=\"result_size_exceeded\"} 0\n";
        assert!(kit.metrics_text().contains(uncounted), "the worker of the queue counts it");
    });
}

#[test]
fn job_without_permit_returns_when_none_is_free() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({"backpressure": {"max_concurrent_per_node": 1}});
        let orders = kit.serve(&tree, config, &json!([task("hold", json!({}))])).await;
        let running = orders.clone();
        let running = actix_rt::spawn(async move { running.post(json!({})).await });
        kit.hold.wait_for_entries(1).await;
        let refused = job(json!({"n": 1}));
        let id = refused.trace_id;
        let JobOutcome::Busy(again) = run(&orders, refused).await.ended else { panic!("it ran") };
        assert_eq!((again.trace_id, &again.payload), (id, &json!({"n": 1})));
        let held = Job { hold: Some(svc_traces::JobHold::new(())), ..job(json!({})) };
        kit.hold.release();
        kit.hold.release();
        assert!(matches!(run(&orders, held).await.ended, JobOutcome::Completed { .. }), "it has its permit");
        assert!(running.await.unwrap().is_ok());
        kit.hold.release();
        assert!(matches!(run(&orders, *again).await.ended, JobOutcome::Completed { .. }));
    });
}

#[test]
fn guards_are_not_asked_again() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({
            "auth": {"mode": "api_key", "keys": ["k"]},
            "validation_logic": false,
            "rate_limit": {"requests_per_second": 1, "burst": 1},
        });
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        for _ in 0..3 {
            let completed = run(&orders, job(json!({}))).await;
            assert!(matches!(completed.ended, JobOutcome::Completed { .. }), "{completed:?}");
        }
    });
}
