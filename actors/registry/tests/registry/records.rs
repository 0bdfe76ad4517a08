//! Records of topics, from the registry to the actor of their channel.

use std::sync::Arc;
use std::time::Duration;

use svc_channels::{BatchProgress, RecordBatch, RecordOutcome, RecordRun, TopicRecord};
use svc_registry::ReloadScope;

use crate::kit::{channel, run};

fn record_run(offset: i64) -> RecordRun {
    let (topic, value) = ("orders".into(), Some(b"1".to_vec()));
    let record = TopicRecord { topic, partition: 0, offset, key: None, value, headers: Vec::new() };
    RecordRun {
        record: Arc::new(record),
        limit: Duration::from_secs(10),
        is_failure_traced: false,
        trace_context: Default::default(),
    }
}

fn batch() -> RecordBatch {
    RecordBatch::new([record_run(0)], Arc::new(BatchProgress::default()))
}

#[test]
fn record_of_a_just_archived_channel_is_deferred() {
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

#[test]
fn added_record_runs_with_its_batch() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("orders", &["POST"], "/orders")).await;
        let running = world.start().await;
        let loaded = Arc::clone(running.registry.snapshot().channel_by_name("orders").unwrap());
        let progress = loop {
            let progress = Arc::new(BatchProgress::default());
            let batch = RecordBatch::new([record_run(0)], Arc::clone(&progress));
            progress.extend([record_run(1)]);
            assert!(running.registry.run_records(&loaded, batch).await.is_none());
            let results = progress.take_results();
            assert!(results.iter().all(|result| result.outcome == RecordOutcome::Completed));
            match results.len() {
                2 => break progress,
                // A record that took milliseconds, as under load, is the last of its batch.
                count => assert_eq!(count, 1),
            }
        };
        progress.extend([record_run(2)]);
        assert!(progress.take_results().is_empty(), "the batch has ended");
    });
}
