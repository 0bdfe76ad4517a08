//! Dead letters.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::{join, join_all};
use svc_model::Page;
use svc_store::{AuditFilter, DeadLetterFilter, DueLetters, NewTrace, Store, TraceFailure, TraceStatus};
use uuid::Uuid;

use super::database::TestDatabase;
use super::traces::{ago, count_traces, end, failure, pending, status};
use super::{mutation, refusal};

const LEASE: Duration = Duration::from_secs(60);

/// Writes a trace that fails, and returns the id of its letter.
pub(super) async fn letter(store: &Store, channel: &str, change: impl FnOnce(&mut TraceFailure)) -> String {
    let trace = pending(channel);
    let mut failed = failure(trace.id);
    change(&mut failed);
    let id = trace.id.to_string();
    store.traces().insert(trace).await.unwrap();
    assert!(store.traces().fail_to_dead_letters(failed).await.unwrap());
    let all = Page { limit: 1000, offset: 0 };
    let (rows, _) = store.dead_letters().list(DeadLetterFilter::default(), all).await.unwrap();
    rows.into_iter().find(|row| row.trace_id == id).unwrap().id
}

fn same(_: &mut TraceFailure) {}

pub(crate) async fn a_failed_run_leaves_its_letter_in_one_transaction(db: TestDatabase) {
    let store = db.store().await;
    let (traces, letters) = (store.traces(), store.dead_letters());
    let trace = pending("orders");
    let id = trace.id;
    traces.insert(trace).await.unwrap();
    let failed = TraceFailure { retry_count: 2, delay: Duration::from_secs(8), ..failure(id) };
    assert!(traces.fail_to_dead_letters(failed.clone()).await.unwrap());
    assert!(!traces.fail_to_dead_letters(failed).await.unwrap(), "it has ended");
    let read = traces.get(&id.to_string()).await.unwrap().unwrap();
    assert_eq!((read.row.status.as_str(), read.row.error_message.as_deref()), ("failed", Some("no luck")));
    assert_eq!((read.row.duration_ms, read.task_trace_json.as_deref()), (Some(2.0), Some("[]")));
    let (rows, total) = letters.list(DeadLetterFilter::default(), Page::default()).await.unwrap();
    assert_eq!((rows.len(), total, letters.depth().await.unwrap()), (1, 1, 1));
    let letter = letters.get(&rows[0].id).await.unwrap().unwrap();
    assert_eq!(letter.row, rows[0]);
    assert_eq!((letter.row.trace_id.as_str(), letter.row.channel.as_str()), (&*id.to_string(), "orders"));
    assert_eq!((letter.row.retry_count, letter.row.max_retries), (2, 5));
    assert_eq!(
        (letter.payload_json.as_str(), letter.metadata_json.as_str()),
        (r#"{"a":1}"#, r#"{"ip":"::1"}"#)
    );
    let wait = letter.row.next_retry_at.naive() - letter.row.created_at.naive();
    assert!((7..=8).contains(&wait.num_seconds()), "{wait}");
    assert!(letters.claim_due(DueLetters::All, 10, LEASE, "n").await.unwrap().is_empty(), "not yet due");

    // If the letter cannot be written, the trace does not fail either.
    let trace = pending("orders");
    let id = trace.id;
    traces.insert(trace).await.unwrap();
    db.execute("ALTER TABLE trace_dlq RENAME TO away").await.unwrap();
    assert!(traces.fail_to_dead_letters(failure(id)).await.is_err());
    db.execute("ALTER TABLE away RENAME TO trace_dlq").await.unwrap();
    assert_eq!(status(&traces, id).await.as_deref(), Some("pending"));
    assert!(traces.fail_to_dead_letters(failure(id)).await.unwrap());
}

pub(crate) async fn failure_report_is_atomic_with_its_letter(db: TestDatabase) {
    let store = db.store().await;
    let traces = store.traces();
    let (failed, report) = (pending("orders"), pending("alerts"));
    let (id, report_id) = (failed.id, report.id);
    traces.insert(failed).await.unwrap();
    let end = TraceFailure { report: Some(Box::new(report)), ..failure(id) };
    db.execute("ALTER TABLE trace_dlq RENAME TO away").await.unwrap();
    assert!(traces.fail_to_dead_letters(end.clone()).await.is_err());
    db.execute("ALTER TABLE away RENAME TO trace_dlq").await.unwrap();
    assert_eq!(status(&traces, report_id).await, None);
    assert!(traces.fail_to_dead_letters(end.clone()).await.unwrap());
    assert_eq!(status(&traces, report_id).await.as_deref(), Some("pending"));
    assert!(!traces.fail_to_dead_letters(end).await.unwrap(), "neither is written twice");
}

pub(crate) async fn next_due_passes_over_held_and_exhausted_letters(db: TestDatabase) {
    let store = db.store().await;
    let letters = store.dead_letters();
    assert_eq!(letters.next_due(DueLetters::All).await.unwrap(), None);
    letter(&store, "orders", |failed| failed.retry_count = 5).await;
    assert_eq!(letters.next_due(DueLetters::All).await.unwrap(), None, "no retry is left");
    letter(&store, "orders", |failed| failed.delay = Duration::from_secs(600)).await;
    let due = letters.next_due(DueLetters::All).await.unwrap().unwrap();
    assert!(due > Duration::from_secs(590) && due <= Duration::from_secs(600), "{due:?}");
    letter(&store, "orders", same).await;
    assert_eq!(letters.next_due(DueLetters::All).await.unwrap(), Some(Duration::ZERO));
    assert_eq!(letters.claim_due(DueLetters::All, 10, LEASE, "n").await.unwrap().len(), 1);
    assert!(
        letters.next_due(DueLetters::All).await.unwrap().unwrap() > Duration::from_secs(590),
        "it is held"
    );
}

pub(crate) async fn a_letter_keeps_what_is_no_proper_input(db: TestDatabase) {
    let store = db.store().await;
    for (input, payload, metadata) in [
        (None, "null", "{}"),
        (Some("{"), r#""{""#, "{}"),
        (Some("[1]"), "[1]", "{}"),
        (Some(r#"{"data":"x"}"#), r#""x""#, "{}"),
        (Some(r#"{"metadata":{"b":1,"a":2}}"#), "null", r#"{"b":1,"a":2}"#),
    ] {
        let trace = NewTrace { input_json: input.map(Into::into), ..pending("odd") };
        let id = trace.id;
        store.traces().insert(trace).await.unwrap();
        store.traces().fail_to_dead_letters(failure(id)).await.unwrap();
        let claimed = store.dead_letters().claim_due(DueLetters::All, 1, LEASE, "n").await.unwrap().remove(0);
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(claimed.payload_json, payload);
        assert_eq!(value(&claimed.metadata_json), value(metadata));
    }
}

pub(crate) async fn letters_are_filtered_and_newest_first(db: TestDatabase) {
    let store = db.store().await;
    let letters = store.dead_letters();
    let first = letter(&store, "a", same).await;
    let second = letter(&store, "b", |failed| failed.retry_count = 5).await;
    let third = letter(&store, "a", |failed| failed.retry_count = 6).await;
    let list = async |channel: Option<&str>, exhausted, page| {
        let filter =
            DeadLetterFilter { channel: channel.map(Into::into), exhausted, ..DeadLetterFilter::default() };
        let (rows, total) = letters.list(filter, page).await.unwrap();
        (rows.into_iter().map(|row| row.id).collect::<Vec<_>>(), total)
    };
    let all = Page::default;
    assert_eq!(list(None, None, all()).await, (vec![third.clone(), second.clone(), first.clone()], 3));
    assert_eq!(list(None, Some(true), all()).await, (vec![third.clone(), second.clone()], 2));
    assert_eq!(list(None, Some(false), all()).await, (vec![first.clone()], 1));
    assert_eq!(list(Some("a"), Some(true), all()).await, (vec![third.clone()], 1));
    assert_eq!(list(Some("a\0"), None, all()).await, (vec![], 0));
    assert_eq!(list(None, None, Page { limit: 1, offset: 1 }).await, (vec![second], 3));
    assert_eq!((letters.depth().await.unwrap(), letters.count_exhausted().await.unwrap()), (3, 2));
    assert_eq!(letters.get("a\0").await.unwrap(), None);
}

pub(crate) async fn letters_are_found_by_the_time_of_their_failure(db: TestDatabase) {
    let store = db.store().await;
    let old = letter(&store, "a", same).await;
    let aged = format!("UPDATE trace_dlq SET created_at = {} WHERE id = '{old}'", ago(&db, 2));
    db.execute(&aged).await.unwrap();
    let young = letter(&store, "a", same).await;
    let list = async |since: Option<&str>, until: Option<&str>| {
        let instant = async |id: Option<&str>| {
            let letter = store.dead_letters().get(id?).await.unwrap();
            Some(letter.unwrap().row.created_at)
        };
        let (since, until) = (instant(since).await, instant(until).await);
        let filter = DeadLetterFilter { since, until, ..DeadLetterFilter::default() };
        let (rows, total) = store.dead_letters().list(filter, Page::default()).await.unwrap();
        assert_eq!(usize::try_from(total).unwrap(), rows.len());
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(list(Some(&young), None).await, [young.as_str()], "the instant itself belongs to it");
    assert_eq!(list(None, Some(&young)).await, [old.as_str()], "and not to what ends there");
    assert_eq!(list(Some(&old), None).await, [young.clone(), old.clone()]);
    assert_eq!(list(Some(&old), Some(&old)).await, [""; 0]);
}

pub(crate) async fn a_requeued_letter_is_due_and_free(db: TestDatabase) {
    let store = db.store().await;
    let letters = store.dead_letters();
    let id = letter(&store, "a", |failed| failed.retry_count = 4).await;
    assert_eq!(letters.claim_due(DueLetters::All, 1, LEASE, "n1").await.unwrap().len(), 1);
    let change = || mutation("trace_dlq", "requeue");
    let requeued = letters.requeue(&id, change()).await.unwrap();
    assert_eq!((requeued.row.id.as_str(), requeued.row.retry_count), (id.as_str(), 0));
    let retrying = letters.find_retrying(&[id.clone(), "absent".to_owned(), "a\0".to_owned()]).await.unwrap();
    assert_eq!(retrying, [id.clone()].into());
    assert!(!letters.put_back(&id, "n1", LEASE).await.unwrap(), "its holder lost it");
    let claimed = letters.claim_due(DueLetters::All, 1, LEASE, "n2").await.unwrap();
    assert_eq!((claimed.len(), claimed[0].retry_count), (1, 0));
    for absent in ["a\0", "absent"] {
        assert_eq!(refusal(letters.requeue(absent, change()).await).status(), 404);
    }
    let filter = AuditFilter { resource_type: Some("trace_dlq".into()), ..AuditFilter::default() };
    let (records, total) = store.audit().list(filter, Page::default()).await.unwrap();
    assert_eq!(
        (total, records[0].action.as_str(), records[0].resource_id.as_str()),
        (1, "requeue", id.as_str())
    );
}

pub(crate) async fn a_purge_takes_what_is_exhausted_and_old(db: TestDatabase) {
    let store = db.store().await;
    let letters = store.dead_letters();
    let alive = letter(&store, "a", same).await;
    let old = letter(&store, "a", |failed| failed.retry_count = 5).await;
    let young = letter(&store, "a", |failed| failed.retry_count = 5).await;
    let aged = format!("UPDATE trace_dlq SET created_at = {} WHERE id IN ('{alive}', '{old}')", ago(&db, 3));
    db.execute(&aged).await.unwrap();
    let change = || mutation("trace_dlq", "purge");
    assert_eq!(letters.purge(u64::MAX, change()).await.unwrap(), 0, "nothing is as old as that");
    assert_eq!(letters.purge(2, change()).await.unwrap(), 1);
    assert_eq!(letters.purge(2, change()).await.unwrap(), 0);
    let (rows, _) = letters.list(DeadLetterFilter::default(), Page::default()).await.unwrap();
    assert_eq!(rows.into_iter().map(|row| row.id).collect::<Vec<_>>(), [young, alive]);
    let filter = AuditFilter { action: Some("purge".into()), ..AuditFilter::default() };
    assert_eq!(store.audit().list(filter, Page::default()).await.unwrap().1, 1, "one changed something");
}

pub(crate) async fn retention_takes_exhausted_letters_and_leaves_waiting_ones(db: TestDatabase) {
    let store = db.store().await;
    let letters = store.dead_letters();
    let alive = letter(&store, "a", same).await;
    let young = letter(&store, "a", |failed| failed.retry_count = 5).await;
    for _ in 0..5 {
        letter(&store, "a", |failed| failed.retry_count = 5).await;
    }
    let aged = format!("UPDATE trace_dlq SET created_at = {} WHERE id <> '{young}'", ago(&db, 3));
    db.execute(&aged).await.unwrap();
    assert_eq!(letters.delete_expired(u64::MAX, 2).await.unwrap(), 0, "nothing is as old as that");
    assert_eq!(letters.delete_expired(2, 2).await.unwrap(), 5, "in steps of two");
    let (rows, _) = letters.list(DeadLetterFilter::default(), Page::default()).await.unwrap();
    assert_eq!(rows.into_iter().map(|row| row.id).collect::<Vec<_>>(), [young, alive]);
}

pub(crate) async fn a_letter_is_held_by_one(db: TestDatabase) {
    // Two handles to the same database, like two nodes.
    let (here, there) = (db.store().await, db.store().await);
    for _ in 0..40 {
        letter(&here, "a", same).await;
    }
    let exhausted = letter(&here, "a", |failed| failed.retry_count = 5).await;
    let claims = (0..20).map(|n| {
        let letters = if n % 2 == 0 { here.dead_letters() } else { there.dead_letters() };
        async move {
            letters
                .claim_due(DueLetters::All, 3, LEASE, if n % 2 == 0 { "here" } else { "there" })
                .await
                .unwrap()
        }
    });
    let claimed: Vec<_> = join_all(claims).await.into_iter().flatten().map(|letter| letter.id).collect();
    assert_eq!(claimed.iter().collect::<HashSet<_>>().len(), claimed.len(), "none twice");
    assert_eq!(claimed.len(), 40, "and each once");
    assert!(!claimed.contains(&exhausted));
    assert!(here.dead_letters().claim_due(DueLetters::All, 9, LEASE, "here").await.unwrap().is_empty());
    // An expired lease frees the letter.
    let over = format!("UPDATE trace_dlq SET claimed_until = {} WHERE id = '{}'", ago(&db, 1), claimed[0]);
    db.execute(&over).await.unwrap();
    let again = there.dead_letters().claim_due(DueLetters::All, 9, LEASE, "late").await.unwrap();
    assert_eq!(again.into_iter().map(|letter| letter.id).collect::<Vec<_>>(), claimed[..1]);
}

pub(crate) async fn a_retry_makes_a_trace_of_the_letter(db: TestDatabase) {
    let store = db.store().await;
    let (traces, letters) = (store.traces(), store.dead_letters());
    let id = letter(&store, "orders", same).await;
    let claimed = letters.claim_due(DueLetters::All, 1, LEASE, "n1").await.unwrap().remove(0);
    assert_eq!((claimed.id.as_str(), claimed.channel.as_str()), (id.as_str(), "orders"));
    let trace = pending("orders");
    assert!(!letters.take_into_trace(&claimed, trace.clone(), "n2").await.unwrap(), "another holds it");
    assert_eq!(status(&traces, trace.id).await, None);
    // An id that is taken rolls the deletion back too.
    let trace_id: Uuid = claimed.trace_id.parse().unwrap();
    let refused = letters.take_into_trace(&claimed, NewTrace { id: trace_id, ..trace.clone() }, "n1").await;
    assert!(refused.is_err());
    assert!(letters.get(&id).await.unwrap().is_some());
    assert!(letters.take_into_trace(&claimed, trace.clone(), "n1").await.unwrap());
    assert_eq!((letters.get(&id).await.unwrap(), letters.depth().await.unwrap()), (None, 0));
    assert_eq!(status(&traces, trace.id).await.as_deref(), Some("pending"));
    assert!(!letters.take_into_trace(&claimed, pending("orders"), "n1").await.unwrap(), "it is gone");
    assert_eq!(count_traces(&traces).await, 1, "an attempt is no work of its own");
    // The next failure continues the count.
    traces.fail_to_dead_letters(TraceFailure { retry_count: 1, ..failure(trace.id) }).await.unwrap();
    let (rows, _) = letters.list(DeadLetterFilter::default(), Page::default()).await.unwrap();
    assert_eq!((rows[0].retry_count, rows[0].trace_id.clone()), (1, trace.id.to_string()));
}

pub(crate) async fn a_letter_put_back_waits(db: TestDatabase) {
    let store = db.store().await;
    let letters = store.dead_letters();
    let id = letter(&store, "a", |failed| failed.retry_count = 3).await;
    assert!(!letters.put_back(&id, "n1", LEASE).await.unwrap(), "nobody holds it");
    letters.claim_due(DueLetters::All, 1, LEASE, "n1").await.unwrap();
    assert!(!letters.put_back(&id, "n2", LEASE).await.unwrap());
    assert!(letters.put_back(&id, "n1", LEASE).await.unwrap());
    assert!(letters.claim_due(DueLetters::All, 1, LEASE, "n2").await.unwrap().is_empty(), "it waits");
    let row = letters.get(&id).await.unwrap().unwrap().row;
    assert_eq!(row.retry_count, 3, "it was no retry");
    assert!(row.next_retry_at.naive() - row.updated_at.naive() > chrono::Duration::seconds(55));
    db.execute(&format!("UPDATE trace_dlq SET next_retry_at = {}", ago(&db, 1))).await.unwrap();
    assert_eq!(letters.claim_due(DueLetters::All, 1, LEASE, "n2").await.unwrap().len(), 1, "free and due");
}

pub(crate) async fn simultaneous_end_and_failure_leave_one(db: TestDatabase) {
    let store = db.store().await;
    let traces = store.traces();
    for _ in 0..10 {
        let trace = pending("a");
        let id = trace.id;
        traces.insert(trace).await.unwrap();
        let (ended, failed) =
            join(traces.finish(end(id, TraceStatus::Completed)), traces.fail_to_dead_letters(failure(id)))
                .await;
        assert_ne!(ended.unwrap(), failed.unwrap());
    }
    let (_, letters) = store.dead_letters().list(DeadLetterFilter::default(), Page::default()).await.unwrap();
    let failed =
        svc_store::TraceQuery { status: Some("failed".into()), include_total: true, ..Default::default() };
    assert_eq!(traces.list(failed).await.unwrap().total, Some(letters));
}
