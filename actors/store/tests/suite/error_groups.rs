//! Groups of failures: each counted once, stable, and a filter of every list.

use std::sync::Arc;

use svc_ledger::Settlement;
use svc_model::{ErrorGroup, FailureFacts, Page, WorkflowVersion};
use svc_store::{
    DeadLetterFilter, ErrorGroupFilter, ErrorGroupRow, NewTrace, OccurrenceFilter, Store, TraceFailure,
    TraceMode, TraceQuery, TraceStatus,
};
use uuid::Uuid;

use super::database::TestDatabase;
use super::ledger::{claim_single, write_occurrences};
use super::traces::{failure, pending};
use super::{mutation, refusal};

fn group(channel: &str, task: &str, message: &str) -> Arc<ErrorGroup> {
    Arc::new(ErrorGroup::new(FailureFacts {
        channel,
        workflow: Some("intake"),
        task: Some(task),
        code: Some("HTTP_ERROR"),
        status: None,
        message,
    }))
}

fn failed_trace(channel: &str, group: &Arc<ErrorGroup>, version: i64) -> NewTrace {
    NewTrace {
        error_group: Some(Arc::clone(group)),
        error_message: Some("broke".into()),
        workflow: Some(WorkflowVersion { id: "intake".into(), version }),
        ..NewTrace::new(Uuid::now_v7(), channel.into(), TraceMode::Sync, TraceStatus::Failed)
    }
}

/// Accepts work that fails, with a dead letter. Returns the id of the work.
async fn fail_accepted(store: &Store, channel: &str, group: Option<&Arc<ErrorGroup>>) -> Uuid {
    let trace = pending(channel);
    let id = trace.id;
    store.traces().insert(trace).await.unwrap();
    let failed = TraceFailure { error_group: group.cloned(), ..failure(id) };
    assert!(store.traces().fail_to_dead_letters(failed).await.unwrap());
    id
}

async fn groups(store: &Store, filter: ErrorGroupFilter) -> Vec<ErrorGroupRow> {
    store.error_groups().list(filter, Page::default()).await.unwrap().rows
}

pub(crate) async fn each_failure_counts_once(db: TestDatabase) {
    let store = db.store().await;
    let (refused, broken) = (group("orders", "charge", "refused 1"), group("orders", "ship", "broke"));
    for version in [2, 1] {
        store.traces().insert(failed_trace("orders", &refused, version)).await.unwrap();
    }
    let work = fail_accepted(&store, "orders", Some(&refused)).await;
    let ledger = store.ledger();
    write_occurrences(&db, &ledger, "c", 1).await;
    let claim = claim_single(&ledger, "a").await;
    let settlement = Settlement { error_group: Some(Arc::clone(&broken)), ..Settlement::failed("broke") };
    assert!(ledger.settle(&claim.key, None, settlement, None, None).await.unwrap());
    let rows = groups(&store, ErrorGroupFilter::default()).await;
    let counts: Vec<_> = rows.iter().map(|row| (row.group.as_str(), row.count)).collect();
    assert_eq!(counts, [(&*refused.id, 3), (&*broken.id, 1)]);
    assert_eq!((rows[0].versions.clone(), rows[0].samples.len()), (vec![1, 2], 3));
    assert_eq!(rows[0].message, "refused #");
    assert!(rows[0].samples.contains(&work.to_string()) && rows[0].first_seen <= rows[0].last_seen);
    // The trace counts for a letter that is gone.
    let purge = mutation("trace_dlq", "purge");
    db.execute("UPDATE trace_dlq SET retry_count = 9, created_at = '2000-01-01 00:00:00'").await.unwrap();
    assert_eq!(store.dead_letters().purge(0, purge).await.unwrap(), 1);
    assert_eq!(groups(&store, ErrorGroupFilter::default()).await[0].count, 3);
    // A retry takes the failure of an occurrence back.
    let id = claim.key.id.to_string();
    ledger.retry(&id, svc_store::RerunVersion::Current, super::ledger::audit("retry")).await.unwrap();
    assert_eq!(groups(&store, ErrorGroupFilter::default()).await.len(), 1);
}

