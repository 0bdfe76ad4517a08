//! Traces: writes, ends, single reads, deletion.

use std::time::Duration;

use actix_supervision::{FaultKind, PlannedFault, Tree};
use chrono::{NaiveDate, NaiveDateTime};
use futures_util::future::{join, join_all};
use svc_model::WorkflowVersion;
use svc_store::{
    NewTrace, RowKey, StoreError, TraceAccess, TraceEnd, TraceFailure, TraceMode, TraceQuery,
    TraceRepository, TraceStatus,
};
use tokio::time::timeout;
use uuid::Uuid;

use super::database::TestDatabase;
use super::{any_mutation, is_unavailable, workflow};

pub(crate) fn pending(channel: &str) -> NewTrace {
    NewTrace {
        channel_id: Some("c1".into()),
        input_json: Some(r#"{"data":{"a":1},"metadata":{"ip":"::1"},"bucket":7}"#.into()),
        ..NewTrace::new(Uuid::now_v7(), channel.into(), TraceMode::Async, TraceStatus::Pending)
    }
}

pub(crate) fn end(id: Uuid, status: TraceStatus) -> TraceEnd {
    TraceEnd {
        id,
        status,
        result_json: Some("{}".into()),
        error_message: None,
        error_code: None,
        error_group: None,
        duration_ms: Some(1500.0),
        task_trace_json: None,
        workflow: None,
        ownership: None,
    }
}

pub(crate) fn failure(id: Uuid) -> TraceFailure {
    TraceFailure {
        id,
        result_json: None,
        error_message: "no luck".into(),
        error_code: Some("HTTP_ERROR"),
        error_group: None,
        duration_ms: Some(2.0),
        task_trace_json: Some("[]".into()),
        workflow: None,
        retry_count: 0,
        max_retries: 5,
        delay: Duration::ZERO,
        retries: false,
        ownership: None,
        report: None,
    }
}

pub(crate) async fn status(traces: &TraceRepository, id: Uuid) -> Option<String> {
    traces.get(&id.to_string()).await.unwrap().map(|trace| trace.row.status)
}

/// Returns the number of stored traces.
pub(crate) async fn count_traces(traces: &TraceRepository) -> i64 {
    let all = TraceQuery { include_total: true, ..TraceQuery::default() };
    traces.list(all).await.unwrap().total.unwrap()
}

/// Returns SQL for the instant this many hours ago.
pub(crate) fn ago(db: &TestDatabase, hours: u32) -> String {
    if db.is_sqlite() {
        format!("strftime('%Y-%m-%d %H:%M:%f', 'now', '-{hours} hours')")
    } else {
        format!("(now() AT TIME ZONE 'utc') - interval '{hours} hours'")
    }
}

fn noon(micros: u32) -> NaiveDateTime {
    NaiveDate::from_ymd_opt(2026, 1, 1).unwrap().and_hms_micro_opt(12, 0, 0, micros).unwrap()
}

pub(crate) async fn a_trace_is_stored_whole(db: TestDatabase) {
    let traces = db.store().await.traces();
    let whole = NewTrace {
        channel_id: Some("c1".into()),
        input_json: Some(r#"{"data":"é \u0000 \" '"}"#.into()),
        result_json: Some("[1.5]".into()),
        error_message: Some("why\0not".into()),
        duration_ms: Some(1.25),
        started_at: Some(noon(123_456)),
        completed_at: Some(noon(0)),
        task_trace_json: Some("[]".into()),
        access_token_hash: Some("ab".repeat(32)),
        ..NewTrace::new(Uuid::now_v7(), "orders".into(), TraceMode::Kafka, TraceStatus::Failed)
    };
    let bare = NewTrace::new(Uuid::now_v7(), "é".into(), TraceMode::Cron, TraceStatus::Running);
    let (first, second) = join(traces.insert(whole.clone()), traces.insert(bare.clone())).await;
    first.unwrap();
    second.unwrap();
    let id = whole.id.to_string();
    let read = traces.get(&id).await.unwrap().unwrap();
    assert_eq!((read.result_json, read.task_trace_json), (whole.result_json, whole.task_trace_json));
    assert_eq!(traces.access(&id).await.unwrap().unwrap().token_hash, whole.access_token_hash);
    let row = read.row;
    assert_eq!((row.channel.as_str(), row.channel_id.as_deref()), ("orders", Some("c1")));
    assert_eq!((row.mode.as_str(), row.status.as_str()), ("kafka", "failed"));
    assert_eq!(row.error_message.as_deref(), Some("why\u{FFFD}not"), "no database keeps U+0000");
    assert_eq!(row.duration_ms, Some(1.25));
    assert_eq!(row.started_at.map(svc_model::Timestamp::naive), whole.started_at);
    assert_eq!(row.completed_at.map(svc_model::Timestamp::naive), whole.completed_at);
    assert!(row.created_at <= row.updated_at);
    let read = traces.get(&bare.id.to_string()).await.unwrap().unwrap();
    assert_eq!((read.row.channel.as_str(), read.row.channel_id, read.row.started_at), ("é", None, None));
    assert_eq!((read.result_json, read.task_trace_json), (None, None));
    assert_eq!(traces.access(&bare.id.to_string()).await.unwrap(), Some(TraceAccess { token_hash: None }));
    for absent in ["", "a\0", &Uuid::now_v7().to_string()] {
        assert_eq!(traces.get(absent).await.unwrap(), None);
        assert_eq!(traces.access(absent).await.unwrap(), None);
    }
    // Reads of a trace do not return its input, so the input is copied to a column that they return.
    db.execute("UPDATE traces SET result_json = input_json").await.unwrap();
    assert_eq!(traces.get(&id).await.unwrap().unwrap().result_json, whole.input_json);
}

pub(crate) async fn a_run_begins_and_ends_once(db: TestDatabase) {
    let traces = db.store().await.traces();
    let trace = pending("orders");
    let id = trace.id;
    assert!(
        !traces.start(id, None, None).await.unwrap()
            && !traces.finish(end(id, TraceStatus::Failed)).await.unwrap()
    );
    traces.insert(trace).await.unwrap();
    let workflow = WorkflowVersion { id: "w".into(), version: 3 };
    assert!(traces.start(id, Some(workflow), None).await.unwrap());
    assert!(!traces.start(id, None, None).await.unwrap(), "it runs already");
    let running = traces.get(&id.to_string()).await.unwrap().unwrap().row;
    assert_eq!((running.status.as_str(), running.completed_at), ("running", None));
    assert_eq!((running.workflow_id.as_deref(), running.workflow_version), (Some("w"), Some(3)));
    let (first, second) =
        join(traces.finish(end(id, TraceStatus::Completed)), traces.finish(end(id, TraceStatus::Failed)))
            .await;
    assert_eq!((first.unwrap(), second.unwrap()), (true, false), "one end, the first");
    let trace = traces.get(&id.to_string()).await.unwrap().unwrap();
    assert_eq!((trace.row.status.as_str(), trace.result_json.as_deref()), ("completed", Some("{}")));
    assert_eq!(trace.row.started_at, running.started_at, "when it began stays");
    assert_eq!(
        trace.row.workflow_id, running.workflow_id,
        "an end without a workflow keeps that of the start"
    );
    assert!(trace.row.completed_at >= running.started_at && running.started_at >= Some(trace.row.created_at));
    assert!(trace.row.updated_at >= running.updated_at && trace.row.created_at == running.created_at);
    assert!(!traces.start(id, None, None).await.unwrap());
    assert!(!traces.fail_to_dead_letters(failure(id)).await.unwrap());
    assert_eq!(traces.get(&id.to_string()).await.unwrap(), Some(trace));
}

pub(crate) async fn unmarked_run_keeps_its_start_time(db: TestDatabase) {
    let traces = db.store().await.traces();
    let trace = pending("orders");
    let id = trace.id;
    traces.insert(trace).await.unwrap();
    assert!(traces.finish(end(id, TraceStatus::Completed)).await.unwrap());
    let row = traces.get(&id.to_string()).await.unwrap().unwrap().row;
    let ran = row.completed_at.unwrap().naive() - row.started_at.unwrap().naive();
    assert!((ran.num_milliseconds() - 1500).abs() <= 2, "{ran}");
}

pub(crate) async fn a_refused_row_fails_alone(db: TestDatabase) {
    let traces = db.store().await.traces();
    let rows: Vec<_> = (0..60).map(|_| pending("orders")).collect();
    traces.insert(rows[0].clone()).await.unwrap();
    // The first row exists already, so the set fails and every row is tried alone, together with ends that must
    // succeed.
    let ends = traces.finish(end(rows[0].id, TraceStatus::Completed));
    let (answers, ended) = join(join_all(rows.iter().map(|row| traces.insert(row.clone()))), ends).await;
    assert!(matches!(&answers[0], Err(StoreError::Database(_))), "{:?}", answers[0]);
    assert!(answers[1..].iter().all(Result::is_ok), "{answers:?}");
    assert!(ended.unwrap());
    assert_eq!(count_traces(&traces).await, 60);
    assert_eq!(status(&traces, rows[0].id).await.as_deref(), Some("completed"));
    let more = vec![rows[3].clone(), pending("orders"), pending("orders")];
    assert!(traces.insert_all(more).await.is_err(), "one is there");
    assert_eq!(count_traces(&traces).await, 62, "the others are written");
}

pub(crate) async fn rows_of_a_batch_are_stored_together(db: TestDatabase) {
    let traces = db.store().await.traces();
    let rows: Vec<_> = (0..3).map(|_| pending("orders")).collect();
    traces.insert_together(rows.clone()).await.unwrap();
    assert_eq!(count_traces(&traces).await, 3);
    let refused = traces.insert_together(vec![pending("orders"), rows[1].clone(), pending("orders")]).await;
    assert!(matches!(refused, Err(StoreError::Database(_))), "{refused:?}");
    assert_eq!(count_traces(&traces).await, 3, "none of them is written");
}

pub(crate) async fn rows_and_units_are_written_together(db: TestDatabase) {
    let store = db.store().await;
    let (traces, workflows) = (store.traces(), store.workflows());
    let rows: Vec<_> = (0..1500).map(|_| pending("orders")).collect();
    let units = (0..20).map(|n| workflows.create(Some(format!("w{n}")), workflow("w"), any_mutation()));
    let (rows, units) = join(join_all(rows.into_iter().map(|row| traces.insert(row))), join_all(units)).await;
    assert!(rows.iter().all(Result::is_ok) && units.iter().all(Result::is_ok));
    assert_eq!(count_traces(&traces).await, 1500);
    assert_eq!(workflows.list(Default::default(), Default::default()).await.unwrap().1, 20);
}

pub(crate) async fn a_failed_commit_fails_every_row_of_it(db: TestDatabase) {
    let traces = db.store().await.traces();
    let broken = if db.is_sqlite() {
        "CREATE TABLE parents (id INTEGER PRIMARY KEY);
         CREATE TABLE children (parent INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED);
         CREATE TRIGGER no_commit AFTER INSERT ON traces BEGIN INSERT INTO children VALUES (1); END;"
    } else {
        "CREATE FUNCTION no_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no commit'; END $$;
         CREATE CONSTRAINT TRIGGER no_commit AFTER INSERT ON traces DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW EXECUTE FUNCTION no_commit();"
    };
    db.execute(broken).await.unwrap();
    for answer in join_all((0..20).map(|_| traces.insert(pending("orders")))).await {
        assert!(matches!(answer, Err(StoreError::Unavailable(_))), "nobody knows whose fault: {answer:?}");
    }
    assert_eq!(count_traces(&traces).await, 0);
    let mended = if db.is_sqlite() { "DROP TRIGGER no_commit" } else { "DROP TRIGGER no_commit ON traces" };
    db.execute(mended).await.unwrap();
    traces.insert(pending("orders")).await.expect("the next commit holds");
}

pub(crate) async fn row_ending_the_transaction_spares_its_neighbours(db: TestDatabase) {
    let traces = db.store().await.traces();
    db.execute(
        "CREATE TRIGGER poison BEFORE INSERT ON traces WHEN NEW.channel = 'poison'
         BEGIN SELECT RAISE(ROLLBACK, 'poison'); END;",
    )
    .await
    .unwrap();
    let rows = (0..20).map(|n| pending(if n == 7 { "poison" } else { "orders" }));
    for answer in join_all(rows.map(|row| traces.insert(row))).await {
        assert!(!matches!(answer, Err(StoreError::Database(_))), "{answer:?}");
    }
    traces.insert(pending("orders")).await.expect("the next transaction holds");
}

pub(crate) async fn a_crash_of_the_writer_loses_no_row(db: TestDatabase) {
    let fault =
        PlannedFault { path: "store/writer".into(), message: "*".into(), nth: 5, kind: FaultKind::Panic };
    let tree = Tree::builder("test").faults(vec![fault]).build();
    let store = db.store_in(&tree).await;
    let (traces, workflows) = (store.traces(), store.workflows());
    let rows: Vec<_> = (0..20).map(|_| pending("orders")).collect();
    let units =
        join_all((0..9).map(|n| workflows.create(Some(format!("w{n}")), workflow("w"), any_mutation())));
    let (units, answers) = join(units, join_all(rows.iter().map(|row| traces.insert(row.clone())))).await;
    assert!(is_unavailable(&units[4]), "the actor has crashed: {:?}", units[4]);
    for (row, answer) in rows.iter().zip(answers) {
        answer.expect("the queue outlives the actor");
        assert!(status(&traces, row.id).await.is_some(), "it was promised");
    }
}

pub(crate) async fn unfinished_traces_are_found_in_order(db: TestDatabase) {
    let before = db.store().await.traces();
    let mut left: Vec<_> = (0..7).map(|_| pending("orders")).collect();
    for row in &left {
        before.insert(row.clone()).await.unwrap();
    }
    before.start(left[2].id, None, None).await.unwrap();
    before.finish(end(left[4].id, TraceStatus::Completed)).await.unwrap();
    before.insert(NewTrace { mode: TraceMode::Sync, ..pending("orders") }).await.unwrap();
    drop(before);
    let traces = db.store().await.traces();
    traces.insert(NewTrace { owner: Some("me".into()), ..pending("orders") }).await.unwrap();
    let id = left.remove(4).id;
    let node = "me".into();
    let mut found = Vec::new();
    let mut after: Option<RowKey> = None;
    loop {
        let (page, last) = traces.unfinished_async(&node, after, 4).await.unwrap();
        found.extend(page);
        after = last;
        if after.is_none() {
            break;
        }
    }
    let ids = |rows: &[NewTrace]| rows.iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(found.iter().map(|row| row.id).collect::<Vec<_>>(), ids(&left), "and not {id}");
    assert_eq!((found[0].channel.as_str(), found[0].channel_id.as_deref()), ("orders", Some("c1")));
    assert_eq!(found[0].input_json, left[0].input_json);
}

pub(crate) async fn a_page_of_foreign_rows_hides_none_behind_it(db: TestDatabase) {
    let before = db.store().await.traces();
    let insert = |id: &str| {
        format!("INSERT INTO traces (id, channel, mode, status) VALUES ('{id}', 'c', 'async', 'pending');")
    };
    let foreign: String = ["a", "b", "c"].into_iter().map(insert).collect();
    db.execute(&foreign).await.unwrap();
    let row = pending("orders");
    before.insert(row.clone()).await.unwrap();
    let (traces, node) = (db.store().await.traces(), "me".into());
    let (page, last) = traces.unfinished_async(&node, None, 3).await.unwrap();
    assert!(page.is_empty(), "not ours: {page:?}");
    let (page, last) = traces.unfinished_async(&node, last, 3).await.unwrap();
    assert_eq!((page.len(), page[0].id), (1, row.id));
    assert!(traces.unfinished_async(&node, last, 3).await.unwrap().1.is_none());
}

pub(crate) async fn expired_traces_are_deleted_in_steps(db: TestDatabase) {
    let traces = db.store().await.traces();
    let rows: Vec<_> = (0..30).map(|_| pending("orders")).collect();
    traces.insert_all(rows.clone()).await.unwrap();
    for row in &rows[..20] {
        traces.finish(end(row.id, TraceStatus::Completed)).await.unwrap();
    }
    let age = |ids: &[NewTrace], hours| {
        let ids: Vec<_> = ids.iter().map(|row| format!("'{}'", row.id)).collect();
        let ago = ago(&db, hours);
        format!("UPDATE traces SET created_at = {ago} WHERE id IN ({})", ids.join(", "))
    };
    for (ids, hours) in [(&rows[..15], 11), (&rows[20..24], 11), (&rows[24..26], 21)] {
        db.execute(&age(ids, hours)).await.unwrap();
    }
    db.execute(&format!("UPDATE traces SET mode = 'cron' WHERE id = '{}'", rows[24].id)).await.unwrap();
    assert_eq!(
        traces.delete_expired(10, 4).await.unwrap(),
        15 + 1,
        "ended and old, or no accepted work and twice as old"
    );
    assert_eq!(count_traces(&traces).await, 14);
    assert_eq!(traces.delete_expired(10, 4).await.unwrap(), 0);
}

pub(crate) async fn the_database_keeps_when_a_trace_was_last_changed(db: TestDatabase) {
    let traces = db.store().await.traces();
    let trace = pending("orders");
    traces.insert(trace.clone()).await.unwrap();
    let set = format!("UPDATE traces SET updated_at = {}", ago(&db, 5));
    db.execute(&set).await.unwrap();
    let aged = traces.get(&trace.id.to_string()).await.unwrap().unwrap().row.updated_at;
    db.execute("UPDATE traces SET error_message = 'by hand'").await.unwrap();
    let by_hand = traces.get(&trace.id.to_string()).await.unwrap().unwrap().row;
    assert!(by_hand.updated_at > aged && by_hand.updated_at >= by_hand.created_at);
    db.execute(&set).await.unwrap();
    traces.start(trace.id, None, None).await.unwrap();
    assert!(traces.get(&trace.id.to_string()).await.unwrap().unwrap().row.updated_at >= by_hand.updated_at);
}

/// Number of rows of the table that grows.
const MANY: u64 = 20_000;

pub(crate) async fn ends_are_found_by_id_in_large_table(db: TestDatabase) {
    let traces = db.store().await.traces();
    // PostgreSQL keeps the plan of a prepared statement after some runs.
    let mut count = finish_some(&traces).await;
    let many = format!(
        "INSERT INTO traces (id, channel, mode, status) \
         SELECT 'x' || n, 'orders', 'async', 'completed' FROM generate_series(1, {MANY}) AS n"
    );
    db.execute(&many).await.unwrap();
    count += finish_some(&traces).await;
    let statistics = "FROM pg_stat_user_tables WHERE relname = 'traces'";
    // A server counts with some delay.
    let read = timeout(Duration::from_secs(30), async {
        while db.number(&format!("SELECT n_tup_upd {statistics}")).await < count {
            tokio::task::yield_now().await;
        }
        db.number(&format!("SELECT seq_tup_read {statistics}")).await
            + db.number("SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes WHERE relname = 'traces'")
                .await
    });
    let read = read.await.expect("the changes are counted");
    assert!(read < MANY, "{count} changes have read {read} rows of {MANY}");
}

/// Writes the ends of some traces, each in a transaction of its own. Returns their number.
async fn finish_some(traces: &TraceRepository) -> u64 {
    let ids = (0..10).map(|_| pending("orders")).map(async |trace| {
        let id = trace.id;
        traces.insert(trace).await.unwrap();
        id
    });
    let ids = join_all(ids).await;
    for id in &ids {
        assert!(traces.finish(end(*id, TraceStatus::Completed)).await.unwrap());
    }
    ids.len() as u64
}
