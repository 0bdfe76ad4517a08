//! Traces of synchronous runs.

use std::time::Duration;

use serde_json::json;
use svc_model::config::TracingMode;
use svc_model::{Timestamp, id::new_ordered_id};
use svc_store::DatabaseStatus;
use svc_testkit::state::wait_until;
use svc_traces::{OverflowPolicy, Record, RecordPolicy, Settings, TraceMode, TracePolicy};
use tokio::time::Instant;

use crate::kit::{HOUR, Process, recording, run, run_impatient};

fn policy(mode: TracingMode) -> TracePolicy {
    TracePolicy { mode, sample_rate: 1.0, errors_only: false, task_details: false, keep_input: false }
}

fn record(clean: bool) -> Record {
    Record {
        trace_id: new_ordered_id(),
        channel: "orders".into(),
        channel_id: "orders-id".into(),
        mode: TraceMode::Sync,
        request_id: None,
        input: None,
        run_key: None,
        error_code: None,
        error_group: None,
        result: Some(json!({ "data": {} }).to_string()),
        error: None,
        workflow: None,
        clean,
        task_trace: None,
        distributed_trace_id: None,
        started_at: Timestamp::parse("2026-01-01T00:00:00").unwrap().naive(),
        took: Duration::from_millis(1500),
    }
}

async fn put(process: &Process, mode: TracingMode, records: usize) {
    for _ in 0..records {
        process.traces.record(&policy(mode), record(true)).await.unwrap();
    }
}

