//! Retire and shutdown: what was admitted is finished, what was not is refused, and then nothing is left.

use std::future::ready;
use std::time::Duration;

use actix::Actor;
use actix_supervision::{
    CallErrorKind, ChildSpec, Context, GroupSpec, NodeState, NotRunningError, Placement, RetireError,
    Supervised, TreeExit, Universe,
};
use futures_util::future::LocalBoxFuture;

use crate::support::{Count, HoldMessage, Journal, Lab, SlowRead, eventually, kind, settle, spec};

const SECOND: Duration = Duration::from_secs(1);

/// Notes at its drain if its node ends.
struct EndObserver(Journal);

impl Actor for EndObserver {
    type Context = Context<Self>;
}

impl Supervised for EndObserver {
    fn drain(&mut self, ctx: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        self.0.note(format!("{} {}", ctx.path(), ctx.is_node_ending()));
        Box::pin(ready(()))
    }
}

#[test]
fn node_ends_at_retirement_and_shutdown_alone() {
    Universe::new(1).run(async |tree| {
        let journal = Journal::default();
        for path in ["retired", "shut_down"] {
            let journal = journal.clone();
            let factory = move |_| ready(Ok(EndObserver(journal.clone())));
            tree.spawn(path, ChildSpec::new(), Placement::Here, factory).await.unwrap();
            tree.wait_until_running(path).await.unwrap();
        }
        tree.restart("retired").await.unwrap();
        tree.wait_until_running("retired").await.unwrap();
        assert_eq!(journal.take(), ["retired false"]);
        tree.quarantine("retired", "planned").await.unwrap();
        let mut steps = Vec::new();
        eventually(|| {
            steps.append(&mut journal.take());
            !steps.is_empty()
        })
        .await;
        assert_eq!(steps, ["retired false"]);
        tree.restart("retired").await.unwrap();
        tree.wait_until_running("retired").await.unwrap();
        tree.retire("retired", SECOND).await.unwrap();
        assert_eq!(journal.take(), ["retired true"]);
        tree.shutdown(SECOND).await;
        assert_eq!(journal.take(), ["shut_down true"]);
    });
}

#[test]
fn retired_node_finishes_admitted_calls_and_ends() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", ChildSpec::new()).await;
        let story = async {
            settle().await;
            let check = async {
                settle().await;
                assert_eq!(kind(probe.call(Count).await), CallErrorKind::Draining);
                assert_eq!(probe.vitals().state, NodeState::Draining);
                assert_eq!(lab.journal.take(), ["start probe"], "drain comes after the last answer");
                lab.gate.add_permits(2);
            };
            let (retired, ()) = tokio::join!(tree.retire("probe", SECOND), check);
            retired.unwrap();
        };
        let (held, read, ()) = tokio::join!(probe.call(HoldMessage), probe.ask(SlowRead), story);
        assert_eq!((held.unwrap(), read.unwrap()), (1, 1));
        assert_eq!(lab.journal.take(), ["drain probe"]);
        assert!(tree.snapshot().node("probe").is_none());
        assert_eq!(kind(probe.call(Count).await), CallErrorKind::Stopped);
        assert_eq!(tree.wait_until_running("probe").await, Err(NotRunningError::Unknown));
        assert_eq!(tree.retire("probe", SECOND).await, Err(RetireError::Unknown));
    });
}

#[test]
fn calls_queued_before_the_order_are_handled() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", ChildSpec::new()).await;
        let calls = futures_util::future::join_all((0..500).map(|_| probe.call(Count)));
        let (answers, retired) = tokio::join!(calls, tree.retire("probe", SECOND));
        retired.unwrap();
        assert!(answers.iter().all(Result::is_ok));
    });
}

#[test]
fn at_the_deadline_what_is_left_ends_by_force() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", ChildSpec::new()).await;
        let (held, read, retired) = tokio::join!(probe.call(HoldMessage), probe.ask(SlowRead), async {
            settle().await;
            tree.retire("probe", SECOND).await
        });
        assert_eq!(retired, Err(RetireError::Forced));
        assert_eq!(kind(held), CallErrorKind::Crashed);
        assert_eq!(kind(read), CallErrorKind::Crashed);
        assert!(tree.snapshot().node("probe").is_none());
    });
}

#[test]
fn path_is_free_after_its_node_retires() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        tree.add_group("g", GroupSpec::new()).await.unwrap();
        let first = lab.running("g/probe", ChildSpec::new()).await;
        lab.running("g/other", ChildSpec::new().needs(["probe"])).await;
        lab.journal.take();
        tree.retire("g", SECOND).await.unwrap();
        assert_eq!(lab.journal.take(), ["drain g/other", "drain g/probe"]);
        assert!(tree.snapshot().nodes.is_empty());
        tree.add_group("g", GroupSpec::new()).await.unwrap();
        let second = lab.running("g/probe", ChildSpec::new()).await;
        second.call(Count).await.unwrap();
        assert_eq!(kind(first.call(Count).await), CallErrorKind::Stopped);
    });
}

#[test]
fn nodes_that_are_down_retire_at_once() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let quarantined = lab.running("quarantined", spec(0)).await;
        let backing_off = lab.running("backing_off", spec(5)).await;
        for _ in 0..2 {
            let _ = quarantined.call(crate::support::Boom).await;
            let _ = backing_off.call(crate::support::Boom).await;
        }
        settle().await;
        for path in ["quarantined", "backing_off"] {
            tree.retire(path, SECOND).await.unwrap();
        }
        assert!(tree.snapshot().nodes.is_empty());
    });
}

#[test]
fn shutdown_is_idempotent_and_everyone_hears_the_same_exit() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", ChildSpec::new()).await;
        let exits = tokio::join!(tree.shutdown(SECOND), tree.shutdown(SECOND), tree.wait_until_ended());
        assert_eq!(exits, (TreeExit::Shutdown, TreeExit::Shutdown, TreeExit::Shutdown));
        assert_eq!(tree.shutdown(SECOND).await, TreeExit::Shutdown);
        assert_eq!(kind(probe.call(Count).await), CallErrorKind::Stopped);
        assert_eq!(tree.snapshot().node("probe").unwrap().state, NodeState::Stopped);
        assert_eq!(tree.retire("probe", SECOND).await, Err(RetireError::TreeEnded));
        assert_eq!(tree.wait_until_running("probe").await, Err(NotRunningError::TreeEnded));
    });
}
