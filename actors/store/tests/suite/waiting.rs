//! Accepted work that waits in the database.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use svc_ledger::{WorkOwner, WorkState};
use svc_model::Timestamp;
use svc_store::{
    DueLetters, DueTime, NewNode, NewTrace, Ownership, QueueShares, Store, TraceEnd, TraceFailure,
    TraceQuery, TraceRepository, TraceStatus, WaitReason, WaitTerms,
};
use uuid::Uuid;

use super::database::TestDatabase;
use super::traces::{ago, count_traces, end, failure, pending, status};

const HOUR: Duration = Duration::from_secs(3600);

/// Stores accepted work that waits on these terms.
async fn accept(traces: &TraceRepository, terms: WaitTerms) -> Uuid {
    let row = NewTrace { status: terms.reason.status(), wait: Some(Box::new(terms)), ..pending("orders") };
    traces.insert(row.clone()).await.unwrap();
    row.id
}

async fn accept_for(traces: &TraceRepository, due: DueTime) -> Uuid {
    accept(traces, WaitTerms { reason: WaitReason::Scheduled, due: Some(due), share: None }).await
}

async fn accept_in_line(traces: &TraceRepository, key: &str) -> Uuid {
    accept(traces, WaitTerms { reason: WaitReason::Share, due: None, share: Some(key.to_owned()) }).await
}

fn shares(per_key: Option<u64>, total: Option<u64>) -> QueueShares {
    QueueShares { channel_id: "c1".into(), per_key, total }
}

async fn claim(
    traces: &TraceRepository,
    node: &str,
    ids: &[Uuid],
    shares: Option<&QueueShares>,
) -> Vec<Uuid> {
    let claimed = traces.claim_waiting(&node.into(), ids.to_vec(), shares.cloned()).await.unwrap();
    claimed.into_iter().map(|run| run.id).collect()
}

fn owned_by(node: &str) -> Ownership {
    Ownership { owner: node.into(), recoveries: 0 }
}

async fn finish(traces: &TraceRepository, node: &str, id: Uuid) -> bool {
    let ended = TraceEnd { ownership: Some(owned_by(node)), ..end(id, TraceStatus::Completed) };
    traces.finish(ended).await.unwrap()
}

/// Claims and ends work of one share after the other. Returns the work in the order of its turns.
async fn run_in_turns(traces: &TraceRepository, shares: &QueueShares) -> Vec<Uuid> {
    let mut turns = Vec::new();
    loop {
        let next = traces.next_turns(shares.clone(), 10).await.unwrap();
        let claimed = claim(traces, "a", &next, Some(shares)).await;
        if claimed.is_empty() {
            return turns;
        }
        for id in claimed {
            assert!(finish(traces, "a", id).await);
            turns.push(id);
        }
    }
}

pub(crate) async fn scheduled_work_is_due_by_the_database_clock(db: TestDatabase) {
    let traces = db.store().await.traces();
    let later = accept_for(&traces, DueTime::After(HOUR)).await;
    assert!(traces.due_waiting(10).await.unwrap().is_empty());
    let left = traces.next_waiting_due().await.unwrap().unwrap();
    assert!(left <= HOUR && left > HOUR - Duration::from_secs(60), "{left:?}");
    assert!(claim(&traces, "a", &[later], None).await.is_empty(), "it is not due");

    let past = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
    let due = accept_for(&traces, DueTime::At(past)).await;
    assert_eq!(traces.next_waiting_due().await.unwrap(), Some(Duration::ZERO));
    let rows = traces.due_waiting(10).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), [due]);
    assert_eq!((rows[0].channel_id.as_deref(), &*rows[0].channel), (Some("c1"), "orders"));
    let shown = traces.get(&due.to_string()).await.unwrap().unwrap();
    assert_eq!((&*shown.row.status, shown.row.deliver_at), ("scheduled", Some(past)));

    assert_eq!(claim(&traces, "a", &[due, later], None).await, [due]);
    assert_eq!(claim(&traces, "a", &[due, later], None).await, [due], "its answer may have been lost");
    assert!(claim(&traces, "b", &[due], None).await.is_empty());
    assert_eq!(status(&traces, due).await.as_deref(), Some("pending"));
    assert!(finish(&traces, "a", due).await);
    let shown = traces.get(&due.to_string()).await.unwrap().unwrap();
    assert_eq!(shown.row.deliver_at, Some(past));
    let query = TraceQuery { trace_id: Some(due.to_string().into()), ..TraceQuery::default() };
    assert_eq!(traces.list(query).await.unwrap().rows[0].deliver_at, Some(past));
}

