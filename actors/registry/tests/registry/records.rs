//! Records of topics, from the registry to the actor of their channel.

use std::sync::Arc;
use std::time::Duration;

use svc_channels::{BatchProgress, RecordBatch, RecordOutcome, RecordRun, TopicRecord};
use svc_registry::ReloadScope;

use crate::kit::{channel, run};

fn batch() -> RecordBatch {
    let (topic, value) = ("orders".into(), Some(b"1".to_vec()));
    let record = TopicRecord { topic, partition: 0, offset: 0, key: None, value, headers: Vec::new() };
    let run = RecordRun {
        record: Arc::new(record),
        limit: Duration::from_secs(10),
        is_failure_traced: false,
        trace_context: Default::default(),
    };
    RecordBatch::new(vec![run], Arc::new(BatchProgress::default()))
}

#[test]
fn record_whose_channel_is_archived_on_the_way_is_deferred() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("orders", &["POST"], "/orders")).await;
        let running = world.start().await;
        let loaded = Arc::clone(running.registry.snapshot().channel_by_name("orders").unwrap());
        assert!(running.registry.run_records(&loaded, batch()).await.is_none(), "it reaches its channel");
        world.archive_channel("orders").await;
        running.registry.reload(ReloadScope::channel("orders")).await.unwrap();
        let result = running.registry.run_records(&loaded, batch()).await.unwrap();
        assert!(matches!(result.outcome, RecordOutcome::Deferred { .. }), "{result:?}");
    });
}