#[test]
fn sync_trace_is_stored_before_the_answer() {
    run(async |world| {
        let process = world.boot(|_| {}).await;
        let record = record(true);
        let id = record.trace_id;
        process.traces.record(&policy(TracingMode::Sync), record).await.unwrap();
        let row = process.trace(id).await;
        assert_eq!((&*row.row.status, &*row.row.mode), ("completed", "sync"));
        assert_eq!(row.row.duration_ms, Some(1500.0));
        assert_eq!(row.row.completed_at.unwrap().to_string(), "2026-01-01T00:00:01.500Z");
        assert_eq!(row.result_json.as_deref(), Some(r#"{"data":{}}"#));
    });
}

#[test]
fn unstored_sync_trace_is_an_error_to_caller() {
    run_impatient(async |world| {
        let process = world.boot(|_| {}).await;
        let lock = world.lock();
        let failed = process.traces.record(&policy(TracingMode::Sync), record(true)).await.unwrap_err();
        assert_eq!((failed.status(), failed.retry_after()), (503, Some(5)));
        assert_eq!(process.metric("trace_persistence_failures_total"), 1.0);
        assert_eq!(process.error_count("storage"), 1);
        drop(lock);
        let policy = policy(TracingMode::Sync);
        wait_until(async || process.traces.record(&policy, record(true)).await.is_ok()).await;
    });
}

#[test]
fn dropped_traces_are_counted_by_reason() {
    run(async |world| {
        let process = world.boot(|_| {}).await;
        let dropped = |reason: &str| process.metric(&format!(r#"trace_dropped_total{{reason="{reason}"}}"#));
        assert!(process.traces.draw(&policy(TracingMode::Batch)));
        assert!(!process.traces.draw(&policy(TracingMode::Off)));
        assert!(!process.traces.draw(&TracePolicy { sample_rate: 0.0, ..policy(TracingMode::Sync) }));
        let errors_only = TracePolicy { errors_only: true, ..policy(TracingMode::Sync) };
        process.traces.record(&errors_only, record(true)).await.unwrap();
        assert_eq!(["off", "sampled_out", "errors_only"].map(dropped), [1.0; 3]);
        assert_eq!(process.count("").await, 0);
        process.traces.record(&errors_only, record(false)).await.unwrap();
        assert_eq!(process.count("").await, 1);
    });
}

#[test]
fn async_and_batch_traces_are_written_after_answer() {
    run(async |world| {
        let process = world.boot(|_| {}).await;
        put(&process, TracingMode::Async, 30).await;
        wait_until(async || process.count("").await == 30).await;
        wait_until(async || process.metric("trace_persistence_batch_size_count") == 30.0).await;
        put(&process, TracingMode::Batch, 35).await;
        wait_until(async || process.count("").await == 65).await;
        wait_until(async || process.metric("trace_persistence_queue_depth") == 0.0).await;
        let batches = process.metric("trace_persistence_batch_size_count") - 30.0;
        assert!((4.0..=8.0).contains(&batches), "{batches}");
        assert_eq!(process.metric("trace_persistence_batch_size_sum"), 65.0);
    });
}

/// One writer, and a queue of two rows.
fn narrow(settings: &mut Settings) {
    settings.recorder.max_pending = 2;
    settings.recorder.async_workers = 1;
}

#[test]
fn too_many_traces_are_dropped_and_counted() {
    run(async |world| {
        let process = world.boot(narrow).await;
        let lock = world.lock();
        put(&process, TracingMode::Async, 1).await;
        wait_until(async || process.metric("trace_persistence_batch_size_count") == 1.0).await;
        put(&process, TracingMode::Async, 9).await;
        assert_eq!(process.metric(r#"trace_dropped_total{reason="overflow"}"#), 7.0);
        assert_eq!(process.metric("trace_persistence_queue_depth"), 3.0);
        drop(lock);
        wait_until(async || process.count("").await == 3).await;
    });
}

#[test]
fn request_waits_for_room_within_its_limit() {
    run(async |world| {
        let process = world
            .boot(|settings| {
                narrow(settings);
                settings.recorder.overflow = OverflowPolicy::Block(Duration::from_millis(200));
            })
            .await;
        let lock = world.lock();
        put(&process, TracingMode::Async, 1).await;
        wait_until(async || process.metric("trace_persistence_batch_size_count") == 1.0).await;
        put(&process, TracingMode::Async, 2).await;
        let begin = Instant::now();
        put(&process, TracingMode::Async, 1).await;
        assert!(begin.elapsed() >= Duration::from_millis(200));
        assert_eq!(process.metric(r#"trace_dropped_total{reason="overflow"}"#), 1.0);
        drop(lock);
        put(&process, TracingMode::Async, 5).await;
        wait_until(async || process.count("").await >= 7).await;
    });
}

#[test]
fn unwritable_traces_are_lost_and_counted() {
    run_impatient(async |world| {
        let process = world.boot(|_| {}).await;
        let lock = world.lock();
        put(&process, TracingMode::Batch, 3).await;
        wait_until(async || process.metric("trace_persistence_failures_total") == 3.0).await;
        process.comes_to("trace_persistence_queue_depth", 0.0).await;
        drop(lock);
        put(&process, TracingMode::Batch, 1).await;
        wait_until(async || process.count("").await == 1).await;
    });
}

#[test]
fn waiting_traces_are_written_at_shutdown() {
    run(async |world| {
        let change = |settings: &mut Settings| {
            settings.recorder.batch_flush_interval = HOUR;
            settings.recorder.batch_size = 1000;
        };
        let process = world.boot(change).await;
        put(&process, TracingMode::Batch, 20).await;
        assert_eq!(process.count("").await, 0);
        process.tree.shutdown(Duration::from_secs(30)).await;
        assert_eq!(world.boot(|_| {}).await.count("").await, 20);
    });
}

#[test]
fn row_found_on_retry_counts_as_written() {
    run_impatient(async |world| {
        let process = world.boot(|_| {}).await;
        let lock = world.lock();
        let record = record(true);
        let id = record.trace_id;
        process.traces.record(&policy(TracingMode::Async), record).await.unwrap();
        wait_until(async || process.store.status() != DatabaseStatus::Ok).await;
        lock.commit(&format!(
            "INSERT INTO traces (id, channel, mode, status) VALUES ('{id}', 'c', 'sync', 'completed')"
        ));
        wait_until(async || process.metric("trace_persistence_queue_depth") == 0.0).await;
        assert_eq!((process.metric("trace_persistence_failures_total"), process.count("").await), (0.0, 1));
    });
}

/// The recordings that a process has written or refused.
fn settled_recordings(process: &Process) -> f64 {
    let count = |outcome: &str| process.metric(&format!("trace_recordings_total{{outcome=\"{outcome}\"}}"));
    count("stored") + count("max_per_day")
}

#[test]
fn nodes_share_the_recordings_of_a_day() {
    run(async |world| {
        let (first, second) = (world.boot(|_| {}).await, world.boot(|_| {}).await);
        let policy = RecordPolicy { max_per_day: 20, ..RecordPolicy::default() };
        for (process, runs) in [(&first, 1), (&second, 1), (&first, 30), (&second, 30)] {
            let expected = settled_recordings(process) + f64::from(runs);
            for _ in 0..runs {
                process.traces.keep_recording(&policy, recording("{}"));
            }
            wait_until(async || settled_recordings(process) == expected).await;
        }
        assert_eq!(first.store.recordings().count_today("orders-id").await.unwrap(), 20);
    });
}
