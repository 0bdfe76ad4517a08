//! Attempts at accepted work.

use std::time::Duration;

use svc_model::Page;
use svc_store::{
    ClaimedLetter, DeadLetterFilter, DueLetters, NewTrace, Store, TraceAttempt, TraceFailure, TraceQuery,
    TraceRecord, TraceStatus,
};
use uuid::Uuid;

use super::database::TestDatabase;
use super::mutation;
use super::traces::{ago, end, failure, pending, status};

const LEASE: Duration = Duration::from_secs(60);

/// A failure that is retried at once.
fn passing(id: Uuid) -> TraceFailure {
    TraceFailure { retries: true, ..failure(id) }
}

async fn read(store: &Store, id: Uuid) -> TraceRecord {
    store.traces().get(&id.to_string()).await.unwrap().unwrap()
}

/// Accepts work, lets it fail, and returns its id.
async fn failed_work(store: &Store, change: impl FnOnce(&mut TraceFailure)) -> Uuid {
    let work = pending("orders");
    let (id, mut failed) = (work.id, passing(work.id));
    change(&mut failed);
    store.traces().insert(work).await.unwrap();
    assert!(store.traces().fail_to_dead_letters(failed).await.unwrap());
    id
}

/// Takes the one letter that is due into the next attempt.
async fn begin_attempt(store: &Store) -> (ClaimedLetter, NewTrace) {
    let claimed = store.dead_letters().claim_due(DueLetters::All, 1, LEASE, "n1").await.unwrap().remove(0);
    let attempt = pending("orders");
    assert!(store.dead_letters().take_into_trace(&claimed, attempt.clone(), "n1").await.unwrap());
    (claimed, attempt)
}

fn statuses(attempts: &[TraceAttempt]) -> Vec<(i64, &str, Option<&str>)> {
    attempts
        .iter()
        .map(|attempt| (attempt.attempt, attempt.status.as_str(), attempt.error_message.as_deref()))
        .collect()
}

async fn listed(store: &Store, attempts: bool) -> usize {
    store.traces().list(TraceQuery { attempts, ..TraceQuery::default() }).await.unwrap().rows.len()
}

pub(crate) async fn work_has_the_state_of_its_newest_attempt(db: TestDatabase) {
    let store = db.store().await;
    let traces = store.traces();
    let work = failed_work(&store, |failed| failed.delay = Duration::from_secs(30)).await;
    let waits = read(&store, work).await;
    assert_eq!((&*waits.row.status, waits.row.attempt), ("retrying", 1));
    assert_eq!(statuses(&waits.attempts), [(1, "failed", Some("no luck"))]);
    let delay = waits.row.next_retry_at.unwrap().naive() - waits.row.updated_at.naive();
    assert!((25..=30).contains(&delay.num_seconds()) && waits.row.completed_at.is_none(), "{delay}");
    db.execute(&format!("UPDATE trace_dlq SET next_retry_at = {}", ago(&db, 1))).await.unwrap();

    let (letter, attempt) = begin_attempt(&store).await;
    assert_eq!((letter.work(), letter.attempt_of.clone()), (&*work.to_string(), None));
    let begun = read(&store, work).await;
    assert_eq!((&*begun.row.status, begun.row.attempt, begun.row.next_retry_at), ("retrying", 2, None));
    assert_eq!((listed(&store, false).await, listed(&store, true).await), (1, 2));
    assert!(traces.start_attempt(attempt.id, None, None).await.unwrap());
    assert_eq!(status(&traces, work).await.as_deref(), Some("running"));
    assert!(traces.finish_attempt(end(attempt.id, TraceStatus::Completed)).await.unwrap());
    assert!(!traces.finish_attempt(end(attempt.id, TraceStatus::Failed)).await.unwrap(), "it has ended");

    let done = read(&store, work).await;
    assert_eq!((&*done.row.status, done.row.error_message.as_deref()), ("completed", None));
    assert_eq!((done.result_json.as_deref(), done.row.duration_ms), (Some("{}"), Some(1500.0)));
    assert_eq!(done.task_trace_json.as_deref(), Some("[]"), "the steps of the first attempt");
    assert_eq!(statuses(&done.attempts), [(1, "failed", Some("no luck")), (2, "completed", None)]);
    assert_eq!(done.attempts[1].trace_id, attempt.id.to_string());
    assert!(done.row.completed_at.is_some());
    let own = read(&store, attempt.id).await;
    assert_eq!((own.row.attempt, own.row.attempt_of), (2, Some(work.to_string())));
    assert!(own.attempts.is_empty());
}

