//! Leases of nodes, and the runs that change their owner with them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use svc_secrets::EnvelopeKeys;
use svc_store::{
    DueLetters, FileLock, NewNode, NewTrace, NodeLeases, NodeStatus, Ownership, ReencryptError, Store,
    TraceEnd, TraceFailure, TraceStatus, reencrypt,
};
use uuid::Uuid;

use super::database::TestDatabase;
use super::traces::{ago, end, failure, pending, status};

const LEASE: Duration = Duration::from_secs(60);

fn node(id: &str) -> NewNode {
    NewNode { id: id.into(), former: None, version: "1.0", lease: LEASE, is_alone: false }
}

/// Returns a store and the nodes `a` and `b`, both live.
async fn two_nodes(db: &TestDatabase) -> (Store, NodeLeases) {
    let store = db.store().await;
    let leases = store.nodes();
    leases.register(node("a")).await.unwrap();
    leases.register(node("b")).await.unwrap();
    (store, leases)
}

/// Expires the lease of a node.
async fn expire(db: &TestDatabase, id: &str) {
    let ago = ago(db, 1);
    db.execute(&format!("UPDATE nodes SET lease_until = {ago} WHERE id = '{id}'")).await.unwrap();
}

/// Writes an accepted run of `a`.
async fn accept_run(store: &Store) -> Uuid {
    let row = NewTrace { owner: Some("a".into()), ..pending("orders") };
    store.traces().insert(row.clone()).await.unwrap();
    row.id
}

fn claim(owner: &str, recoveries: i64) -> Ownership {
    Ownership { owner: owner.into(), recoveries }
}

fn end_by(id: Uuid, owner: &str, recoveries: i64) -> TraceEnd {
    TraceEnd { ownership: Some(claim(owner, recoveries)), ..end(id, TraceStatus::Completed) }
}

async fn list_unfinished(store: &Store, node: &str) -> Vec<Uuid> {
    let (page, _) = store.traces().unfinished_async(&node.into(), None, 100).await.unwrap();
    page.into_iter().map(|row| row.id).collect()
}

/// Tries to take over a run that was found with `owner`. Returns the result for `node`.
async fn adopt(store: &Store, node: &str, id: Uuid, owner: Option<&str>) -> Option<(i64, bool)> {
    let owners = vec![(id, owner.map(str::to_owned))];
    let adopted = store.traces().adopt(&node.into(), owners).await.unwrap();
    adopted.first().map(|adopted| (adopted.recoveries, adopted.is_handed_back))
}

pub(crate) async fn lease_is_renewed_until_it_has_run_out(db: TestDatabase) {
    let (_store, leases) = two_nodes(&db).await;
    let id: Arc<str> = "a".into();
    assert!(leases.renew(&id, LEASE, false).await.unwrap());
    assert!(!leases.renew(&"nobody".into(), LEASE, false).await.unwrap());
    expire(&db, "a").await;
    assert!(!leases.renew(&id, LEASE, false).await.unwrap(), "another may have taken its runs over");
    assert!(leases.renew(&id, LEASE, true).await.unwrap(), "nobody else can use the database");
    leases.release(&id).await.unwrap();
    assert!(!leases.renew(&id, LEASE, true).await.unwrap(), "it was ended in good order");
}

pub(crate) async fn run_of_a_live_node_is_nobody_elses(db: TestDatabase) {
    let (store, _leases) = two_nodes(&db).await;
    let id = accept_run(&store).await;
    assert!(list_unfinished(&store, "b").await.is_empty());
    assert_eq!(adopt(&store, "b", id, Some("a")).await, None);
    expire(&db, "a").await;
    assert_eq!(list_unfinished(&store, "b").await, [id]);
    assert!(list_unfinished(&store, "a").await.is_empty(), "a node does not take over its own");
    assert_eq!(adopt(&store, "b", id, None).await, None, "it was found with another owner");
    assert_eq!(adopt(&store, "b", id, Some("a")).await, Some((0, false)));
    assert_eq!(adopt(&store, "b", id, Some("a")).await, Some((0, false)), "asked again, it is the same");
    assert!(list_unfinished(&store, "c").await.is_empty());
}