pub(crate) async fn samples_are_failures_that_count(db: TestDatabase) {
    let store = db.store().await;
    let refused = group("orders", "charge", "refused 1");
    let cancelled = fail_accepted(&store, "orders", Some(&refused)).await.to_string();
    let failed = fail_accepted(&store, "orders", Some(&refused)).await.to_string();
    let samples = async || groups(&store, ErrorGroupFilter::default()).await.remove(0).samples;
    db.execute(&format!("UPDATE traces SET status = 'cancelled' WHERE id = '{cancelled}'")).await.unwrap();
    assert_eq!(samples().await, [failed]);
    // The letter of work that was cancelled with a report names that work.
    db.execute(&format!("DELETE FROM trace_dlq WHERE trace_id <> '{cancelled}'")).await.unwrap();
    db.execute("UPDATE traces SET status = 'cancelled'").await.unwrap();
    assert_eq!(samples().await, [cancelled]);
}

pub(crate) async fn failure_without_group_gets_one_of_its_message(db: TestDatabase) {
    let store = db.store().await;
    fail_accepted(&store, "orders", None).await;
    fail_accepted(&store, "orders", None).await;
    let rows = groups(&store, ErrorGroupFilter::default()).await;
    assert_eq!((rows.len(), rows[0].count, rows[0].message.as_str()), (1, 2, "no luck"));
    assert_eq!((rows[0].channel.as_str(), rows[0].code.as_deref()), ("orders", Some("HTTP_ERROR")));
}

pub(crate) async fn group_is_filter_of_every_list(db: TestDatabase) {
    let store = db.store().await;
    let (one, other) = (group("a", "charge", "x"), group("b", "ship", "y"));
    store.traces().insert_all(vec![failed_trace("a", &one, 1), failed_trace("b", &other, 1)]).await.unwrap();
    let work = fail_accepted(&store, "a", Some(&one)).await.to_string();
    let traces = async |query| store.traces().list(query).await.unwrap().rows.len();
    let letters = async |filter| store.dead_letters().list(filter, Page::default()).await.unwrap().0.len();
    let (group, task) = (|| Some(one.id.as_str().into()), |task: &str| Some(task.into()));
    assert_eq!(traces(TraceQuery { error_group: group(), ..TraceQuery::default() }).await, 2);
    assert_eq!(traces(TraceQuery { task: task("ship"), ..TraceQuery::default() }).await, 1);
    let both = Some(vec!["a".to_owned(), "b".to_owned()].into());
    assert_eq!(traces(TraceQuery { channel: both, ..TraceQuery::default() }).await, 3);
    assert_eq!(letters(DeadLetterFilter { error_group: group(), ..Default::default() }).await, 1);
    assert_eq!(letters(DeadLetterFilter { task: task("ship"), ..Default::default() }).await, 0);
    assert_eq!(letters(DeadLetterFilter { workflow: task("intake"), ..Default::default() }).await, 1);
    db.execute("UPDATE traces SET workflow_version = 2 WHERE mode = 'async'").await.unwrap();
    assert_eq!(letters(DeadLetterFilter { versions: vec![2, 3], ..Default::default() }).await, 1);
    assert_eq!(letters(DeadLetterFilter { versions: vec![1], ..Default::default() }).await, 0);
    assert_eq!(letters(DeadLetterFilter { run_key: task(&work), ..Default::default() }).await, 1);
    assert_eq!(letters(DeadLetterFilter { run_key: task("none"), ..Default::default() }).await, 0);
    let occurrences = OccurrenceFilter { error_group: group(), ..Default::default() };
    assert!(store.ledger().list(occurrences, Page::default(), None).await.unwrap().rows.is_empty());
    for (filter, expected) in [
        (ErrorGroupFilter { channel: task("a"), ..Default::default() }, 1),
        (ErrorGroupFilter { task: task("nothing"), ..Default::default() }, 0),
        (ErrorGroupFilter { text: Some("Y".into()), ..Default::default() }, 1),
        (ErrorGroupFilter { code: task("HTTP_ERROR"), ..Default::default() }, 2),
        (ErrorGroupFilter { versions: vec![1], ..Default::default() }, 2),
        (ErrorGroupFilter { versions: vec![2, 3], ..Default::default() }, 1),
        (ErrorGroupFilter { versions: vec![3], ..Default::default() }, 0),
    ] {
        assert_eq!(groups(&store, filter.clone()).await.len(), expected, "{filter:?}");
    }
}

