//! Runs of actions on many rows, and backfills of schedules.

use std::time::Duration;

use chrono::NaiveDateTime;
use serde_json::{Map, json};
use svc_ledger::{OccurrenceStatus, Settlement};
use svc_model::Page;
use svc_store::{
    AuditFilter, BulkAction, BulkKind, BulkPage, BulkRun, BulkStep, DeadLetterFilter, DueLetters, NewBulkRun,
    NewTrace, OccurrenceFilter, OperatorRunClaim, OperatorRunState, StartResult, Store, TraceStatus,
};
use uuid::Uuid;

use super::database::TestDatabase;
use super::dead_letters::letter;
use super::ledger::{
    MOST, ago, align, align_cursor, claim_single, facts, read, seconds, singleton, start, statuses,
    write_occurrences,
};
use super::traces::{end, pending, status};
use super::{mutation, refusal};

const LEASE: Duration = Duration::from_secs(60);

/// Starts a run, at most two at the same time.
async fn begin(store: &Store, kind: BulkKind, action: BulkAction, matched: i64) -> BulkRun {
    let run = NewBulkRun {
        kind,
        action,
        filter: Map::new(),
        rate_per_second: 0,
        matched,
        instants: None,
        started_by: "ops".into(),
    };
    store.bulk_runs().start(run, 2, mutation("bulk_run", "bulk_start")).await.unwrap()
}

async fn begin_requeue(store: &Store, matched: i64) -> BulkRun {
    begin(store, BulkKind::DeadLetters, BulkAction::Requeue, matched).await
}

/// Takes the runs without a driver; returns the proof of the one with this id.
async fn take(store: &Store, holder: &str, id: &str) -> Option<OperatorRunClaim> {
    let driven = store.bulk_runs().claim(holder, LEASE).await.unwrap();
    let run = driven.into_iter().find(|driven| driven.run.id == id)?.run;
    Some(OperatorRunClaim { id: run.id, holder: holder.into(), position: run.position })
}

fn page(ids: &[String], next: Option<&str>) -> BulkPage {
    BulkPage { ids: ids.to_vec(), next: next.map(str::to_owned) }
}

async fn apply(store: &Store, claim: &OperatorRunClaim, page: BulkPage) -> BulkStep {
    store.bulk_runs().apply(claim.clone(), page, LEASE).await.unwrap().step
}

async fn read_run(store: &Store, id: &str) -> BulkRun {
    store.bulk_runs().get(id).await.unwrap().unwrap()
}

/// Returns matched, done, failed and skipped.
fn counts(run: &BulkRun) -> [i64; 4] {
    [run.matched, run.done, run.failed, run.skipped]
}

/// Writes letters without a retry left.
async fn exhausted_letters(store: &Store, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(letter(store, "orders", |failed| failed.retry_count = 5).await);
    }
    ids
}

/// Returns the number of audit rows of an action.
async fn count_audited(store: &Store, action: &str) -> i64 {
    let filter = AuditFilter { action: Some(action.into()), ..AuditFilter::default() };
    store.audit().list(filter, Page::default()).await.unwrap().1
}

pub(crate) async fn third_run_is_refused_with_both_open_ones(db: TestDatabase) {
    let store = db.store().await;
    let (first, second) = (begin_requeue(&store, 0).await, begin_requeue(&store, 0).await);
    let run = NewBulkRun {
        kind: BulkKind::Traces,
        action: BulkAction::Cancel,
        filter: Map::new(),
        rate_per_second: 1,
        matched: 0,
        instants: None,
        started_by: "ops".into(),
    };
    let third = store.bulk_runs().start(run, 2, mutation("bulk_run", "bulk_start")).await;
    let refused = refusal(third);
    assert_eq!(refused.status(), 409);
    assert!([&first.id, &second.id].iter().all(|id| refused.message().contains(*id)), "{refused}");
    assert_eq!(count_audited(&store, "bulk_start").await, 2, "a refusal leaves no record");
    let claim = take(&store, "n", &first.id).await.unwrap();
    let ended = apply(&store, &claim, page(&[], None)).await;
    assert_eq!(ended, BulkStep::Ended { done: 0, state: OperatorRunState::Completed });
    begin_requeue(&store, 0).await;
    let (listed, total) = store.bulk_runs().list(Page::default()).await.unwrap();
    assert_eq!((listed.len(), total), (3, 3));
}

