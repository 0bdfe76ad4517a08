//! Pauses, from the database to every ingress of a channel.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, json};
use svc_channels::{BatchProgress, RecordBatch, RecordOutcome, RecordRun, TopicRecord};
use svc_model::{ChannelContent, Code};
use svc_registry::{ChannelFilter, ReloadScope};
use svc_store::NewPause;
use svc_testworld::definitions::mutation;
use svc_traces::{Job, JobOutcome, Runner};

use crate::kit::{RegistryWorld, RunningRegistry, channel, run};

async fn pause(world: &RegistryWorld, running: &RunningRegistry, id: &str) {
    let pause = NewPause { until: None, by: "ops".into(), reason: "down".into() };
    world.store.channel_pauses().pause(&[id.into()], pause, mutation()).await.unwrap();
    running.registry.reload(ReloadScope::pauses()).await.unwrap();
}

async fn resume(world: &RegistryWorld, running: &RunningRegistry, id: &str) {
    world.store.channel_pauses().resume(&[id.into()], mutation()).await.unwrap();
    running.registry.reload(ReloadScope::pauses()).await.unwrap();
}

fn job() -> Job {
    Job {
        trace_id: uuid::Uuid::now_v7(),
        channel_id: Some("orders".into()),
        channel: "orders".into(),
        payload: json!({}),
        metadata: Map::new(),
        bucket: None,
        hold: None,
        attempt: None,
        trace_headers: Default::default(),
    }
}

fn batch() -> RecordBatch {
    let (topic, value) = ("orders".into(), Some(b"1".to_vec()));
    let record = TopicRecord { topic, partition: 0, offset: 0, key: None, value, headers: Vec::new() };
    let run = RecordRun {
        record: Arc::new(record),
        limit: Duration::from_secs(10),
        is_failure_traced: false,
        trace_context: Default::default(),
    };
    RecordBatch::new([run], Arc::new(BatchProgress::default()))
}

#[test]
fn paused_channel_runs_nothing_at_any_ingress() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("orders", &["POST"], "/orders")).await;
        let running = world.start().await;
        let registry = &running.registry;
        pause(world, &running, "orders").await;
        let refused = running.post("/orders").await.unwrap_err();
        assert_eq!((refused.code(), refused.retry_after()), (Code::ChannelPaused, Some(30)));
        let completed = registry.run(job(), Duration::from_secs(10), None).await;
        assert!(matches!(completed.ended, JobOutcome::Paused { .. }), "{completed:?}");
        assert!(!registry.is_available("orders") && registry.is_paused(None, "orders"));
        let loaded = Arc::clone(registry.snapshot().channel_by_name("orders").unwrap());
        let result = registry.run_records(&loaded, batch()).await.unwrap();
        assert!(matches!(result.outcome, RecordOutcome::Deferred { .. }), "{result:?}");
        resume(world, &running, "orders").await;
        assert_eq!(running.mark("/orders").await, "w");
        assert!(registry.is_available("orders") && !registry.snapshot().has_pauses());
    });
}

#[test]
fn pause_outlives_new_versions_and_restarts_of_workers() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("orders", &["POST"], "/orders")).await;
        let running = world.start().await;
        pause(world, &running, "orders").await;
        let changed = ChannelContent { priority: 1, ..channel("orders", &["POST"], "/orders") };
        world.channel(changed).await;
        for scope in [ReloadScope::channel("orders"), ReloadScope::All] {
            running.registry.reload(scope).await.unwrap();
            assert_eq!(running.post("/orders").await.unwrap_err().code(), Code::ChannelPaused);
        }
        let worker = running.registry.add_worker(actix_supervision::Placement::Here).await.unwrap();
        running.registry.remove_worker(worker).await.unwrap();
        assert_eq!(running.post("/orders").await.unwrap_err().code(), Code::ChannelPaused);
        let snapshot = Arc::clone(&running.registry.snapshot());
        let paused: Vec<_> = snapshot.paused_channels().iter().map(|(entry, _)| entry.name()).collect();
        assert_eq!(paused, ["orders"]);
    });
}

#[test]
fn archived_channel_stays_paused() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("orders", &["POST"], "/orders")).await;
        let running = world.start().await;
        pause(world, &running, "orders").await;
        world.archive_channel("orders").await;
        running.registry.reload(ReloadScope::channel("orders")).await.unwrap();
        assert!(running.registry.is_paused(Some("orders"), "orders"), "what waits is kept for it");
        resume(world, &running, "orders").await;
        assert!(!running.registry.is_paused(Some("orders"), "orders"));
    });
}

#[test]
fn waiting_work_begins_where_its_channel_serves() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        let filter = ChannelFilter { include: vec!["orders".into()], exclude: Vec::new() };
        let running = world.start_with(filter).await;
        let registry = &running.registry;
        // Another node stored both.
        world.channel(channel("orders", &["POST"], "/orders")).await;
        world.channel(channel("stock", &["POST"], "/stock")).await;
        let begins = async |id: &str| registry.begins_unserved(Some(id.into()), id.into()).await;
        assert!(!registry.serves(Some("orders"), "orders"));
        assert!(begins("orders").await && registry.serves(Some("orders"), "orders"), "it is loaded");
        assert!(!begins("stock").await && !registry.serves(Some("stock"), "stock"));
        assert!(begins("gone").await, "its work ends as a failure");
        assert!(!registry.is_available("stock"), "its dead letters are retried elsewhere");
    });
}

#[test]
fn job_that_calls_paused_channel_waits() {
    run(vec![], async |world| {
        let input = json!({"channel": "stock", "output": "data.got"});
        let call = json!([{"id": "call", "name": "", "function": {"name": "channel_call", "input": input}}]);
        world.workflow_of("w", call).await;
        world.workflow("stock", "stock").await;
        world.channel(channel("orders", &["POST"], "/orders")).await;
        let stock =
            ChannelContent { workflow_id: Some("stock".into()), ..channel("stock", &["POST"], "/stock") };
        world.channel(stock).await;
        let running = world.start().await;
        pause(world, &running, "stock").await;
        let completed = running.registry.run(job(), Duration::from_secs(10), None).await;
        let JobOutcome::Paused { message, .. } = &completed.ended else { panic!("{completed:?}") };
        assert!(message.contains("'stock'"), "{message}");
        assert_eq!(running.post("/orders").await.unwrap_err().code(), Code::ServiceUnavailable);
        resume(world, &running, "stock").await;
        let completed = running.registry.run(job(), Duration::from_secs(10), None).await;
        assert!(matches!(completed.ended, JobOutcome::Completed { .. }), "{completed:?}");
    });
}
