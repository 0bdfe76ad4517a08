//! Read-only messages: a panic in one answers its caller and restarts nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_supervision::{CallErrorKind, ChildSpec, Universe};

use crate::support::{Boom, Count, Generation, Lab, Poison, SlowRead, SlowRun, kind, settle, spec};

#[test]
fn a_hostile_payload_cannot_quarantine() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", spec(0)).await;
        probe.call(Count).await.unwrap();
        for later in [false, true].repeat(20) {
            let crashed = probe.ask(Poison { later }).await.unwrap_err();
            assert_eq!(crashed.kind, CallErrorKind::Crashed);
        }
        assert_eq!(probe.call(Count).await.unwrap(), 2, "the same instance");
        assert_eq!(probe.vitals().restarts, 0);
    });
}

#[test]
fn reads_run_beside_the_mailbox_and_outlive_a_restart() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", ChildSpec::new()).await;
        let story = async {
            settle().await;
            probe.call(Count).await.unwrap();
            let _ = probe.call(Boom).await;
            assert_eq!(probe.ask(Generation).await.unwrap(), 2);
            lab.gate.add_permits(1);
        };
        let (read, ()) = tokio::join!(probe.ask(SlowRead), story);
        assert_eq!(read.unwrap(), 1);
    });
}

#[test]
fn a_thousand_reads_run_at_once_within_the_bound() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", ChildSpec::new().mailbox(1000)).await;
        let reads = futures_util::future::join_all((0..1001).map(|_| probe.ask(SlowRead)));
        let (reads, ()) = tokio::join!(reads, async {
            settle().await;
            assert_eq!(probe.vitals().mailbox_depth, 1000);
            lab.gate.add_permits(1000);
        });
        assert_eq!(reads.iter().filter(|read| read.is_ok()).count(), 1000);
        assert_eq!(kind(reads.into_iter().find(Result::is_err).unwrap()), CallErrorKind::Full);
    });
}

#[test]
fn abandoned_run_continues_and_keeps_its_place() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", ChildSpec::new()).await;
        let done = Arc::new(AtomicUsize::new(0));
        let expired =
            probe.ask_within(SlowRun(Arc::clone(&done)), Duration::from_millis(5)).await.unwrap_err();
        assert_eq!(expired.kind, CallErrorKind::Expired);
        assert_eq!((done.load(Ordering::SeqCst), probe.vitals().mailbox_depth), (0, 1));
        lab.gate.add_permits(1);
        settle().await;
        assert_eq!((done.load(Ordering::SeqCst), probe.vitals().mailbox_depth), (1, 0));
    });
}