pub(crate) async fn counts_are_by_status_beside_the_page(db: TestDatabase) {
    let store = db.store().await;
    let one = group("a", "charge", "x");
    store.traces().insert(failed_trace("a", &one, 1)).await.unwrap();
    fail_accepted(&store, "b", Some(&one)).await;
    let query = TraceQuery { include_counts: true, status: Some("failed".into()), ..TraceQuery::default() };
    let counts = store.traces().list(query.clone()).await.unwrap().counts.unwrap();
    assert_eq!((counts["failed"], counts["completed"]), (2, 0));
    let of_a = TraceQuery { channel: Some("a".into()), error_group: Some(one.id.as_str().into()), ..query };
    assert_eq!(store.traces().list(of_a).await.unwrap().counts.unwrap()["failed"], 1);
    let letters = DeadLetterFilter { include_counts: true, ..Default::default() };
    let counts = store.dead_letters().list_page(letters, Page::default()).await.unwrap().counts.unwrap();
    assert_eq!((counts["retrying"], counts["exhausted"]), (1, 0));
    let occurrences = OccurrenceFilter { include_counts: true, ..Default::default() };
    let page = store.ledger().list(occurrences, Page::default(), None).await.unwrap();
    assert_eq!(page.counts.unwrap()["failed"], 0);
}

pub(crate) async fn counts_follow_the_words_of_the_list(db: TestDatabase) {
    let store = db.store().await;
    let one = group("a", "charge", "x");
    store.traces().insert(failed_trace("a", &one, 1)).await.unwrap();
    db.execute(
        "INSERT INTO traces (id, channel, status, attempt_of) VALUES ('later', 'a', 'failed', 'work')",
    )
    .await
    .unwrap();
    let all = TraceQuery { include_counts: true, ..TraceQuery::default() };
    let failed =
        async |query: TraceQuery| store.traces().list(query).await.unwrap().counts.unwrap()["failed"];
    for (query, expected) in [
        (all.clone(), 1),
        (TraceQuery { attempts: true, ..all.clone() }, 2),
        (TraceQuery { workflow_versions: vec![1, 3], ..all.clone() }, 1),
        (TraceQuery { workflow_versions: vec![2], ..all.clone() }, 0),
        (TraceQuery { min_duration_ms: Some(1), ..all.clone() }, 0),
        (TraceQuery { error_group: Some(one.id.as_str().into()), ..all.clone() }, 1),
    ] {
        assert_eq!(failed(query.clone()).await, expected, "{query:?}");
    }
    let ledger = store.ledger();
    write_occurrences(&db, &ledger, "c", 1).await;
    let due =
        ledger.list(OccurrenceFilter::default(), Page::default(), None).await.unwrap().rows[0].scheduled_for;
    let until = OccurrenceFilter { until: Some(due), include_counts: true, ..Default::default() };
    let page = ledger.list(until.clone(), Page::default(), None).await.unwrap();
    assert_eq!(
        (page.total, page.counts.unwrap()["pending"]),
        (Some(1), 1),
        "the end of the range is inclusive"
    );
    let of_version = OccurrenceFilter { versions: vec![7], ..until };
    let page = ledger.list(of_version, Page::default(), None).await.unwrap();
    assert_eq!((page.total, page.counts.unwrap()["pending"]), (Some(0), 0));
}

