//! The pauses of channels, and the failures by which channels pause themselves.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use svc_model::config::RepeatedFailureConfig;
use svc_model::{Page, Timestamp};
use svc_store::{
    AuditFilter, ChangedEntity, CountedFailure, DueLetters, Mutation, NewPause, NewTrace, Ownership,
    RenewedWait, Store, TraceFailure, TraceMode, TraceStatus, WaitReason,
};
use tokio::time::timeout;
use uuid::Uuid;

use super::database::TestDatabase;
use super::traces::{ago, failure as trace_failure, pending};
use super::{any_mutation, channel, mutation, refusal};

const HOUR: Duration = Duration::from_secs(3600);

async fn with_channels(db: &TestDatabase) -> Store {
    let store = db.store().await;
    for id in ["a", "b"] {
        store.channels().create(Some(id.into()), channel(id, None), any_mutation()).await.unwrap();
    }
    store
}

fn order(action: &str) -> Mutation {
    mutation("channel", action)
}

fn pause(reason: &str, until: Option<&str>) -> NewPause {
    let until = until.map(|until| Timestamp::parse(until).unwrap());
    NewPause { until, by: "ops".into(), reason: reason.into() }
}

fn ids(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

/// Returns the number of audit rows of an action.
async fn count_audited(store: &Store, action: &str) -> i64 {
    let filter = AuditFilter { action: Some(action.into()), ..AuditFilter::default() };
    store.audit().list(filter, Page::default()).await.unwrap().1
}

pub(crate) async fn pause_is_stored_replaced_and_ended(db: TestDatabase) {
    let store = with_channels(&db).await;
    let pauses = store.channel_pauses();
    let first = pauses.pause(&ids(&["a"]), pause("down", None), order("pause")).await.unwrap();
    let until = "2999-01-02T03:04:05Z";
    pauses.pause(&ids(&["a"]), pause("still down", Some(until)), order("pause")).await.unwrap();
    let listed = pauses.list().await.unwrap();
    let [(id, now)] = listed.as_slice() else { panic!("{listed:?}") };
    assert_eq!((id.as_str(), now.since, now.until), ("a", first[0].1.since, Timestamp::parse(until)));
    assert_eq!((now.reason.as_str(), now.by.as_str()), ("still down", "ops"));
    assert_eq!(pauses.resume(&ids(&["b", "a"]), order("resume")).await.unwrap(), ["a"]);
    assert!(pauses.resume(&ids(&["a"]), order("resume")).await.unwrap().is_empty());
    assert!(pauses.list().await.unwrap().is_empty());
    assert_eq!((count_audited(&store, "pause").await, count_audited(&store, "resume").await), (2, 1));
    let changes = store.epoch().changes_after(0).await.unwrap();
    assert_eq!(changes.len(), 3, "what changed nothing raised no epoch");
    assert!(changes.iter().all(|change| change.entity == ChangedEntity::Pauses));
}

pub(crate) async fn pause_of_several_channels_is_one_change(db: TestDatabase) {
    let store = with_channels(&db).await;
    let paused =
        store.channel_pauses().pause(&ids(&["b", "a", "b"]), pause("down", None), order("pause")).await;
    assert_eq!(paused.unwrap().into_iter().map(|(id, _)| id).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!((count_audited(&store, "pause").await, store.epoch().current().await.unwrap()), (1, 1));
    let (rows, _) = store.audit().list(AuditFilter::default(), Page::default()).await.unwrap();
    let details: serde_json::Value = serde_json::from_str(rows[0].details.as_deref().unwrap()).unwrap();
    assert_eq!((&details["channels"], &details["reason"]), (&serde_json::json!(["a", "b"]), &"down".into()));
}

pub(crate) async fn impossible_pause_leaves_nothing(db: TestDatabase) {
    let store = with_channels(&db).await;
    let pauses = store.channel_pauses();
    let refused =
        refusal(pauses.pause(&ids(&["a", "none"]), pause("down", None), order("pause")).await).status();
    let past = pause("down", Some("2020-01-01T00:00:00Z"));
    let late = refusal(pauses.pause(&ids(&["a"]), past, order("pause")).await);
    assert_eq!((refused, late.status()), (404, 400));
    assert!(late.message().contains("body.until"), "{}", late.message());
    assert_eq!(refusal(pauses.resume(&ids(&["none"]), order("resume")).await).status(), 404);
    let dry = Mutation { dry_run: true, ..order("pause") };
    pauses.pause(&ids(&["a"]), pause("down", None), dry).await.unwrap();
    assert!(pauses.list().await.unwrap().is_empty());
    assert_eq!((count_audited(&store, "pause").await, store.epoch().current().await.unwrap()), (0, 0));
}

pub(crate) async fn pause_ends_at_its_time_and_with_channel(db: TestDatabase) {
    let store = with_channels(&db).await;
    let pauses = store.channel_pauses();
    let until = Some("2999-01-01T00:00:00Z");
    pauses.pause(&ids(&["a", "b"]), pause("down", until), order("pause")).await.unwrap();
    assert!(pauses.resume_due(order("resume")).await.unwrap().is_empty());
    let past = format!("UPDATE channel_pauses SET paused_until = {} WHERE channel_id = 'b'", ago(&db, 1));
    db.execute(&past).await.unwrap();
    assert_eq!(pauses.resume_due(order("resume")).await.unwrap(), ["b"]);
    assert_eq!(count_audited(&store, "resume").await, 1);
    store.channels().delete("a", any_mutation()).await.unwrap();
    assert!(pauses.list().await.unwrap().is_empty());
}

fn failure(report: Option<NewTrace>) -> CountedFailure {
    CountedFailure {
        id: Uuid::now_v7().to_string(),
        channel_id: "a".into(),
        limit: RepeatedFailureConfig { failures: 2, within_secs: 60 },
        pause: NewPause { until: None, by: "on_repeated_failure".into(), reason: "it failed".into() },
        report,
    }
}

pub(crate) async fn repeated_failure_within_time_pauses_channel_once(db: TestDatabase) {
    let store = with_channels(&db).await;
    let pauses = store.channel_pauses();
    let fail = async |report: Option<NewTrace>| {
        pauses.record_failure(failure(report), order("pause")).await.unwrap()
    };
    assert!(!fail(None).await);
    db.execute(&format!("UPDATE channel_failures SET failed_at = {}", ago(&db, 1))).await.unwrap();
    assert!(!fail(None).await, "the first one is too old");
    let alerts: Arc<str> = "alerts".into();
    let report = NewTrace::new(Uuid::now_v7(), alerts, TraceMode::Async, TraceStatus::Pending);
    let (id, later) = (report.id, NewTrace { id: Uuid::now_v7(), ..report.clone() });
    assert!(fail(Some(report)).await);
    assert!(!fail(Some(later.clone())).await, "a paused channel counts nothing");
    let listed = pauses.list().await.unwrap();
    assert_eq!((listed[0].0.as_str(), listed[0].1.by.as_str()), ("a", "on_repeated_failure"));
    let stored = async |id: Uuid| store.traces().get(&id.to_string()).await.unwrap().is_some();
    assert_eq!((stored(id).await, stored(later.id).await), (true, false), "the report is written once");
    assert_eq!(count_audited(&store, "pause").await, 1);
    pauses.resume(&ids(&["a"]), order("resume")).await.unwrap();
    assert!(!fail(None).await, "it counts anew");
}

pub(crate) async fn failure_reported_twice_counts_once(db: TestDatabase) {
    let store = with_channels(&db).await;
    let pauses = store.channel_pauses();
    let first = failure(None);
    for _ in 0..3 {
        assert!(!pauses.record_failure(first.clone(), order("pause")).await.unwrap());
    }
    assert!(pauses.record_failure(failure(None), order("pause")).await.unwrap(), "another one");
    store.channels().delete("a", any_mutation()).await.unwrap();
    for _ in 0..2 {
        assert!(!pauses.record_failure(failure(None), order("pause")).await.unwrap(), "the channel is gone");
    }
    assert!(pauses.list().await.unwrap().is_empty());
}

pub(crate) async fn retries_of_paused_channel_rest_until_resume(db: TestDatabase) {
    let store = with_channels(&db).await;
    let (pauses, letters) = (store.channel_pauses(), store.dead_letters());
    let failed = pending("a");
    store.traces().insert(failed.clone()).await.unwrap();
    let failed = TraceFailure { retries: true, delay: Duration::ZERO, ..trace_failure(failed.id) };
    assert!(store.traces().fail_to_dead_letters(failed).await.unwrap());
    let claim = async || letters.claim_due(DueLetters::All, 10, HOUR, "n1").await.unwrap();
    let letter = claim().await.remove(0);
    assert!(!letters.rest(&letter.id, "n2", "a", Duration::ZERO).await.unwrap(), "another node holds it");
    assert!(letters.rest(&letter.id, "n1", "a", Duration::ZERO).await.unwrap());
    let letter = claim().await.remove(0);
    pauses.pause(&ids(&["a"]), pause("down", None), order("pause")).await.unwrap();
    assert!(letters.rest(&letter.id, "n1", "a", Duration::ZERO).await.unwrap());
    assert!(claim().await.is_empty());
    assert_eq!(letters.next_due(DueLetters::All).await.unwrap(), None);
    let counts = async || {
        let counts = store.traces().count_waiting().await.unwrap();
        (counts.retrying, counts.resting_retries)
    };
    assert_eq!(counts().await, (1, 1));
    pauses.resume(&ids(&["a"]), order("resume")).await.unwrap();
    assert_eq!(counts().await, (1, 0));
    let freed = claim().await.remove(0);
    assert_eq!((freed.id, freed.retry_count), (letter.id, letter.retry_count));
}

pub(crate) async fn run_that_called_paused_channel_rests(db: TestDatabase) {
    let store = with_channels(&db).await;
    let (pauses, traces) = (store.channel_pauses(), store.traces());
    let job = NewTrace { owner: Some("n1".into()), channel_id: Some("a".into()), ..pending("a") };
    traces.insert(job.clone()).await.unwrap();
    let claim = Ownership { owner: "n1".into(), recoveries: 0 };
    let wait = RenewedWait {
        reason: WaitReason::Paused,
        awaited_channel: Some("b".into()),
        delay: Some(Duration::ZERO),
    };
    pauses.pause(&ids(&["b"]), pause("down", None), order("pause")).await.unwrap();
    assert!(traces.put_back_to(None, job.id, claim.clone(), wait.clone()).await.unwrap());
    assert!(
        traces.due_waiting(10).await.unwrap().is_empty()
            && traces.next_waiting_due().await.unwrap().is_none()
    );
    assert!(traces.paused_waiting("a".into(), 10).await.unwrap().is_empty(), "its own channel is not paused");
    let counts = traces.count_waiting().await.unwrap().waiting;
    let counted: Vec<_> = counts.iter().map(|count| (count.rows, count.rests)).collect();
    assert_eq!(counted, [(0, false), (1, true)]);
    let waits = traces.work_facts(&job.id.to_string()).await.unwrap().unwrap().explain().unwrap();
    assert!(
        waits.reason.name() == "paused" && waits.sentence.contains("channel 'b', which it calls"),
        "{waits:?}"
    );
    pauses.resume(&ids(&["b"]), order("resume")).await.unwrap();
    let freed = traces.paused_waiting("a".into(), 10).await.unwrap();
    let freed: Vec<_> = freed.into_iter().map(|row| row.id).collect();
    assert_eq!(freed, [job.id]);
    assert_eq!(traces.claim_waiting(&"n1".into(), freed, None).await.unwrap().len(), 1);
    assert!(traces.put_back_to(None, job.id, claim, wait).await.unwrap());
    assert_eq!(traces.due_waiting(10).await.unwrap().len(), 1, "the channel is paused no more");
}

pub(crate) async fn failed_resume_frees_nothing(db: TestDatabase) {
    let store = with_channels(&db).await;
    let (pauses, traces) = (store.channel_pauses(), store.traces());
    let job = NewTrace { owner: Some("n1".into()), channel_id: Some("a".into()), ..pending("a") };
    traces.insert(job.clone()).await.unwrap();
    let claim = Ownership { owner: "n1".into(), recoveries: 0 };
    let wait = RenewedWait {
        reason: WaitReason::Paused,
        awaited_channel: Some("b".into()),
        delay: Some(Duration::ZERO),
    };
    pauses.pause(&ids(&["b"]), pause("down", None), order("pause")).await.unwrap();
    assert!(traces.put_back_to(None, job.id, claim, wait).await.unwrap());
    // The audit row is written behind the pause and what it holds.
    let (refuse, accept) = if db.is_sqlite() {
        let refuse = "CREATE TRIGGER refusal BEFORE INSERT ON audit_logs WHEN NEW.action = 'resume' \
                      BEGIN SELECT RAISE(ABORT, 'refused'); END";
        (refuse, "DROP TRIGGER refusal")
    } else {
        let refuse = "ALTER TABLE audit_logs ADD CONSTRAINT refusal CHECK (action <> 'resume')";
        (refuse, "ALTER TABLE audit_logs DROP CONSTRAINT refusal")
    };
    db.execute(refuse).await.unwrap();
    pauses.resume(&ids(&["b"]), order("resume")).await.unwrap_err();
    assert_eq!(pauses.list().await.unwrap().len(), 1);
    assert!(traces.paused_waiting("a".into(), 10).await.unwrap().is_empty(), "it rests");
    db.execute(accept).await.unwrap();
    assert_eq!(pauses.resume(&ids(&["b"]), order("resume")).await.unwrap(), ["b"]);
    assert_eq!(traces.paused_waiting("a".into(), 10).await.unwrap().len(), 1);
}

pub(crate) async fn wait_for_resume_delays_no_other_write(db: TestDatabase) {
    let store = with_channels(&db).await;
    let traces = store.traces();
    let job = NewTrace { owner: Some("n1".into()), channel_id: Some("a".into()), ..pending("a") };
    traces.insert(job.clone()).await.unwrap();
    store.channel_pauses().pause(&ids(&["b"]), pause("down", None), order("pause")).await.unwrap();
    // Another node resumes the channel, and has not committed.
    let lock = db.hold("DELETE FROM channel_pauses WHERE channel_id = 'b'").await;
    let claim = Ownership { owner: "n1".into(), recoveries: 0 };
    let wait = RenewedWait {
        reason: WaitReason::Paused,
        awaited_channel: Some("b".into()),
        delay: Some(Duration::ZERO),
    };
    let given_back = traces.put_back_to(None, job.id, claim, wait);
    let others = async {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                       AND backend_type = 'client backend' AND wait_event_type = 'Lock'";
        while db.number(waiting).await == 0 {
            tokio::task::yield_now().await;
        }
        traces.insert(pending("a")).await.unwrap();
        lock.batch_execute("COMMIT").await.unwrap();
    };
    let both = timeout(Duration::from_secs(20), join(given_back, others));
    let (given_back, ()) = both.await.expect("the other write waits for nothing");
    assert!(given_back.unwrap());
    assert_eq!(traces.due_waiting(10).await.unwrap().len(), 1, "the channel is paused no more");
}
