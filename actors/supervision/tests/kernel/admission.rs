//! Bounded mailboxes: one bound per node, whatever the number of address clones.

use std::time::Duration;

use actix_supervision::{CallErrorKind, ChildSpec, Placement, StartContext, StartError, Universe};
use futures_util::FutureExt;
use futures_util::future::join_all;

use crate::support::{Count, HoldMessage, Lab, ProbeActor, SlowRead, kind, settle};

#[test]
fn a_call_is_answered() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).spawn("probe", ChildSpec::new()).await;
        assert_eq!(probe.call(Count).await.unwrap(), 1);
        assert_eq!(probe.call(Count).await.unwrap(), 2);
        assert_eq!(probe.vitals().handled, 2);
        assert_eq!(probe.vitals().mailbox_depth, 0);
    });
}

#[test]
fn admission_bound_counts_calls_of_all_clones() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", ChildSpec::new().mailbox(16)).await;
        let calls = (0..1000).map(|_| {
            let own = probe.clone();
            async move { own.call(HoldMessage).await }
        });
        lab.gate.add_permits(16);
        let outcomes = join_all(calls).await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 16);
        for refused in outcomes.into_iter().filter_map(Result::err) {
            assert_eq!(refused.kind, CallErrorKind::Full);
            assert!(refused.is_retryable());
        }
        assert_eq!(probe.vitals().mailbox_high_water, 16);
    });
}

#[test]
fn casts_pass_the_same_admission() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", ChildSpec::new().mailbox(2)).await;
        probe.cast(Count).unwrap();
        probe.cast(Count).unwrap();
        assert_eq!(kind(probe.cast(Count)), CallErrorKind::Full);
        settle().await;
        assert_eq!(probe.call(Count).await.unwrap(), 3);
    });
}

fn never(_: StartContext) -> std::future::Pending<Result<ProbeActor, StartError>> {
    std::future::pending()
}

#[test]
fn unhandled_expired_call_is_taken_back() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let waiting = tree.spawn("waiting", ChildSpec::new(), Placement::Here, never).await.unwrap();
        let limit = Duration::from_secs(1);
        let expired = waiting.call_within(Count, limit).await.unwrap_err();
        assert_eq!(expired.kind, CallErrorKind::Expired);
        assert!(expired.is_retryable(), "it was still queued");

        let probe = lab.running("probe", ChildSpec::new()).await;
        let expired = probe.call_within(HoldMessage, limit).await.unwrap_err();
        assert_eq!(expired.kind, CallErrorKind::Expired);
        assert!(!expired.is_retryable(), "handling had begun");
        lab.gate.add_permits(1);
    });
}

#[test]
fn abandoned_work_keeps_its_place_until_it_ends() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", ChildSpec::new().mailbox(1)).await;
        let limit = Duration::from_secs(1);
        assert_eq!(kind(probe.call_within(HoldMessage, limit).await), CallErrorKind::Expired);
        assert_eq!(kind(probe.call(Count).await), CallErrorKind::Full);
        lab.gate.add_permits(1);
        settle().await;
        probe.call(Count).await.unwrap();
    });
}

#[test]
fn an_abandoned_read_gives_its_place_back() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", ChildSpec::new().mailbox(1)).await;
        let limit = Duration::from_secs(1);
        assert_eq!(kind(probe.ask_within(SlowRead, limit).await), CallErrorKind::Expired);
        settle().await;
        probe.call(Count).await.unwrap();
    });
}

#[test]
fn call_dropped_before_handling_is_withdrawn() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", ChildSpec::new()).await;
        assert!(probe.call(Count).now_or_never().is_none());
        assert_eq!(probe.call(Count).await.unwrap(), 1);
    });
}