pub(crate) async fn waiting_work_belongs_to_no_node(db: TestDatabase) {
    let store = db.store().await;
    let traces = store.traces();
    let ids = [
        accept_for(&traces, DueTime::After(HOUR)).await,
        accept_in_line(&traces, "t1").await,
        accept(&traces, WaitTerms { reason: WaitReason::Paused, due: None, share: None }).await,
    ];
    let (found, _) = traces.unfinished_async(&"b".into(), None, 100).await.unwrap();
    assert!(found.is_empty(), "nobody takes over what has no owner to die");
    assert_eq!(status(&traces, ids[1]).await.as_deref(), Some("waiting"));
    let long_ago = ago(&db, 9000);
    db.execute(&format!("UPDATE traces SET created_at = {long_ago}")).await.unwrap();
    assert_eq!(traces.delete_expired(1, 100).await.unwrap(), 0);
    assert_eq!(count_traces(&traces).await, 3);

    let paused = traces.paused_waiting("c1".into(), 10).await.unwrap();
    assert_eq!(paused.iter().map(|row| row.id).collect::<Vec<_>>(), [ids[2]]);
    let counts = traces.count_waiting().await.unwrap();
    let mut reasons: Vec<_> = counts.waiting.iter().map(|count| (count.reason, count.rows)).collect();
    reasons.sort_unstable();
    assert_eq!(reasons, [(WaitReason::Paused, 1), (WaitReason::Scheduled, 1), (WaitReason::Share, 1)]);
    assert!(counts.waiting.iter().all(|count| count.channel_id.as_deref() == Some("c1")));
}

pub(crate) async fn due_work_waits_on_in_line(db: TestDatabase) {
    let traces = db.store().await.traces();
    let past = DueTime::At(Timestamp::parse("2026-01-01T00:00:00Z").unwrap());
    let terms = |share: Option<&str>| WaitTerms {
        reason: WaitReason::Scheduled,
        due: Some(past),
        share: share.map(str::to_owned),
    };
    let shared = accept(&traces, terms(Some("t1"))).await;
    let plain = accept(&traces, terms(None)).await;
    assert!(traces.next_turns(shares(None, Some(1)), 10).await.unwrap().is_empty(), "it is in no line yet");
    traces.rest_waiting(vec![shared], WaitReason::Share).await.unwrap();
    traces.rest_waiting(vec![plain], WaitReason::Paused).await.unwrap();
    assert!(traces.due_waiting(10).await.unwrap().is_empty());
    assert_eq!(traces.next_waiting_due().await.unwrap(), None);
    assert_eq!(traces.next_turns(shares(None, Some(1)), 10).await.unwrap(), [shared]);
    assert_eq!(traces.paused_waiting("c1".into(), 10).await.unwrap().len(), 1);
    assert_eq!(status(&traces, shared).await.as_deref(), Some("waiting"));
    let alone = accept(&traces, terms(None)).await;
    traces.join_line(vec![alone]).await.unwrap();
    assert!(traces.due_waiting(10).await.unwrap().is_empty());
    let turns = traces.next_turns(shares(None, Some(2)), 10).await.unwrap();
    assert_eq!(turns, [alone, shared], "the line of no key takes its turn");
}

pub(crate) async fn keys_that_wait_take_turns(db: TestDatabase) {
    let traces = db.store().await.traces();
    let mut ids = Vec::new();
    for key in ["a", "a", "a", "b", "", "c"] {
        ids.push(accept_in_line(&traces, key).await);
    }
    let one = shares(None, Some(1));
    let turns = run_in_turns(&traces, &one).await;
    assert_eq!(turns, [ids[4], ids[0], ids[3], ids[5], ids[1], ids[2]], "one of each key, the oldest first");
    // The turn goes on after the key that had the last one, on whatever node.
    let mut ids = Vec::new();
    for key in ["a", "b", "c"] {
        ids.push(accept_in_line(&traces, key).await);
    }
    assert_eq!(traces.next_turns(one, 10).await.unwrap(), [ids[1]]);
    assert_eq!(traces.next_turns(shares(None, None), 2).await.unwrap(), [ids[1], ids[2]]);
    assert_eq!(traces.next_turns(shares(None, None), 10).await.unwrap(), [ids[1], ids[2], ids[0]]);
}

