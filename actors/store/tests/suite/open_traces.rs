//! Rows of runs that began before they were on disk.

use std::sync::Arc;

use futures_util::future::{join, join3};
use svc_model::WorkflowVersion;
use svc_store::{NewTrace, OpenTrace, StoreError, TraceEnd, TraceStatus};
use uuid::Uuid;

use super::database::TestDatabase;
use super::traces::{end, pending, status};

/// Opens the row of a run, with what accepted work has.
fn open() -> (Uuid, Arc<OpenTrace>) {
    let row = NewTrace {
        access_token_hash: Some("ab".repeat(32)),
        owner: Some("a".into()),
        request_id: Some("r1".into()),
        ..pending("orders")
    };
    (row.id, Arc::new(OpenTrace::new(row)))
}

pub(crate) async fn open_row_is_written_with_its_end(db: TestDatabase) {
    let traces = db.store().await.traces();
    let (id, row) = open();
    let ended = TraceEnd {
        result_json: Some(r#"{"é":1}"#.into()),
        task_trace_json: Some("[]".into()),
        workflow: Some(WorkflowVersion { id: "w".into(), version: 3 }),
        ..end(id, TraceStatus::Completed)
    };
    assert!(row.end(&ended));
    traces.insert_open(Arc::clone(&row)).await.unwrap();
    let trace = traces.get(&id.to_string()).await.unwrap().unwrap();
    assert_eq!((&*trace.row.status, &*trace.row.mode), ("completed", "async"));
    assert_eq!((&trace.result_json, &trace.task_trace_json), (&ended.result_json, &ended.task_trace_json));
    assert_eq!((trace.row.workflow_id.as_deref(), trace.row.workflow_version), (Some("w"), Some(3)));
    assert_eq!(trace.row.duration_ms, ended.duration_ms);
    let ran = trace.row.completed_at.unwrap().naive() - trace.row.started_at.unwrap().naive();
    assert!((ran.num_milliseconds() - 1500).abs() <= 2, "{ran}");
    let token = traces.access(&id.to_string()).await.unwrap().unwrap().token_hash;
    assert_eq!(token, Some("ab".repeat(32)));

    // It has ended: no later end, start or node has it.
    assert!(!row.end(&ended), "its transaction is over");
    assert!(!traces.finish(end(id, TraceStatus::Failed)).await.unwrap());
    assert!(!traces.start(id, None, None).await.unwrap());
    assert!(traces.unfinished_async(&"b".into(), None, 10).await.unwrap().0.is_empty());
    assert!(traces.adopt(&"b".into(), vec![(id, Some("a".into()))]).await.unwrap().is_empty());
    assert_eq!(traces.get(&id.to_string()).await.unwrap(), Some(trace));
}

pub(crate) async fn end_after_the_open_row_is_a_change(db: TestDatabase) {
    let traces = db.store().await.traces();
    let (id, row) = open();
    traces.insert_open(Arc::clone(&row)).await.unwrap();
    assert_eq!(status(&traces, id).await.as_deref(), Some("pending"));
    let ended = end(id, TraceStatus::Completed);
    assert!(!row.end(&ended), "its transaction is over");
    assert!(traces.finish(ended).await.unwrap());
    assert_eq!(status(&traces, id).await.as_deref(), Some("completed"));
    traces.insert_open(row).await.expect_err("it is there already");
    assert_eq!(status(&traces, id).await.as_deref(), Some("completed"), "nothing is overwritten");
}

pub(crate) async fn open_rows_of_a_refused_set_keep_their_ends(db: TestDatabase) {
    let traces = db.store().await.traces();
    let there = pending("orders");
    traces.insert(there.clone()).await.unwrap();
    for _ in 0..5 {
        let ((ended, with_end), (running, without_end)) = (open(), open());
        assert!(with_end.end(&end(ended, TraceStatus::Completed)));
        let refused = join(traces.insert(there.clone()), traces.insert(there.clone()));
        let opened = (traces.insert_open(with_end), traces.insert_open(without_end));
        let ((first, second), written, other) = join3(refused, opened.0, opened.1).await;
        for refused in [first, second] {
            assert!(matches!(refused, Err(StoreError::Database(_))), "{refused:?}");
        }
        written.unwrap();
        other.unwrap();
        assert_eq!(status(&traces, ended).await.as_deref(), Some("completed"));
        assert_eq!(status(&traces, running).await.as_deref(), Some("pending"));
    }
}

pub(crate) async fn refused_row_ends_trust_until_a_success(db: TestDatabase) {
    let traces = db.store().await.traces();
    for _ in 0..5 {
        traces.insert(pending("orders")).await.unwrap();
        assert!(traces.has_written_lately());
        // The caller that learns of the refusal finds it recorded.
        let (_, row) = open();
        traces.insert_open(Arc::clone(&row)).await.unwrap();
        traces.insert_open(row).await.expect_err("it is there already");
        assert!(!traces.has_written_lately());
    }
    traces.insert(pending("orders")).await.unwrap();
    assert!(traces.has_written_lately());
}
