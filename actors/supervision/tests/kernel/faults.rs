//! Planned faults strike as they are planned.

use std::time::Duration;

use actix_supervision::{
    CallErrorKind, ChildSpec, FaultKind, NodeState, PlannedFault, StartError, TreeExit, Universe,
};

use crate::support::{Count, Generation, Lab, kind, settle};

fn fault(path: &str, message: &str, nth: u64, kind: FaultKind) -> PlannedFault {
    PlannedFault { path: path.to_owned(), message: message.to_owned(), nth, kind }
}

#[test]
fn a_panic_strikes_the_nth_message_of_its_name() {
    Universe::new(1).fault(fault("a*", "Count", 2, FaultKind::Panic)).run(async |tree| {
        let lab = Lab::new(&tree);
        let (a1, a2) = (lab.spawn("a1", ChildSpec::new()).await, lab.spawn("a2", ChildSpec::new()).await);
        let b = lab.spawn("b", ChildSpec::new()).await;
        for struck in [&a1, &a2] {
            struck.ask(Generation).await.unwrap();
            struck.call(Count).await.unwrap();
            assert_eq!(kind(struck.call(Count).await), CallErrorKind::Crashed);
            struck.call(Count).await.unwrap();
        }
        for _ in 0..3 {
            b.call(Count).await.unwrap();
        }
    });
}

#[test]
fn hanging_message_shows_in_vitals() {
    Universe::new(1).fault(fault("probe", "Count", 1, FaultKind::Hang)).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", ChildSpec::new()).await;
        let second = Duration::from_secs(1);
        let (hung, queued) = tokio::join!(probe.call_within(Count, second), probe.call_within(Count, second));
        assert!(!hung.unwrap_err().is_retryable());
        assert!(queued.unwrap_err().is_retryable());
        let vitals = probe.vitals();
        assert_eq!((vitals.handling, vitals.busy_ms), (Some("Count"), Some(1000)));
        tree.restart("probe").await.unwrap();
        assert_eq!(probe.call(Count).await.unwrap(), 1);
        assert_eq!(probe.vitals().generation, 2);
    });
}

#[test]
fn a_hanging_read_hangs_alone() {
    Universe::new(1).fault(fault("probe", "Generation", 1, FaultKind::Hang)).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", ChildSpec::new()).await;
        let hung = probe.ask_within(Generation, Duration::from_secs(1)).await;
        assert_eq!(kind(hung), CallErrorKind::Expired);
        assert_eq!(probe.ask(Generation).await.unwrap(), 1);
    });
}

#[test]
fn transient_start_failure_keeps_its_generation() {
    let away = || FaultKind::FailStart(StartError::Transient("away".to_owned()));
    let universe =
        Universe::new(1).fault(fault("probe", "*", 1, away())).fault(fault("probe", "*", 2, away()));
    universe.run(async |tree| {
        let probe = Lab::new(&tree).spawn("probe", crate::support::spec(5)).await;
        settle().await;
        assert_eq!(probe.vitals().last_exit.unwrap(), "did not start: away");
        let vitals = probe.vitals();
        assert_eq!((vitals.state, vitals.retry_in_ms), (NodeState::Restarting, Some(100)));
        tree.wait_until_running("probe").await.unwrap();
        assert_eq!((probe.vitals().generation, probe.vitals().restarts), (1, 0));
    });
}

#[test]
fn a_fatal_start_failure_ends_the_tree() {
    let fatal = FaultKind::FailStart(StartError::Fatal("newer schema".to_owned()));
    Universe::new(1).fault(fault("probe", "*", 1, fatal)).run(async |tree| {
        Lab::new(&tree).spawn("probe", ChildSpec::new()).await;
        let TreeExit::Escalated { path, reason } = tree.wait_until_ended().await else { panic!("shut down") };
        assert_eq!((path.as_str(), reason.as_str()), ("probe", "newer schema"));
    });
}