pub(crate) async fn cursor_of_another_list_is_refused(db: TestDatabase) {
    let store = db.store().await;
    let one = group("a", "charge", "x");
    for _ in 0..3 {
        fail_accepted(&store, "a", Some(&one)).await;
    }
    let page = Page { limit: 1, offset: 0 };
    let first = store.dead_letters().list_page(DeadLetterFilter::default(), page).await.unwrap();
    let cursor = first.next_cursor;
    let next = DeadLetterFilter { cursor: cursor.clone(), ..Default::default() };
    let second = store.dead_letters().list_page(next, Page::default()).await.unwrap();
    assert_eq!((second.rows.len(), second.next_cursor), (2, None));
    let foreign = TraceQuery { cursor: cursor.clone(), ..TraceQuery::default() };
    assert_eq!(refusal(store.traces().list(foreign).await).status(), 400);
    let reversed = DeadLetterFilter { cursor, oldest_first: true, ..Default::default() };
    assert_eq!(refusal(store.dead_letters().list_page(reversed, page).await).status(), 400);
    let ascending = |cursor| TraceQuery { order: Some("asc".into()), cursor, page, ..TraceQuery::default() };
    let first = store.traces().list(ascending(None)).await.unwrap();
    let second = store.traces().list(ascending(first.next_cursor)).await.unwrap();
    assert!(first.rows[0].created_at <= second.rows[0].created_at && first.rows[0].id != second.rows[0].id);
}

pub(crate) async fn scan_without_index_is_bounded(db: TestDatabase) {
    let store = db.store().await;
    let many = if db.is_sqlite() {
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20100)
         INSERT INTO traces (id, channel, status) SELECT n, 'many', 'completed' FROM n"
    } else {
        "INSERT INTO traces (id, channel, status) SELECT n, 'many', 'completed' FROM generate_series(1, 20100) n"
    };
    db.execute(
        "INSERT INTO traces (id, channel, error_code, created_at)
         VALUES ('rare', 'rare', 'RARE', '2000-01-01 00:00:00')",
    )
    .await
    .unwrap();
    db.execute(many).await.unwrap();
    let rare = |cursor| TraceQuery { error_code: Some("RARE".into()), cursor, ..TraceQuery::default() };
    let first = store.traces().list(rare(None)).await.unwrap();
    assert!(first.rows.is_empty() && first.scanned_until.is_some(), "{first:?}");
    let second = store.traces().list(rare(first.next_cursor)).await.unwrap();
    assert_eq!((second.rows.len(), second.scanned_until, second.next_cursor), (1, None, None));
    let of_channel = TraceQuery { channel: Some("rare".into()), ..TraceQuery::default() };
    let found = store.traces().list(of_channel).await.unwrap();
    assert_eq!((found.rows.len(), found.scanned_until, found.next_cursor), (1, None, None), "by an index");
}

pub(crate) async fn hundred_thousand_letters_are_grouped(db: TestDatabase) {
    let store = db.store().await;
    let one = group("orders", "charge", "x");
    fail_accepted(&store, "orders", Some(&one)).await;
    let numbers = if db.is_sqlite() {
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100000)"
    } else {
        "WITH n AS (SELECT generate_series(1, 100000) AS n)"
    };
    let id = &one.id;
    for insert in [
        format!(
            "INSERT INTO traces (id, channel, mode, status, error_group)
             {numbers} SELECT 't' || n, 'orders', 'async', 'failed', '{id}' FROM n"
        ),
        format!(
            "INSERT INTO trace_dlq (id, trace_id, channel, payload_json, error_message, next_retry_at, error_group)
             {numbers} SELECT 'l' || n, 't' || n, 'orders', '{{}}', 'x', '2000-01-01 00:00:00', '{id}' FROM n"
        ),
    ] {
        let insert = match db.is_sqlite() {
            true => insert,
            false => insert.replace("'2000-01-01 00:00:00'", "'2000-01-01 00:00:00'::timestamp"),
        };
        db.execute(&insert).await.unwrap();
    }
    let rows = groups(&store, ErrorGroupFilter::default()).await;
    assert_eq!((rows.len(), rows[0].count, rows[0].samples.len()), (1, 100_001, 5));
}