pub(crate) async fn shares_are_exact_over_nodes(db: TestDatabase) {
    let (store, other) = (db.store().await, db.store().await);
    let (traces, others) = (store.traces(), other.traces());
    let mut ids = Vec::new();
    for key in ["a", "a", "a", "b", "b", "", "", ""] {
        ids.push(accept_in_line(&traces, key).await);
    }
    let bounds = shares(Some(1), Some(4));
    let (of_a, of_b) =
        join(claim(&traces, "a", &ids, Some(&bounds)), claim(&others, "b", &ids, Some(&bounds))).await;
    // A node that finds the other one claiming gets nothing this time.
    let mut taken = [of_a.clone(), of_b.clone()].concat();
    taken.sort_unstable();
    assert_eq!(taken, [ids[0], ids[3], ids[5], ids[6]], "one of a, one of b, and any of no key");
    assert!(claim(&others, "b", &ids, Some(&bounds)).await.len() == of_b.len(), "nothing is left");
    let (owner, id) = if of_a.contains(&ids[0]) { ("a", ids[0]) } else { ("b", ids[0]) };
    assert!(finish(&traces, owner, id).await);
    assert_eq!(traces.next_turns(bounds.clone(), 10).await.unwrap().len(), 1, "one share is free");
    let mut of_c = Vec::new();
    for _ in 0..2 {
        of_c = claim(&others, "c", &ids, Some(&bounds)).await;
    }
    assert_eq!(of_c, [ids[1]]);
}

pub(crate) async fn work_of_dead_node_keeps_its_share(db: TestDatabase) {
    let store = db.store().await;
    let (traces, leases) = (store.traces(), store.nodes());
    for id in ["a", "b"] {
        let node = NewNode { id: id.into(), former: None, version: "1.0", lease: HOUR, is_alone: false };
        leases.register(node).await.unwrap();
    }
    let (first, second) = (accept_in_line(&traces, "t1").await, accept_in_line(&traces, "t1").await);
    let bounds = shares(Some(1), None);
    assert_eq!(claim(&traces, "a", &[first, second], Some(&bounds)).await, [first]);
    let ago = ago(&db, 1);
    db.execute(&format!("UPDATE nodes SET lease_until = {ago} WHERE id = 'a'")).await.unwrap();
    assert!(traces.next_turns(bounds.clone(), 10).await.unwrap().is_empty());
    assert!(claim(&traces, "b", &[second], Some(&bounds)).await.is_empty());

    let node: Arc<str> = "b".into();
    let (left, _) = traces.unfinished_async(&node, None, 10).await.unwrap();
    assert_eq!(left.iter().map(|run| (run.id, run.is_shared)).collect::<Vec<_>>(), [(first, true)]);
    assert_eq!(traces.adopt(&node, vec![(first, Some("a".into()))]).await.unwrap().len(), 1);
    assert!(claim(&traces, "b", &[second], Some(&bounds)).await.is_empty(), "it runs again in its share");
    assert!(!finish(&traces, "a", first).await && finish(&traces, "b", first).await);
    assert_eq!(claim(&traces, "b", &[second], Some(&bounds)).await, [second]);
}

pub(crate) async fn run_that_did_not_begin_is_put_back(db: TestDatabase) {
    let traces = db.store().await.traces();
    let id = accept_in_line(&traces, "t1").await;
    let bounds = shares(Some(1), None);
    assert_eq!(claim(&traces, "a", &[id], Some(&bounds)).await, [id]);
    let put_back = async |node: &str, delay| {
        traces.put_back(id, owned_by(node), WaitReason::Share, delay).await.unwrap()
    };
    assert!(!put_back("b", None).await, "it is of another node");
    assert!(put_back("a", Some(HOUR)).await);
    assert!(!put_back("a", None).await && !finish(&traces, "a", id).await, "it belongs to nobody");
    assert!(traces.next_turns(bounds.clone(), 10).await.unwrap().is_empty(), "it is not due");
    assert!(traces.next_waiting_due().await.unwrap().is_some_and(|due| due > Duration::from_secs(60)));
    let ago = ago(&db, 1);
    db.execute(&format!("UPDATE traces SET waits_until = {ago}")).await.unwrap();
    assert_eq!(traces.due_waiting(10).await.unwrap()[0].queue_channel.as_deref(), Some("c1"));
    traces.rest_waiting(vec![id], WaitReason::Share).await.unwrap();
    assert_eq!(claim(&traces, "b", &[id], Some(&bounds)).await, [id]);
}

/// Lets work of a share fail, and returns its dead letter.
async fn failed_in_share(store: &Store, key: &str) -> svc_store::ClaimedLetter {
    let (traces, id) = (store.traces(), accept_in_line(&store.traces(), key).await);
    assert_eq!(claim(&traces, "a", &[id], Some(&shares(None, None))).await, [id]);
    let failed = TraceFailure { retries: true, ownership: Some(owned_by("a")), ..failure(id) };
    assert!(traces.fail_to_dead_letters(failed).await.unwrap());
    let letters = store.dead_letters();
    letters.claim_due(DueLetters::All, 1, HOUR, "a").await.unwrap().remove(0)
}