pub(crate) async fn late_writes_of_a_former_owner_change_no_row(db: TestDatabase) {
    let (store, _leases) = two_nodes(&db).await;
    let traces = store.traces();
    let (run, failed) = (accept_run(&store).await, accept_run(&store).await);
    expire(&db, "a").await;
    for id in [run, failed] {
        assert_eq!(adopt(&store, "b", id, Some("a")).await, Some((0, false)));
        assert!(traces.recover(id, claim("b", 1)).await.unwrap());
        assert!(!traces.start(id, None, Some(claim("a", 0))).await.unwrap());
        assert!(!traces.recover(id, claim("a", 1)).await.unwrap());
        assert!(!traces.finish(end_by(id, "a", 0)).await.unwrap());
        assert!(!traces.finish(end_by(id, "b", 0)).await.unwrap(), "of the run before the recovery");
        let late = TraceFailure { ownership: Some(claim("a", 0)), ..failure(id) };
        assert!(!traces.fail_to_dead_letters(late).await.unwrap());
        assert_eq!(status(&traces, id).await.as_deref(), Some("running"));
    }
    // In the same batch, the late write changes nothing of the valid one.
    let ends = [end_by(run, "a", 0), end_by(run, "b", 1)].map(|end| traces.finish(end));
    assert!(join_all(ends).await.iter().all(Result::is_ok));
    assert_eq!(status(&traces, run).await.as_deref(), Some("completed"));
    let last = TraceFailure { ownership: Some(claim("b", 1)), ..failure(failed) };
    assert!(traces.fail_to_dead_letters(last).await.unwrap());
    assert_eq!(store.dead_letters().depth().await.unwrap(), 1);
}

pub(crate) async fn one_of_many_nodes_takes_a_run_over(db: TestDatabase) {
    let (store, leases) = two_nodes(&db).await;
    let other = db.store().await;
    leases.register(node("c")).await.unwrap();
    let mut found = Vec::new();
    for _ in 0..30 {
        found.push((accept_run(&store).await, Some("a".to_owned())));
    }
    expire(&db, "a").await;
    let (b, c): (Arc<str>, Arc<str>) = ("b".into(), "c".into());
    let (here, there) = (store.traces(), other.traces());
    let pages = found.chunks(5);
    let tries = pages.flat_map(|page| [here.adopt(&b, page.to_vec()), there.adopt(&c, page.to_vec())]);
    let taken = join_all(tries).await.into_iter().flat_map(Result::unwrap);
    let mut ids: Vec<_> = taken.map(|adopted| adopted.id).collect();
    ids.sort();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "none is taken by two");
    // Rows that were skipped because another node was writing them can still be taken over.
    assert_eq!(ids.len() + list_unfinished(&store, "d").await.len(), 30);
}

pub(crate) async fn run_without_a_known_owner_is_taken_over(db: TestDatabase) {
    let (store, _leases) = two_nodes(&db).await;
    let traces = store.traces();
    let rows =
        [None, Some("long gone")].map(|owner| NewTrace { owner: owner.map(Into::into), ..pending("o") });
    traces.insert_all(rows.to_vec()).await.unwrap();
    assert_eq!(list_unfinished(&store, "b").await, rows.clone().map(|row| row.id));
    for row in rows {
        assert_eq!(adopt(&store, "b", row.id, row.owner.as_deref()).await, Some((0, false)));
    }
    assert!(list_unfinished(&store, "b").await.is_empty());
}

pub(crate) async fn run_that_was_handed_back_says_so(db: TestDatabase) {
    let (store, leases) = two_nodes(&db).await;
    let id = accept_run(&store).await;
    leases.release(&"a".into()).await.unwrap();
    assert_eq!(list_unfinished(&store, "b").await, [id], "at once");
    assert_eq!(adopt(&store, "b", id, Some("a")).await, Some((0, true)));
    expire(&db, "b").await;
    leases.register(node("c")).await.unwrap();
    assert_eq!(adopt(&store, "c", id, Some("b")).await, Some((0, false)), "that node died");
}