pub(crate) async fn letters_are_requeued_once_over_dying_drivers(db: TestDatabase) {
    let store = db.store().await;
    let ids = exhausted_letters(&store, 5).await;
    let run = begin_requeue(&store, 5).await;
    let first = take(&store, "one", &run.id).await.unwrap();
    assert_eq!(take(&store, "two", &run.id).await, None, "it is driven");
    let step = apply(&store, &first, page(&ids[..2], Some("p"))).await;
    assert_eq!(step, BulkStep::Continues { done: 2, position: Some("p".into()) });
    assert_eq!(apply(&store, &first, page(&ids[..2], Some("p"))).await, BulkStep::Lost, "a page counts once");
    db.execute("UPDATE bulk_runs SET held_until = '2000-01-01 00:00:00'").await.unwrap();
    let second = take(&store, "two", &run.id).await.unwrap();
    assert_eq!(second.position.as_deref(), Some("p"));
    let late = OperatorRunClaim { position: Some("p".into()), ..first };
    assert_eq!(apply(&store, &late, page(&ids[2..], None)).await, BulkStep::Lost);
    let step = apply(&store, &second, page(&ids[2..], None)).await;
    assert_eq!(step, BulkStep::Ended { done: 3, state: OperatorRunState::Completed });
    let run = read_run(&store, &run.id).await;
    assert_eq!((counts(&run), run.state.as_str()), ([5, 5, 0, 0], "completed"));
    assert!(run.ended_at.is_some() && run.errors.is_empty());
    let due = store.dead_letters().claim_due(DueLetters::All, 10, LEASE, "n").await.unwrap();
    assert!(due.len() == 5 && due.iter().all(|letter| letter.retry_count == 0), "{due:?}");
    let work = Uuid::try_parse(due[0].work()).unwrap();
    assert_eq!(status(&store.traces(), work).await.as_deref(), Some("retrying"));
    assert_eq!((count_audited(&store, "bulk_start").await, count_audited(&store, "bulk_end").await), (1, 1));
    assert_eq!(take(&store, "two", &run.id).await, None, "it has ended");
}

pub(crate) async fn letters_that_changed_or_are_due_are_skipped(db: TestDatabase) {
    let store = db.store().await;
    let ids = exhausted_letters(&store, 3).await;
    let run = begin_requeue(&store, 3).await;
    // As if the letters had been written to after the start.
    db.execute("UPDATE bulk_runs SET started_at = '2000-01-01 00:00:00.000'").await.unwrap();
    let claim = take(&store, "n", &run.id).await.unwrap();
    apply(&store, &claim, page(&ids, None)).await;
    assert_eq!(counts(&read_run(&store, &run.id).await), [3, 0, 0, 3]);

    let first = begin_requeue(&store, 3).await;
    let claim = take(&store, "n", &first.id).await.unwrap();
    apply(&store, &claim, page(&ids[..1], Some("p"))).await;
    store.bulk_runs().abort(&first.id, mutation("bulk_run", "abort")).await.unwrap();
    let claim = OperatorRunClaim { position: Some("p".into()), ..claim };
    let step = apply(&store, &claim, page(&ids[1..], None)).await;
    assert_eq!(step, BulkStep::Ended { done: 0, state: OperatorRunState::Aborted });
    let ended = refusal(store.bulk_runs().abort(&first.id, mutation("bulk_run", "abort")).await);
    assert_eq!(ended.status(), 409);

    // The same command again does the rest.
    let second = begin_requeue(&store, 3).await;
    let claim = take(&store, "n", &second.id).await.unwrap();
    apply(&store, &claim, page(&ids, None)).await;
    assert_eq!(counts(&read_run(&store, &second.id).await), [3, 2, 0, 1]);
    let unknown = refusal(store.bulk_runs().abort("a\0b", mutation("bulk_run", "abort")).await);
    assert_eq!(unknown.status(), 404);
}