pub(crate) async fn unnamed_group_is_deleted_once_old(db: TestDatabase) {
    let store = db.store().await;
    let (named, unnamed) = (group("a", "charge", "x"), group("a", "ship", "y"));
    let kept = failed_trace("a", &named, 1);
    let gone = failed_trace("a", &unnamed, 1);
    store.traces().insert_all(vec![kept, gone.clone()]).await.unwrap();
    db.execute(&format!("DELETE FROM traces WHERE id = '{}'", gone.id)).await.unwrap();
    assert_eq!(store.error_groups().delete_expired(1, 100).await.unwrap(), 0);
    db.execute("UPDATE error_groups SET seen_at = '2000-01-01 00:00:00'").await.unwrap();
    assert_eq!(store.error_groups().delete_expired(1, 100).await.unwrap(), 1);
    let rows = groups(&store, ErrorGroupFilter::default()).await;
    assert_eq!((rows.len(), rows[0].group.as_str()), (1, &*named.id));
}

pub(crate) async fn failures_of_last_minutes_are_counted(db: TestDatabase) {
    let store = db.store().await;
    let (refused, broken) = (group("orders", "charge", "refused 1"), group("orders", "ship", "broke"));
    store.traces().insert(failed_trace("orders", &refused, 1)).await.unwrap();
    let groups = store.error_groups();
    groups.keep_counts();
    groups.flush_counts().await.unwrap();
    assert_eq!(groups.recent(60, 10).await.unwrap().total, 0, "before the counts are kept");
    let rows = vec![failed_trace("orders", &refused, 1), failed_trace("orders", &broken, 1)];
    store.traces().insert_all(rows).await.unwrap();
    groups.flush_counts().await.unwrap();
    fail_accepted(&store, "orders", Some(&refused)).await;
    groups.flush_counts().await.unwrap();
    let recent = groups.recent(60, 10).await.unwrap();
    let counts: Vec<_> = recent.groups.iter().map(|group| (group.group.as_str(), group.count)).collect();
    assert_eq!(counts, [(&*refused.id, 2), (&*broken.id, 1)]);
    assert_eq!((recent.total, recent.failures, recent.groups[0].minutes.len()), (2, 3, 60));
    assert_eq!(recent.groups[0].minutes.iter().sum::<i64>(), 2);
    assert_eq!(
        (recent.groups[0].message.as_str(), recent.groups[0].task.as_deref()),
        ("refused #", Some("charge"))
    );
    let first = groups.recent(60, 1).await.unwrap();
    assert_eq!((first.groups.len(), first.total, first.failures), (1, 2, 3));
}

pub(crate) async fn old_counts_are_in_no_list(db: TestDatabase) {
    let store = db.store().await;
    let refused = group("orders", "charge", "refused 1");
    let groups = store.error_groups();
    groups.keep_counts();
    store.traces().insert(failed_trace("orders", &refused, 1)).await.unwrap();
    groups.flush_counts().await.unwrap();
    db.execute("UPDATE error_counts SET minute = minute - 61").await.unwrap();
    groups.delete_old_counts().await.unwrap();
    assert_eq!(groups.recent(60, 10).await.unwrap().total, 0);
    db.execute("UPDATE error_counts SET minute = minute + 31").await.unwrap();
    assert_eq!(groups.recent(60, 10).await.unwrap().failures, 1);
    assert_eq!(groups.recent(15, 10).await.unwrap().failures, 0);
    db.execute("UPDATE error_counts SET minute = minute - 200").await.unwrap();
    groups.delete_old_counts().await.unwrap();
    db.execute("UPDATE error_counts SET minute = minute + 230").await.unwrap();
    assert_eq!(groups.recent(60, 10).await.unwrap().failures, 0, "it was deleted");
}