pub(crate) async fn recovery_is_counted_once_however_often_it_is_asked(db: TestDatabase) {
    let (store, _leases) = two_nodes(&db).await;
    let (traces, id) = (store.traces(), accept_run(&store).await);
    for raised in [1, 1, 2] {
        assert!(traces.recover(id, claim("a", raised)).await.unwrap());
    }
    assert!(!traces.recover(id, claim("a", 1)).await.unwrap(), "nothing is counted down");
    assert!(traces.finish(end_by(id, "a", 2)).await.unwrap());
    assert!(!traces.recover(id, claim("a", 3)).await.unwrap(), "it has ended");
}

pub(crate) async fn lone_node_ends_all_other_leases(db: TestDatabase) {
    let (store, leases) = two_nodes(&db).await;
    let id = accept_run(&store).await;
    leases.register(NewNode { is_alone: true, ..node("c") }).await.unwrap();
    assert_eq!(adopt(&store, "c", id, Some("a")).await, Some((0, false)));
    assert!(!leases.renew(&"a".into(), LEASE, false).await.unwrap());
    assert!(leases.renew(&"c".into(), LEASE, false).await.unwrap());
}

pub(crate) async fn node_is_looked_after_until_it_owns_nothing(db: TestDatabase) {
    let (store, leases) = two_nodes(&db).await;
    let id = accept_run(&store).await;
    assert!(!leases.has_orphans().await.unwrap());
    expire(&db, "a").await;
    for _ in 0..2 {
        assert!(leases.has_orphans().await.unwrap());
        leases.mark_emptied().await.unwrap();
    }
    assert_eq!(adopt(&store, "b", id, Some("a")).await, Some((0, false)));
    leases.mark_emptied().await.unwrap();
    assert!(!leases.has_orphans().await.unwrap());
    let again = NewNode { former: Some("a".into()), ..node("a2") };
    leases.register(again).await.unwrap();
    assert!(leases.has_orphans().await.unwrap(), "it may have written since");
    let handed = NewTrace { owner: Some("a2".into()), ..pending("orders") };
    store.traces().insert(handed.clone()).await.unwrap();
    leases.register(NewNode { former: Some("a2".into()), ..node("a3") }).await.unwrap();
    let adopted = adopt(&store, "b", handed.id, Some("a2")).await;
    assert_eq!(adopted, Some((0, true)), "its node dropped its runs before the lease ran out");
}

/// Writes accepted work of `a` that failed, and the next attempt at it, of `b`. Returns the ids of both.
async fn retry_on_b(store: &Store) -> (Uuid, Uuid) {
    let (letters, work) = (store.dead_letters(), accept_run(store).await);
    let failed = TraceFailure { retries: true, ownership: Some(claim("a", 0)), ..failure(work) };
    assert!(store.traces().fail_to_dead_letters(failed).await.unwrap());
    let letter = letters.claim_due(DueLetters::All, 1, LEASE, "b").await.unwrap().remove(0);
    let attempt = NewTrace { owner: Some("b".into()), ..pending("orders") };
    assert!(letters.take_into_trace(&letter, attempt.clone(), "b").await.unwrap());
    (work, attempt.id)
}

pub(crate) async fn attempt_of_retried_work_is_taken_over_alone(db: TestDatabase) {
    let (store, leases) = two_nodes(&db).await;
    let (traces, (work, attempt)) = (store.traces(), retry_on_b(&store).await);
    assert!(traces.start_attempt(attempt, None, Some(claim("b", 0))).await.unwrap());
    assert_eq!(status(&traces, work).await.as_deref(), Some("running"));
    expire(&db, "a").await;
    assert!(list_unfinished(&store, "c").await.is_empty(), "the work runs on b");
    leases.mark_emptied().await.unwrap();
    assert!(!leases.has_orphans().await.unwrap());
    expire(&db, "b").await;
    assert_eq!(list_unfinished(&store, "c").await, [attempt]);
}

pub(crate) async fn work_of_a_recovered_attempt_is_running(db: TestDatabase) {
    let (store, _leases) = two_nodes(&db).await;
    let (traces, (work, attempt)) = (store.traces(), retry_on_b(&store).await);
    expire(&db, "b").await;
    assert_eq!(adopt(&store, "c", attempt, Some("b")).await, Some((0, false)));
    assert!(traces.recover(attempt, claim("c", 1)).await.unwrap());
    assert!(!traces.start_attempt(attempt, None, Some(claim("c", 1))).await.unwrap(), "it was marked");
    assert_eq!(status(&traces, work).await.as_deref(), Some("running"));
    assert!(traces.finish_attempt(end_by(attempt, "c", 1)).await.unwrap());
    assert!(!traces.start_attempt(attempt, None, Some(claim("c", 1))).await.unwrap());
    assert_eq!(status(&traces, work).await.as_deref(), Some("completed"), "a late mark changes nothing");
}

