//! Cancellation of accepted work.

use std::sync::Arc;
use std::time::Duration;

use svc_model::Page;
use svc_store::{
    CancelEffect, CancelFailure, CancelOrder, CancelStep, CancelledEnd, CancelledRun, DeadLetterFilter,
    DueLetters, NewNode, NewTrace, Ownership, Store, StoreError, TraceEnd, TraceFailure, TraceMode,
    TraceStatus, WaitReason, WaitTerms,
};
use uuid::Uuid;

use super::database::TestDatabase;
use super::traces::{ago, end, failure, pending, status};
use super::{mutation, refusal};

const LEASE: Duration = Duration::from_secs(60);

/// Returns a store with the live nodes `a` and `b`.
async fn two_nodes(db: &TestDatabase) -> Store {
    let store = db.store().await;
    for id in ["a", "b"] {
        let node = NewNode { id: id.into(), former: None, version: "1.0", lease: LEASE, is_alone: false };
        store.nodes().register(node).await.unwrap();
    }
    store
}

/// Accepts work of node `a`.
async fn accept(store: &Store) -> Uuid {
    let row = NewTrace { owner: Some("a".into()), ..pending("orders") };
    store.traces().insert(row.clone()).await.unwrap();
    row.id
}

fn order(id: Uuid, node: &str) -> CancelOrder {
    CancelOrder { id: id.to_string(), principal: "ops".into(), node: node.into(), failure: None }
}

async fn cancel(store: &Store, order: CancelOrder) -> Result<CancelEffect, StoreError> {
    store.traces().cancel(order, mutation("trace", "cancel")).await
}

fn requested(run: Uuid) -> CancelEffect {
    CancelEffect::Requested { run, owner: "a".into() }
}

fn claim() -> Ownership {
    Ownership { owner: "a".into(), recoveries: 0 }
}