pub(crate) async fn purge_ends_work_that_waited_for_retries(db: TestDatabase) {
    let store = db.store().await;
    let id = letter(&store, "orders", |failed| failed.delay = Duration::from_secs(600)).await;
    let work = store.dead_letters().get(&id).await.unwrap().unwrap().row.trace_id;
    let work = Uuid::try_parse(&work).unwrap();
    let run = begin(&store, BulkKind::DeadLetters, BulkAction::Purge, 2).await;
    let claim = take(&store, "n", &run.id).await.unwrap();
    apply(&store, &claim, page(&[id, "gone".to_owned()], None)).await;
    assert_eq!(counts(&read_run(&store, &run.id).await), [2, 1, 0, 1]);
    let (left, _) = store.dead_letters().list(DeadLetterFilter::default(), Page::default()).await.unwrap();
    assert!(left.is_empty());
    assert_eq!(status(&store.traces(), work).await.as_deref(), Some("failed"));
}

pub(crate) async fn occurrences_are_retried_where_status_allows(db: TestDatabase) {
    let store = db.store().await;
    let ledger = store.ledger();
    write_occurrences(&db, &ledger, "c", 3).await;
    let (failed, completed) = (claim_single(&ledger, "a").await, claim_single(&ledger, "a").await);
    assert!(ledger.settle(&failed.key, None, Settlement::failed("x"), None, None).await.unwrap());
    start(&ledger, &completed, None).await;
    assert!(ledger.settle(&completed.key, None, Settlement::completed(), None, None).await.unwrap());
    let rows = ledger.list(OccurrenceFilter::default(), Page::default(), None).await.unwrap().rows;
    let ids: Vec<_> = rows.into_iter().map(|row| row.id).collect();
    let run = begin(&store, BulkKind::Occurrences, BulkAction::Retry, 3).await;
    let claim = take(&store, "n", &run.id).await.unwrap();
    apply(&store, &claim, page(&ids, None)).await;
    assert_eq!(counts(&read_run(&store, &run.id).await), [3, 1, 0, 2]);
    assert_eq!(statuses(&ledger).await, ["pending", "completed", "pending"]);
    assert_eq!(read(&ledger, &failed).await.row.attempt, 2);
}

pub(crate) async fn ended_runs_are_deleted_after_their_time(db: TestDatabase) {
    let store = db.store().await;
    let (ended, open) = (begin_requeue(&store, 0).await, begin_requeue(&store, 0).await);
    let claim = take(&store, "n", &ended.id).await.unwrap();
    let failed = store.bulk_runs().fail(claim, "no way".into()).await.unwrap();
    assert_eq!(failed, BulkStep::Ended { done: 0, state: OperatorRunState::Failed });
    assert_eq!(read_run(&store, &ended.id).await.reason.as_deref(), Some("no way"));
    db.execute("UPDATE bulk_runs SET ended_at = '2000-01-01 00:00:00' WHERE ended_at IS NOT NULL")
        .await
        .unwrap();
    assert_eq!(store.bulk_runs().delete_expired(1, 10).await.unwrap(), 1);
    assert!(store.bulk_runs().get(&ended.id).await.unwrap().is_none());
    assert!(store.bulk_runs().get(&open.id).await.unwrap().is_some());
}