pub(crate) async fn nodes_are_listed_as_they_stand(db: TestDatabase) {
    let (_store, leases) = two_nodes(&db).await;
    leases.register(node("c")).await.unwrap();
    expire(&db, "a").await;
    leases.release(&"b".into()).await.unwrap();
    leases.record_applied_epoch(&"c".into(), 7).await.unwrap();
    let listed = leases.list().await.unwrap().into_iter();
    let mut listed: Vec<_> = listed.map(|node| (node.id, node.status, node.applied_epoch)).collect();
    listed.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [
        ("a", NodeStatus::Expired, None),
        ("b", NodeStatus::Stopped, None),
        ("c", NodeStatus::Live, Some(7)),
    ];
    assert_eq!(listed, expected.map(|(id, status, epoch)| (id.to_owned(), status, epoch)));
}

pub(crate) async fn figures_are_replaced_and_go_with_their_node(db: TestDatabase) {
    let (_store, leases) = two_nodes(&db).await;
    for json in ["{\"n\":1}", "{\"n\":2}"] {
        leases.record_figures(&"a".into(), json.to_owned()).await.unwrap();
    }
    leases.record_figures(&"gone".into(), "{}".to_owned()).await.unwrap();
    leases.delete_orphaned_figures().await.unwrap();
    db.execute("INSERT INTO node_figures (node_id, figures_json) VALUES ('gone', '{}')").await.unwrap();
    db.execute("UPDATE node_figures SET written_at = '2000-01-01 00:00:00' WHERE node_id = 'a'")
        .await
        .unwrap();
    let listed = leases.list().await.unwrap();
    let figures = |id: &str| listed.iter().find(|node| node.id == id).unwrap().figures.clone();
    let of_first = figures("a").unwrap();
    assert_eq!((of_first.json.as_str(), figures("b")), ("{\"n\":2}", None));
    assert!(of_first.age_secs > 1_000_000, "{of_first:?}");
}

/// Returns keys of these digits: the one that encrypts, and one that only decrypts.
fn keys(current: &str, previous: Option<&str>) -> EnvelopeKeys {
    let previous = previous.map(|digits| digits.repeat(32));
    EnvelopeKeys::new(Some(&current.repeat(32)), previous.as_deref()).unwrap()
}

pub(crate) async fn reencryption_needs_the_key_on_every_live_node(mut db: TestDatabase) {
    let _lock = FileLock::acquire(&db.config, "old").unwrap();
    db.config.connector_keys = keys("a1", None);
    let old = db.store().await.nodes();
    old.register(node("old")).await.unwrap();
    assert!(old.without_key().await.unwrap().is_empty());
    db.config.connector_keys = keys("b2", Some("a1"));
    let next = db.store().await.nodes();
    next.register(node("next")).await.unwrap();
    let unprepared: Vec<_> = next.without_key().await.unwrap().into_iter().map(|node| node.id).collect();
    assert_eq!(unprepared, ["old"]);
    let refused = reencrypt(&db.config).await.unwrap_err();
    assert!(
        matches!(&refused, ReencryptError::UnpreparedNodes { nodes, .. } if nodes == &["old"]),
        "{refused}"
    );
    // It ends, and starts again with the next key for reading.
    old.release(&"old".into()).await.unwrap();
    db.config.connector_keys = keys("a1", Some("b2"));
    db.store().await.nodes().register(node("old-2")).await.unwrap();
    db.config.connector_keys = keys("b2", Some("a1"));
    reencrypt(&db.config).await.unwrap();
    db.execute("UPDATE nodes SET encryption_key_ids = NULL WHERE id = 'next'").await.unwrap();
    let refused = reencrypt(&db.config).await.unwrap_err().to_string();
    assert!(refused.contains(": next (version 1.0, which does not tell its keys);"), "{refused}");
}