fn dropped(id: Uuid) -> CancelledRun {
    CancelledRun {
        end: TraceEnd::cancelled(id, Some(claim())),
        in_flight_json: Some(r#"[{"task_id":"call"}]"#.into()),
        max_retries: 5,
        report: None,
    }
}

async fn letters(store: &Store) -> usize {
    store.dead_letters().list(DeadLetterFilter::default(), Page::default()).await.unwrap().0.len()
}

/// Lets work fail, so that it waits for its retry.
async fn fail(store: &Store, id: Uuid) {
    let failed = TraceFailure { retries: true, ..failure(id) };
    assert!(store.traces().fail_to_dead_letters(failed).await.unwrap());
}

/// Makes the next attempt at work that waits for its retry, on node `a`.
async fn begin_attempt(store: &Store) -> Uuid {
    let letter = store.dead_letters().claim_due(DueLetters::All, 1, LEASE, "a").await.unwrap().remove(0);
    let attempt = NewTrace { owner: Some("a".into()), ..pending("orders") };
    assert!(store.dead_letters().take_into_trace(&letter, attempt.clone(), "a").await.unwrap());
    attempt.id
}

pub(crate) async fn waiting_work_is_cancelled_at_once(db: TestDatabase) {
    let store = two_nodes(&db).await;
    let traces = store.traces();
    for reason in WaitReason::ALL {
        let terms = WaitTerms { reason, due: None, share: Some("k".into()) };
        let row = NewTrace { status: reason.status(), wait: Some(Box::new(terms)), ..pending("orders") };
        traces.insert(row.clone()).await.unwrap();
        assert_eq!(cancel(&store, order(row.id, "b")).await.unwrap(), CancelEffect::Ended, "{reason:?}");
        let ended = traces.get(&row.id.to_string()).await.unwrap().unwrap();
        assert_eq!((&*ended.row.status, ended.cancelled_by.as_deref()), ("cancelled", Some("ops")));
        assert!(ended.cancel_requested_at.is_some() && ended.row.completed_at.is_some());
    }
    assert!(traces.count_waiting().await.unwrap().waiting.is_empty());
}

pub(crate) async fn retrying_work_ends_with_its_letter(db: TestDatabase) {
    let store = two_nodes(&db).await;
    let work = accept(&store).await;
    fail(&store, work).await;
    assert_eq!(
        (status(&store.traces(), work).await.as_deref(), letters(&store).await),
        (Some("retrying"), 1)
    );
    assert_eq!(cancel(&store, order(work, "b")).await.unwrap(), CancelEffect::Ended);
    let ended = store.traces().get(&work.to_string()).await.unwrap().unwrap();
    assert_eq!((&*ended.row.status, ended.row.attempt, ended.row.next_retry_at), ("cancelled", 1, None));
    assert_eq!(letters(&store).await, 0);
    let refused = refusal(cancel(&store, order(work, "b")).await);
    assert_eq!((refused.status(), refused.message().contains("cancelled")), (409, true));
}

pub(crate) async fn running_work_is_ended_by_its_node(db: TestDatabase) {
    let store = two_nodes(&db).await;
    let traces = store.traces();
    let work = accept(&store).await;
    assert!(traces.start(work, None, Some(claim())).await.unwrap());
    for _ in 0..2 {
        assert_eq!(cancel(&store, order(work, "b")).await.unwrap(), requested(work), "it is asked again");
    }
    let asked = traces.get(&work.to_string()).await.unwrap().unwrap();
    assert_eq!((&*asked.row.status, asked.cancel_requested_at.is_some()), ("running", true));
    let (node, other): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
    let open = traces.open_cancels(&node).await.unwrap();
    assert_eq!(
        open.iter().map(|open| (open.id, open.step)).collect::<Vec<_>>(),
        [(work, CancelStep::DropRun)]
    );
    assert!(traces.open_cancels(&other).await.unwrap().is_empty());
    let written = traces.end_cancelled(dropped(work)).await.unwrap();
    assert_eq!(written, CancelledEnd { is_news: true, is_reported: false });
    assert_eq!(traces.end_cancelled(dropped(work)).await.unwrap(), CancelledEnd::default());
    let ended = traces.get(&work.to_string()).await.unwrap().unwrap();
    assert_eq!((&*ended.row.status, ended.row.attempt, letters(&store).await), ("cancelled", 1, 0));
    assert_eq!(ended.in_flight_json.as_deref(), Some(r#"[{"task_id":"call"}]"#));
    assert!(traces.open_cancels(&node).await.unwrap().is_empty());
}

pub(crate) async fn cancelled_attempt_ends_its_work(db: TestDatabase) {
    let store = two_nodes(&db).await;
    let traces = store.traces();
    let work = accept(&store).await;
    fail(&store, work).await;
    db.execute(&format!("UPDATE trace_dlq SET next_retry_at = {}", ago(&db, 1))).await.unwrap();
    let attempt = begin_attempt(&store).await;
    assert_eq!(cancel(&store, order(attempt, "b")).await.unwrap(), requested(attempt), "by its own id");
    assert_eq!(cancel(&store, order(work, "b")).await.unwrap(), requested(attempt));
    assert!(traces.end_cancelled(dropped(attempt)).await.unwrap().is_news);
    for id in [work, attempt] {
        assert_eq!(status(&traces, id).await.as_deref(), Some("cancelled"));
    }
    let ended = traces.get(&work.to_string()).await.unwrap().unwrap();
    assert_eq!((ended.row.attempt, ended.in_flight_json.is_some()), (2, true));
}

pub(crate) async fn work_of_dead_node_is_cancelled_at_once(db: TestDatabase) {
    let store = two_nodes(&db).await;
    let traces = store.traces();
    let (work, later) = (accept(&store).await, accept(&store).await);
    assert_eq!(cancel(&store, order(later, "b")).await.unwrap(), requested(later));
    db.execute(&format!("UPDATE nodes SET lease_until = {} WHERE id = 'a'", ago(&db, 1))).await.unwrap();
    assert_eq!(cancel(&store, order(work, "b")).await.unwrap(), CancelEffect::Ended);
    assert!(!traces.finish(end(work, TraceStatus::Completed)).await.unwrap(), "a late end changes nothing");
    let (page, _) = traces.unfinished_async(&"b".into(), None, 100).await.unwrap();
    assert!(page.is_empty(), "cancelled work is not taken over");
    let open = traces.open_cancels(&"b".into()).await.unwrap();
    assert_eq!((open.len(), open[0].id, open[0].step), (1, later, CancelStep::GiveAgain));
    assert_eq!(traces.cancel_again(order(later, "b")).await.unwrap(), CancelEffect::Ended);
}

pub(crate) async fn order_outlives_another_end_of_run(db: TestDatabase) {
    let store = two_nodes(&db).await;
    let traces = store.traces();
    let work = accept(&store).await;
    assert_eq!(cancel(&store, order(work, "b")).await.unwrap(), requested(work));
    fail(&store, work).await;
    let open = traces.open_cancels(&"a".into()).await.unwrap();
    assert_eq!((open.len(), open[0].step, &*open[0].principal), (1, CancelStep::GiveAgain, "ops"));
    assert_eq!(traces.cancel_again(order(work, "a")).await.unwrap(), CancelEffect::Ended);
    assert_eq!((status(&traces, work).await.as_deref(), letters(&store).await), (Some("cancelled"), 0));
}

pub(crate) async fn failure_is_left_if_asked_for(db: TestDatabase) {
    let store = two_nodes(&db).await;
    let traces = store.traces();
    let report = || Some(Box::new(NewTrace { owner: Some("a".into()), ..pending("alerts") }));
    let reported = |id: Uuid, failure| CancelOrder { failure: Some(failure), ..order(id, "b") };
    // One that a node runs, and one that waits.
    let (runs, waits) = (accept(&store).await, accept(&store).await);
    let failure = || CancelFailure { max_retries: 5, report: report() };
    assert_eq!(cancel(&store, reported(runs, failure())).await.unwrap(), requested(runs));
    let row = report();
    let id = row.as_ref().unwrap().id;
    let written = traces.end_cancelled(CancelledRun { report: row, ..dropped(runs) }).await.unwrap();
    assert!(written.is_reported && status(&traces, id).await.is_some());
    fail(&store, waits).await;
    assert_eq!(cancel(&store, reported(waits, failure())).await.unwrap(), CancelEffect::Ended);
    let (rows, _) = store.dead_letters().list(DeadLetterFilter::default(), Page::default()).await.unwrap();
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.retry_count >= row.max_retries && row.max_retries == 5), "{rows:?}");
    // Requeued, the work begins again: the order is carried out.
    let letter = rows.iter().find(|row| row.trace_id == waits.to_string()).unwrap();
    store.dead_letters().requeue(&letter.id, mutation("trace_dlq", "requeue")).await.unwrap();
    let again = traces.get(&waits.to_string()).await.unwrap().unwrap();
    assert_eq!((&*again.row.status, again.cancel_requested_at, again.cancelled_by), ("retrying", None, None));
}

pub(crate) async fn first_attempt_shows_its_own_end(db: TestDatabase) {
    let store = two_nodes(&db).await;
    let (traces, letters) = (store.traces(), store.dead_letters());
    let terms = WaitTerms { reason: WaitReason::Paused, due: None, share: None };
    let waits = NewTrace { status: TraceStatus::Waiting, wait: Some(Box::new(terms)), ..pending("orders") };
    traces.insert(waits.clone()).await.unwrap();
    let (waits, runs, fails) = (waits.id, accept(&store).await, accept(&store).await);
    fail(&store, fails).await;
    let failure = || Some(CancelFailure { max_retries: 5, report: None });
    for id in [runs, waits, fails] {
        cancel(&store, CancelOrder { failure: failure(), ..order(id, "b") }).await.unwrap();
    }
    assert!(traces.end_cancelled(dropped(runs)).await.unwrap().is_news);
    for (work, expected) in [(runs, "cancelled"), (waits, "cancelled"), (fails, "failed")] {
        let filter =
            DeadLetterFilter { trace_id: Some(work.to_string().into()), ..DeadLetterFilter::default() };
        let (rows, _) = letters.list(filter, Page::default()).await.unwrap();
        letters.requeue(&rows[0].id, mutation("trace_dlq", "requeue")).await.unwrap();
        let attempt = begin_attempt(&store).await;
        assert!(traces.finish_attempt(end(attempt, TraceStatus::Completed)).await.unwrap());
        let done = traces.get(&work.to_string()).await.unwrap().unwrap();
        let ends: Vec<_> = done.attempts.iter().map(|attempt| &*attempt.status).collect();
        assert_eq!((&*done.row.status, ends), ("completed", vec![expected, "completed"]));
    }
}

pub(crate) async fn only_open_accepted_work_is_cancelled(db: TestDatabase) {
    let store = two_nodes(&db).await;
    let traces = store.traces();
    assert_eq!(refusal(cancel(&store, order(Uuid::now_v7(), "b")).await).status(), 404);
    for mode in [TraceMode::Sync, TraceMode::Kafka, TraceMode::Cron] {
        let row = NewTrace { mode, ..pending("orders") };
        traces.insert(row.clone()).await.unwrap();
        assert_eq!(refusal(cancel(&store, order(row.id, "b")).await).status(), 409, "{mode:?}");
    }
    let work = accept(&store).await;
    traces.finish(end(work, TraceStatus::Completed)).await.unwrap();
    assert_eq!(refusal(cancel(&store, order(work, "b")).await).status(), 409);
}