pub(crate) async fn retry_takes_the_share_of_its_work(db: TestDatabase) {
    let store = db.store().await;
    let (traces, letter) = (store.traces(), failed_in_share(&store, "t1").await);
    let share = letter.share.clone().unwrap();
    assert_eq!((&*share.channel_id, &*share.key), ("c1", "t1"));
    assert_eq!(traces.count_waiting().await.unwrap().retrying, 1);
    let terms = WaitTerms { reason: WaitReason::Share, due: None, share: Some(share.key) };
    let attempt = NewTrace { status: TraceStatus::Waiting, wait: Some(Box::new(terms)), ..pending("orders") };
    assert!(store.dead_letters().take_into_trace(&letter, attempt.clone(), "a").await.unwrap());
    let bounds = shares(Some(1), None);
    assert_eq!(traces.next_turns(bounds.clone(), 10).await.unwrap(), [attempt.id]);
    let claimed = traces.claim_waiting(&"b".into(), vec![attempt.id], Some(bounds)).await.unwrap();
    assert_eq!(claimed[0].attempt_of.map(|work| work.to_string()), Some(letter.trace_id.clone()));
    let ended = TraceEnd { ownership: Some(owned_by("b")), ..end(attempt.id, TraceStatus::Completed) };
    assert!(traces.finish_attempt(ended).await.unwrap());
    let work = Uuid::try_parse(&letter.trace_id).unwrap();
    assert_eq!(status(&traces, work).await.as_deref(), Some("completed"));
}

pub(crate) async fn later_attempt_takes_one_share(db: TestDatabase) {
    let store = db.store().await;
    let (traces, letter) = (store.traces(), failed_in_share(&store, "t1").await);
    let terms = WaitTerms { reason: WaitReason::Share, due: None, share: Some("t1".into()) };
    let attempt = NewTrace { status: TraceStatus::Waiting, wait: Some(Box::new(terms)), ..pending("orders") };
    assert!(store.dead_letters().take_into_trace(&letter, attempt.clone(), "a").await.unwrap());
    let (one, two) = (shares(Some(1), None), shares(Some(2), None));
    assert_eq!(claim(&traces, "b", &[attempt.id], Some(&two)).await, [attempt.id]);
    assert!(traces.start_attempt(attempt.id, None, Some(owned_by("b"))).await.unwrap());
    let work = Uuid::try_parse(&letter.trace_id).unwrap();
    assert_eq!(status(&traces, work).await.as_deref(), Some("running"));
    let other = accept_in_line(&traces, "t1").await;
    assert_eq!(traces.next_turns(two, 10).await.unwrap(), [other], "the work itself takes none");

    assert!(traces.put_back(attempt.id, owned_by("b"), WaitReason::Share, None).await.unwrap());
    assert_eq!(status(&traces, work).await.as_deref(), Some("retrying"));
    assert_eq!(claim(&traces, "b", &[attempt.id], Some(&one)).await, [attempt.id], "its share is free again");
}

pub(crate) async fn facts_give_reason_of_wait(db: TestDatabase) {
    let traces = db.store().await.traces();
    let state = async |id: Uuid| traces.work_facts(&id.to_string()).await.unwrap().map(|facts| facts.state);
    let reason = async |id: Uuid| {
        let facts = traces.work_facts(&id.to_string()).await.unwrap()?;
        facts.explain().map(|wait| wait.reason.name())
    };
    let later = accept_for(&traces, DueTime::After(HOUR)).await;
    assert!(matches!(state(later).await, Some(WorkState::Scheduled { .. })));
    assert_eq!(reason(later).await, Some("scheduled"));

    let [first, second] = [accept_in_line(&traces, "t1").await, accept_in_line(&traces, "t1").await];
    let other = accept_in_line(&traces, "t2").await;
    let in_line = |key: &str, before, holder, is_of_key| {
        Some(WorkState::InLine { key: key.into(), before, holder, is_of_key })
    };
    assert_eq!(state(second).await, in_line("t1", 1, None, false));
    assert_eq!(claim(&traces, "a", &[first], Some(&shares(Some(1), None))).await, [first]);
    assert_eq!(state(second).await, in_line("t1", 0, Some(first.to_string()), true));
    assert_eq!(state(other).await, in_line("t2", 0, Some(first.to_string()), false));
    let owner = Some(WorkOwner { node: "a".into(), lease_until: None });
    assert_eq!(state(first).await, Some(WorkState::Queued { owner, before: 0 }));
    assert_eq!(reason(first).await, Some("lease"), "that node is not registered");
    assert!(finish(&traces, "a", first).await);
    assert_eq!(state(first).await, None);

    let terms = WaitTerms { reason: WaitReason::Paused, due: None, share: None };
    accept(&traces, terms.clone()).await;
    let paused = accept(&traces, terms).await;
    assert_eq!(state(paused).await, Some(WorkState::Paused { before: 1, called: None }));
    assert_eq!(reason(paused).await, Some("paused"));
    assert!(traces.work_facts("nothing").await.unwrap().is_none());
}