pub(crate) async fn work_without_retries_left_fails_until_requeued(db: TestDatabase) {
    let store = db.store().await;
    let (traces, letters) = (store.traces(), store.dead_letters());
    let work = failed_work(&store, |_| {}).await;
    let (_, second) = begin_attempt(&store).await;
    let exhausted = TraceFailure { retry_count: 5, ..passing(second.id) };
    assert!(traces.fail_to_dead_letters(exhausted).await.unwrap());
    let failed = read(&store, work).await;
    assert_eq!((&*failed.row.status, failed.row.error_message.as_deref()), ("failed", Some("no luck")));
    assert!(failed.row.completed_at.is_some() && failed.row.next_retry_at.is_none());

    let (rows, _) = letters.list(DeadLetterFilter::default(), Page::default()).await.unwrap();
    assert_eq!(rows[0].attempt_of, Some(work.to_string()));
    letters.requeue(&rows[0].id, mutation("trace_dlq", "requeue")).await.unwrap();
    let again = read(&store, work).await;
    assert_eq!((&*again.row.status, again.row.completed_at), ("retrying", None));
    assert!(again.row.next_retry_at.is_some());
    let (letter, third) = begin_attempt(&store).await;
    assert_eq!(letter.work(), work.to_string());
    // Until the channel can run it, it waits longer.
    assert!(traces.fail_to_dead_letters(TraceFailure { retry_count: 1, ..passing(third.id) }).await.unwrap());
    let held = letters.claim_due(DueLetters::All, 1, LEASE, "n1").await.unwrap().remove(0);
    assert!(letters.put_back(&held.id, "n1", Duration::from_secs(90)).await.unwrap());
    let waits = read(&store, work).await;
    assert_eq!((&*waits.row.status, waits.row.attempt, waits.attempts.len()), ("retrying", 3, 3));
    let delay = waits.row.next_retry_at.unwrap().naive() - waits.row.updated_at.naive();
    assert!(delay.num_seconds() > 80, "{delay}");
}

pub(crate) async fn unfinished_accepted_work_outlives_retention(db: TestDatabase) {
    let store = db.store().await;
    let traces = store.traces();
    let old = format!("UPDATE traces SET created_at = {}", ago(&db, 100));
    let waiting = pending("orders");
    traces.insert(waiting.clone()).await.unwrap();
    let work = failed_work(&store, |_| {}).await;
    db.execute(&old).await.unwrap();
    assert_eq!(traces.delete_expired(10, 100).await.unwrap(), 0, "its letter is there");
    let (_, attempt) = begin_attempt(&store).await;
    db.execute(&old).await.unwrap();
    assert_eq!(traces.delete_expired(10, 100).await.unwrap(), 0, "its attempt waits");
    assert!(traces.start_attempt(attempt.id, None, None).await.unwrap());
    assert_eq!(traces.delete_expired(10, 100).await.unwrap(), 0, "its attempt runs");
    db.execute(&format!("DELETE FROM traces WHERE id = '{}'", attempt.id)).await.unwrap();
    assert_eq!(traces.delete_expired(10, 100).await.unwrap(), 1, "nothing is left of it");
    assert_eq!(status(&traces, work).await, None);
    assert_eq!(status(&traces, waiting.id).await.as_deref(), Some("pending"));
}
