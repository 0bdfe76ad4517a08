//! Crashes and refusals are counted by one rule, whichever way a message came.

use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{FaultKind, PlannedFault};
use futures_util::future::AbortHandle;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::{Map, json};
use svc_channels::{ScheduledRun, ScheduledRunOutcome, ScheduledRunResult};
use svc_model::{ChannelContent, RunEnd};
use svc_traces::{Job, JobOutcome, Runner as _};
use uuid::Uuid;

use crate::kit::{RegistryWorld, RunningRegistry, channel, run};

/// The number of failures counted for a reason.
fn error_count(world: &RegistryWorld, reason: &str) -> u64 {
    let mut registry = Registry::default();
    world.metrics.register(&mut registry);
    let mut page = String::new();
    encode(&mut page, &registry).unwrap();
    let series = format!("errors_total{{reason=\"{reason}\"}} ");
    page.lines().find_map(|line| line.strip_prefix(&*series)).map_or(0, |count| count.parse().unwrap())
}

async fn run_job(running: &RunningRegistry) -> JobOutcome {
    let job = Job {
        trace_id: Uuid::now_v7(),
        channel_id: Some(Arc::from("orders")),
        channel: "orders".into(),
        payload: json!({}),
        metadata: Map::new(),
        bucket: None,
        hold: None,
        attempt: None,
        trace_headers: Default::default(),
    };
    running.registry.run(job, Duration::from_secs(10), None).await.ended
}

async fn run_scheduled(running: &RunningRegistry) -> ScheduledRunResult {
    let orders = Arc::clone(running.registry.snapshot().channel_by_name("orders").unwrap());
    let scheduled = ScheduledRun {
        payload: json!({}),
        trigger: Map::new(),
        key: "orders:1".into(),
        bucket: 0,
        default_limit: Duration::from_secs(10),
        trace_id: Uuid::now_v7(),
        abort: AbortHandle::new_pair().1,
        pinned: None,
        cancellation: None,
    };
    running.registry.run_scheduled(&orders, None, scheduled).await
}

fn has_failed(outcome: &ScheduledRunOutcome) -> bool {
    matches!(outcome, ScheduledRunOutcome::Ended(settlement) if settlement.end == RunEnd::Failed)
}

#[test]
fn crash_is_counted_once_whichever_way_the_message_came() {
    let fault = |message: &str| PlannedFault {
        path: "channels/orders/*".into(),
        message: message.into(),
        nth: 1,
        kind: FaultKind::Panic,
    };
    run(["Submit", "RunJob", "RunScheduled"].map(fault).into(), async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("orders", &["POST"], "/orders")).await;
        let running = world.start().await;
        assert_eq!(running.post("/orders").await.unwrap_err().status(), 500);
        assert_eq!(error_count(world, "panic"), 1);
        assert!(matches!(run_job(&running).await, JobOutcome::Failed(_)));
        assert_eq!(error_count(world, "panic"), 2);
        let failed = run_scheduled(&running).await.outcome;
        assert!(has_failed(&failed), "{failed:?}");
        assert_eq!(error_count(world, "panic"), 3);
        assert_eq!(error_count(world, "channel_quarantined"), 0);
    });
}

#[test]
fn quarantine_is_counted_once_whichever_way_the_message_came() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        let config = json!({"auth": {"mode": "api_key", "keys": ["env://UNSET"]}});
        world.channel(ChannelContent { config, ..channel("orders", &["POST"], "/orders") }).await;
        let running = world.start().await;
        assert_eq!(running.post("/orders").await.unwrap_err().status(), 503);
        assert_eq!(error_count(world, "channel_quarantined"), 1);
        assert!(matches!(run_job(&running).await, JobOutcome::Unavailable { .. }));
        assert_eq!(error_count(world, "channel_quarantined"), 2);
        let failed = run_scheduled(&running).await.outcome;
        assert!(has_failed(&failed), "{failed:?}");
        assert_eq!(error_count(world, "channel_quarantined"), 3);
        assert_eq!(error_count(world, "panic"), 0);
    });
}