pub(crate) async fn history_has_known_occurrences_of_schedule(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    let range = |from| (from, from + seconds(100));
    let from = ago(&ledger, 5000).await;
    let nothing = ledger.history("c", range(from)).await.unwrap();
    assert!(nothing.known_since.is_none() && nothing.kept.is_empty());
    let from = write_occurrences(&db, &ledger, "c", 3).await;
    let history = ledger.history("c", range(from)).await.unwrap();
    assert_eq!((history.known_since, history.kept.len()), (None, 3), "none has ended");
    assert_eq!(history.live_from, from + seconds(3));
    let claim = claim_single(&ledger, "a").await;
    assert!(ledger.settle(&claim.key, None, Settlement::failed("x"), None, None).await.unwrap());
    let history = ledger.history("c", range(from)).await.unwrap();
    assert_eq!(history.known_since, Some(from));
    assert_eq!(history.kept[&from], Some(OccurrenceStatus::Failed));
    // The row of a misfire knows the instants that it sums up.
    let text = "skipped 9 missed occurrence(s) between 2026-01-01T00:00:00Z and 2026-01-02T00:00:00Z (…)";
    let summed = format!("UPDATE cron_occurrences SET error_message = '{text}' WHERE status = 'failed'");
    db.execute(&summed).await.unwrap();
    let known = ledger.history("c", range(from)).await.unwrap().known_since.unwrap();
    assert_eq!(known.to_string(), "2026-01-01 00:00:00");
    let backfilled = "UPDATE cron_occurrences SET \"trigger\" = 'backfill' WHERE status = 'failed'";
    db.execute(backfilled).await.unwrap();
    assert_eq!(ledger.history("c", range(from)).await.unwrap().known_since, None);
}

pub(crate) async fn backfill_keeps_its_bound_and_runs_last(db: TestDatabase) {
    let store = db.store().await;
    let ledger = store.ledger();
    let from = ago(&ledger, 2000).await;
    align_cursor(&db, &ledger, align("c", ago(&ledger, 10).await)).await;
    let instants: Vec<_> = (0..3).map(|n| from + seconds(n)).collect();
    let run = NewBulkRun {
        kind: BulkKind::Occurrences,
        action: BulkAction::Backfill,
        filter: json!({"max_parallel": 2}).as_object().unwrap().clone(),
        rate_per_second: 0,
        matched: 3,
        instants: Some(instants.clone()),
        started_by: "ops".into(),
    };
    let run = store.bulk_runs().start(run, 2, mutation("bulk_run", "bulk_start")).await.unwrap();
    let driven = store.bulk_runs().claim("n", LEASE).await.unwrap();
    assert_eq!(driven[0].instants, instants);
    let mut claim = take(&store, "n", &run.id).await.unwrap();
    let put = async |claim: &OperatorRunClaim, left: &[NaiveDateTime]| {
        let (claim, left) = (claim.clone(), left.to_vec());
        store.bulk_runs().backfill(claim, left, (facts("c"), 2), LEASE).await.unwrap()
    };
    assert_eq!(put(&claim, &instants).await, BulkStep::Continues { done: 2, position: Some("2".into()) });
    claim.position = Some("2".into());
    assert_eq!(
        put(&claim, &instants[2..]).await,
        BulkStep::Continues { done: 0, position: Some("2".into()) }
    );

    // A live instant is claimed before older ones of the backfill.
    write_occurrences(&db, &ledger, "d", 1).await;
    let live = claim_single(&ledger, "a").await;
    assert_eq!(live.trigger.name(), "cron");
    let backfilled = claim_single(&ledger, "a").await;
    assert_eq!((backfilled.trigger.name(), backfilled.scheduled_for), ("backfill", instants[0]));

    // Without a free slot it waits.
    let key = singleton("k");
    let StartResult::Running { slot, .. } = start(&ledger, &live, Some(&key)).await else {
        panic!("it starts")
    };
    let waits = ledger.start_backfilled(&backfilled.key, 1, Some(&key), LEASE, None).await.unwrap();
    assert_eq!(waits, StartResult::Waits);
    let row = read(&ledger, &backfilled).await;
    assert_eq!((row.row.status.as_str(), row.row.attempt), ("pending", 1));
    assert!(ledger.settle(&live.key, slot.as_ref(), Settlement::completed(), None, None).await.unwrap());
    let longer =
        "UPDATE cron_occurrences SET claimed_until = '2999-01-01 00:00:00' WHERE claimed_until IS NOT NULL";
    db.execute(longer).await.unwrap();
    let other = claim_single(&ledger, "a").await;
    assert_eq!(other.scheduled_for, instants[1], "the first waits for a moment");
    start(&ledger, &other, None).await;
    assert!(ledger.settle(&other.key, None, Settlement::completed(), None, None).await.unwrap());

    // A row that was skipped is used again; one that ran is left alone.
    assert_eq!(
        put(&claim, &instants[2..]).await,
        BulkStep::Continues { done: 1, position: Some("3".into()) }
    );
    claim.position = Some("3".into());
    db.execute("UPDATE cron_occurrences SET status = 'completed' WHERE channel_id = 'c'").await.unwrap();
    let ended = put(&claim, &[]).await;
    assert_eq!(ended, BulkStep::Ended { done: 0, state: OperatorRunState::Completed });
    assert_eq!(counts(&read_run(&store, &run.id).await), [3, 3, 0, 0]);
}

