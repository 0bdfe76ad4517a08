//! Accepted jobs, from the queue to the actor of their channel.

use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{FaultKind, Placement, PlannedFault};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::{Map, Value, json};
use svc_model::ChannelContent;
use svc_registry::ReloadScope;
use svc_traces::{Job, JobFailure, JobOutcome, JobResult, Runner};

use crate::kit::{RunningRegistry, channel, run};
use crate::supervision::exhaust;

fn job(id: Option<&str>, name: &str) -> Job {
    Job {
        trace_id: uuid::Uuid::now_v7(),
        channel_id: id.map(Arc::from),
        channel: name.into(),
        payload: json!({}),
        metadata: Map::new(),
        bucket: None,
        hold: None,
        attempt: None,
        trace_headers: Default::default(),
    }
}

async fn perform(running: &RunningRegistry, job: Job) -> JobResult {
    running.registry.run(job, Duration::from_secs(10), None).await
}

/// Returns the value that the workflow of the job wrote to `from`.
fn mark(completed: &JobResult) -> Value {
    let JobOutcome::Completed { result: Some(result) } = &completed.ended else { panic!("{completed:?}") };
    let message: Value = serde_json::from_str(result).unwrap();
    message["context"]["data"]["from"].clone()
}

fn failure(completed: &JobResult) -> &str {
    let JobOutcome::Failed(JobFailure { message, .. }) = &completed.ended else { panic!("{completed:?}") };
    message
}

#[test]
fn job_finds_channel_by_id_then_name() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("orders", &["POST"], "/orders")).await;
        let running = world.start().await;
        for (id, name) in [(Some("orders"), "renamed since"), (Some("gone"), "orders"), (None, "orders")] {
            assert_eq!(mark(&perform(&running, job(id, name)).await), "w", "{id:?} {name}");
        }
        let completed = perform(&running, job(Some("gone"), "nobody")).await;
        assert!(failure(&completed).contains("'nobody'"), "{completed:?}");
        let mut counted = Registry::with_prefix("svc");
        world.metrics.register(&mut counted);
        let mut page = String::new();
        encode(&mut page, &counted).unwrap();
        assert!(page.contains(r#"svc_messages_total{channel="_unknown",status="error"} 1"#), "{page}");
    });
}

#[test]
fn jobs_rotate_over_workers_and_stay_there() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("orders", &["POST"], "/orders")).await;
        let running = world.start().await;
        let (first, registry) = (running.worker.number(), &running.registry);
        let second = registry.add_worker(Placement::Here).await.unwrap();
        let mut turns = Vec::new();
        for _ in 0..4 {
            turns.push(registry.next_thread().unwrap().id);
            perform(&running, job(Some("orders"), "orders")).await;
        }
        assert_eq!(turns, [first, second.number(), first, second.number()]);
        let handled = |worker: usize| {
            let ends_there = |path: &str| path.contains("orders") && path.ends_with(&format!("/{worker}"));
            let nodes = world.tree.snapshot().nodes;
            nodes
                .iter()
                .filter(|node| ends_there(&node.path.to_string()))
                .map(|node| node.handled)
                .sum::<u64>()
        };
        let before = (handled(first), handled(second.number()));
        for _ in 0..3 {
            let job = job(Some("orders"), "orders");
            registry.run(job, Duration::from_secs(10), Some(second.number())).await;
        }
        assert_eq!((handled(first), handled(second.number())), (before.0, before.1 + 3));
        registry.remove_worker(second).await.unwrap();
        assert!(registry.has_thread(first) && !registry.has_thread(second.number()));
        assert_eq!([0; 2].map(|_| registry.next_thread().unwrap().id), [first; 2]);
    });
}

#[test]
fn job_of_quarantined_channel_fails_with_reason() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("orders", &["POST"], "/orders")).await;
        let running = world.start().await;
        let broken = ChannelContent {
            config: json!({"auth": {"mode": "api_key", "keys": ["env://UNSET"]}}),
            ..channel("orders", &["POST"], "/orders")
        };
        world.channel(broken).await;
        running.registry.reload(ReloadScope::channel("orders")).await.unwrap();
        let completed = perform(&running, job(Some("orders"), "orders")).await;
        let JobOutcome::Unavailable { message } = &completed.ended else { panic!("{completed:?}") };
        assert_eq!(message, "Channel is unavailable");
        assert!(running.reason("orders").unwrap().starts_with("auth:"));
        assert!(!running.registry.is_available("orders") && running.registry.is_available("gone"));
        for path in ["/orders", "/orders/async"] {
            assert_eq!(running.post(path).await.unwrap_err().status(), 503, "{path}");
        }
        world.channel(channel("orders", &["POST"], "/orders")).await;
        running.registry.reload(ReloadScope::channel("orders")).await.unwrap();
        assert_eq!(mark(&perform(&running, job(Some("orders"), "orders")).await), "w");
    });
}

#[test]
fn a_job_whose_run_crashes_fails_and_says_so() {
    let kind = FaultKind::Panic;
    let fault = PlannedFault { path: "channels/orders/*".into(), message: "RunJob".into(), nth: 1, kind };
    run(vec![fault], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("orders", &["POST"], "/orders")).await;
        let running = world.start().await;
        let completed = perform(&running, job(Some("orders"), "orders")).await;
        assert_eq!(failure(&completed), "Internal server error");
        assert_eq!(mark(&perform(&running, job(Some("orders"), "orders")).await), "w");
    });
}

#[test]
fn panicked_job_is_permanent_failure_cut_job_retries() {
    let kind = FaultKind::Panic;
    let fault = PlannedFault { path: "channels/cut/*".into(), message: "RunJob".into(), nth: 1, kind };
    run(vec![fault], async |world| {
        let crash = json!([{"id": "t", "name": "t", "function": {"name": "crash", "input": {}}}]);
        world.workflow_of("w", crash).await;
        world.channel(channel("orders", &["POST"], "/orders")).await;
        world.channel(channel("cut", &["POST"], "/cut")).await;
        let running = world.start().await;
        let ended = async |name: &str| match perform(&running, job(Some(name), name)).await.ended {
            JobOutcome::Failed(JobFailure { message, is_transient, .. }) => (message, is_transient),
            other => panic!("{other:?}"),
        };
        assert_eq!(ended("orders").await, (svc_channels::CRASHED.to_owned(), false));
        // It never came to the run.
        assert_eq!(ended("cut").await, ("Internal server error".to_owned(), true));
    });
}

#[test]
fn job_of_quarantined_channel_fails_without_detail() {
    let kind = FaultKind::Panic;
    let fault = |nth| PlannedFault {
        path: "channels/orders/*".into(),
        message: "ProbeVersion".into(),
        nth,
        kind: kind.clone(),
    };
    run((1..=3).map(fault).collect(), async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("orders", &["POST"], "/orders")).await;
        let running = world.start().await;
        exhaust(&running, "orders").await;
        let completed = perform(&running, job(Some("orders"), "orders")).await;
        let JobOutcome::Unavailable { message: told } = &completed.ended else { panic!("{completed:?}") };
        assert_eq!(told, "Channel is unavailable");
    });
}

#[test]
fn a_job_waits_while_no_worker_is_there() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("orders", &["POST"], "/orders")).await;
        let running = world.start().await;
        running.registry.remove_worker(running.worker).await.unwrap();
        let given = job(Some("orders"), "orders");
        let id = given.trace_id;
        let JobOutcome::Busy(again) = perform(&running, given).await.ended else { panic!("it ran") };
        assert_eq!(again.trace_id, id);
        running.registry.add_worker(actix_supervision::Placement::Here).await.unwrap();
        assert_eq!(mark(&perform(&running, *again).await), "w");
    });
}

async fn failure_channel(running: &RunningRegistry, id: Option<&str>, name: &str) -> Option<Arc<str>> {
    running.registry.on_failure(id.map(Into::into), name.into()).await
}

#[test]
fn failure_channel_of_unserved_channel_is_known() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        let orders = ChannelContent {
            config: json!({"on_failure": "alerts"}),
            ..channel("orders", &["POST"], "/orders")
        };
        world.channel(orders.clone()).await;
        let running = world.start().await;
        let alerts: Option<Arc<str>> = Some("alerts".into());
        assert_eq!(failure_channel(&running, Some("orders"), "orders").await, alerts);
        let broken = json!({"on_failure": "alerts", "auth": {"mode": "api_key", "keys": ["env://UNSET"]}});
        world.channel(ChannelContent { config: broken, ..orders }).await;
        running.registry.reload(ReloadScope::channel("orders")).await.unwrap();
        assert!(running.is_quarantined("orders"));
        assert_eq!(failure_channel(&running, None, "orders").await, alerts);
        world.archive_channel("orders").await;
        running.registry.reload(ReloadScope::channel("orders")).await.unwrap();
        for (id, name) in [(Some("orders"), "orders"), (None, "orders")] {
            assert_eq!(failure_channel(&running, id, name).await, alerts, "{id:?} {name}");
        }
        assert_eq!(failure_channel(&running, None, "nobody").await, None);
    });
}