pub(crate) async fn skipped_rows_are_used_again_by_backfill(db: TestDatabase) {
    let store = db.store().await;
    let ledger = store.ledger();
    let from = write_occurrences(&db, &ledger, "c", 2).await;
    let set = |status: &str, second: i64| {
        let instant = from + seconds(second);
        format!("UPDATE cron_occurrences SET status = '{status}' WHERE scheduled_for = '{instant}'")
    };
    db.execute(&set("skipped_misfire", 0)).await.unwrap();
    db.execute(&set("completed", 1)).await.unwrap();
    let run = begin(&store, BulkKind::Occurrences, BulkAction::Backfill, 2).await;
    let claim = take(&store, "n", &run.id).await.unwrap();
    let instants = vec![from, from + seconds(1)];
    let step = store.bulk_runs().backfill(claim, instants, (facts("c"), 64), LEASE).await.unwrap();
    assert_eq!(step, BulkStep::Continues { done: 1, position: Some("2".into()) });
    assert_eq!(counts(&read_run(&store, &run.id).await), [2, 1, 0, 1]);
    assert_eq!(statuses(&ledger).await, ["pending", "completed"]);
    let claims = ledger.claim("a", LEASE, 10, MOST, Vec::new()).await.unwrap().claimed;
    assert_eq!((claims.len(), claims[0].trigger.name()), (1, "backfill"));
}

pub(crate) async fn work_and_occurrences_are_cancelled_once(db: TestDatabase) {
    let store = db.store().await;
    let (waiting, completed) = (pending("orders"), pending("orders"));
    let (open, over) = (waiting.id, completed.id);
    store.traces().insert(waiting).await.unwrap();
    store.traces().insert(completed).await.unwrap();
    assert!(store.traces().finish(end(over, TraceStatus::Completed)).await.unwrap());
    let ids = [open.to_string(), over.to_string(), "gone".to_owned()];
    for expected in [[3, 1, 0, 2], [3, 0, 0, 3]] {
        let run = begin(&store, BulkKind::Traces, BulkAction::Cancel, 3).await;
        let claim = take(&store, "n", &run.id).await.unwrap();
        apply(&store, &claim, page(&ids, None)).await;
        assert_eq!(counts(&read_run(&store, &run.id).await), expected);
    }
    assert_eq!(status(&store.traces(), open).await.as_deref(), Some("cancelled"));
    assert_eq!(status(&store.traces(), over).await.as_deref(), Some("completed"));

    let ledger = store.ledger();
    write_occurrences(&db, &ledger, "c", 2).await;
    let rows = ledger.list(OccurrenceFilter::default(), Page::default(), None).await.unwrap().rows;
    let ids: Vec<_> = rows.into_iter().map(|row| row.id).collect();
    let run = begin(&store, BulkKind::Occurrences, BulkAction::Cancel, 2).await;
    let claim = take(&store, "n", &run.id).await.unwrap();
    apply(&store, &claim, page(&ids, None)).await;
    assert_eq!(counts(&read_run(&store, &run.id).await), [2, 2, 0, 0]);
    assert_eq!(statuses(&ledger).await, ["cancelled", "cancelled"]);
}

pub(crate) async fn trace_is_run_again_once_with_its_input(db: TestDatabase) {
    let store = db.store().await;
    let with_input = pending("orders");
    let without_input = NewTrace { input_json: None, ..pending("orders") };
    let ids = [with_input.id.to_string(), without_input.id.to_string()];
    for trace in [with_input, without_input] {
        let id = trace.id;
        store.traces().insert(trace).await.unwrap();
        assert!(store.traces().finish(end(id, TraceStatus::Completed)).await.unwrap());
    }
    let run = begin(&store, BulkKind::Traces, BulkAction::Rerun, 2).await;
    let claim = take(&store, "n", &run.id).await.unwrap();
    let applied = store.bulk_runs().apply(claim, page(&ids, None), LEASE).await.unwrap();
    assert_eq!(applied.reruns.len(), 1);
    let rerun = store.traces().get(&applied.reruns[0].trace_id.to_string()).await.unwrap().unwrap();
    assert_eq!(rerun.row.rerun_of.as_deref(), Some(ids[0].as_str()));
    let run = read_run(&store, &run.id).await;
    assert_eq!(counts(&run), [2, 1, 1, 0]);
    assert!(run.errors[0].id == ids[1] && run.errors[0].message.contains("tracing.keep_input"), "{run:?}");
    let second = begin(&store, BulkKind::Traces, BulkAction::Rerun, 2).await;
    let claim = take(&store, "n", &second.id).await.unwrap();
    apply(&store, &claim, page(&ids, None)).await;
    assert_eq!(counts(&read_run(&store, &second.id).await), [2, 0, 1, 1], "it has a rerun");
}

pub(crate) async fn held_run_stays_until_aborted(db: TestDatabase) {
    let store = db.store().await;
    let run = begin(&store, BulkKind::Traces, BulkAction::Rerun, 2).await;
    let claim = take(&store, "n", &run.id).await.unwrap();
    db.execute("UPDATE bulk_runs SET held_until = '2000-01-01 00:00:00'").await.unwrap();
    let hold = async || store.bulk_runs().hold(claim.clone(), LEASE).await.unwrap();
    assert_eq!(hold().await, BulkStep::Continues { done: 0, position: None });
    assert_eq!(take(&store, "other", &run.id).await, None, "its lease was renewed");
    store.bulk_runs().abort(&run.id, mutation("bulk_run", "bulk_abort")).await.unwrap();
    assert_eq!(hold().await, BulkStep::Ended { done: 0, state: OperatorRunState::Aborted });
    assert_eq!(hold().await, BulkStep::Lost);
}

pub(crate) async fn run_keeps_its_first_hundred_errors(db: TestDatabase) {
    let store = db.store().await;
    let mut ids = Vec::new();
    for _ in 0..102 {
        let trace = NewTrace { input_json: None, ..pending("orders") };
        ids.push(trace.id.to_string());
        let ended = end(trace.id, TraceStatus::Completed);
        store.traces().insert(trace).await.unwrap();
        assert!(store.traces().finish(ended).await.unwrap());
    }
    let run = begin(&store, BulkKind::Traces, BulkAction::Rerun, 102).await;
    let claim = take(&store, "n", &run.id).await.unwrap();
    apply(&store, &claim, page(&ids, None)).await;
    let run = read_run(&store, &run.id).await;
    assert_eq!((counts(&run), run.errors.len()), ([102, 0, 102, 0], 100));
    assert_eq!((&run.errors[0].id, &run.errors[99].id), (&ids[0], &ids[99]));
}
