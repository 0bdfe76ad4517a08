//! A failed instance is replaced by a fresh one under the same address, within its budget.

use std::time::Duration;

use actix_supervision::{
    CallErrorKind, ChildSpec, EventKind, ExhaustedAction, Exit, NodeState, NotRunningError, Restart,
    TreeExit, Universe,
};

use crate::support::{
    Boom, Count, Fail, FinishMessage, Generation, Lab, eventually, kind, policy, settle, spec,
};

#[test]
fn fresh_instance_serves_same_address_after_panic() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", ChildSpec::new()).await;
        probe.call(Count).await.unwrap();
        let crashed = probe.call(Boom).await.unwrap_err();
        assert_eq!(crashed.kind, CallErrorKind::Crashed);
        assert!(!crashed.is_retryable());
        assert_eq!(probe.call(Count).await.unwrap(), 1, "state starts anew");
        let vitals = probe.vitals();
        assert_eq!((vitals.generation, vitals.restarts), (2, 1));
        assert!(vitals.last_exit.unwrap().contains("boom"));
    });
}

#[test]
fn the_mailbox_outlives_the_instance() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", ChildSpec::new()).await;
        let (crashed, first, second) = tokio::join!(probe.call(Boom), probe.call(Count), probe.call(Count));
        assert_eq!(kind(crashed), CallErrorKind::Crashed);
        assert_eq!((first.unwrap(), second.unwrap()), (1, 2));
    });
}

#[test]
fn exit_is_recorded_with_place_and_recent_messages() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", ChildSpec::new()).await;
        probe.call(Count).await.unwrap();
        let _ = probe.call(Boom).await;
        probe.call(Count).await.unwrap();
        let history = tree.history();
        let exited = history.iter().find(|event| matches!(event.kind, EventKind::Exited { .. })).unwrap();
        let EventKind::Exited { exit: Exit::Panicked { message, location, handling } } = &exited.kind else {
            panic!("{exited:?}");
        };
        assert_eq!(message, "boom");
        assert!(location.as_ref().unwrap().contains("support.rs"));
        assert!(handling.unwrap().ends_with("Boom"));
        assert!(exited.recent[0].ends_with("Count") && exited.recent[1].ends_with("Boom"));
        assert_eq!(exited.generation, 1);
    });
}

#[test]
fn a_failure_by_its_own_word_restarts_it() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", ChildSpec::new()).await;
        probe.call(Fail).await.unwrap();
        assert_eq!(probe.ask(Generation).await.unwrap(), 2);
        assert_eq!(probe.vitals().last_exit.unwrap(), "failed: told to");
    });
}

#[test]
fn calls_during_backoff_are_refused_with_remaining_time() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", spec(5)).await;
        let _ = probe.call(Boom).await;
        let _ = probe.call(Boom).await;
        settle().await;
        let refused = probe.call(Count).await.unwrap_err();
        assert_eq!(refused.kind, CallErrorKind::Restarting { retry_after: Duration::from_millis(100) });
        assert!(refused.is_retryable());
        assert_eq!(probe.vitals().state, NodeState::Restarting);
        assert_eq!(probe.vitals().retry_in_ms, Some(100));
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(probe.call(Count).await.unwrap(), 1);
    });
}

#[test]
fn an_exhausted_budget_ends_as_the_policy_says() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", spec(0)).await;
        let _ = probe.call(Boom).await;
        settle().await;
        assert!(matches!(tree.wait_until_running("probe").await, Err(NotRunningError::Quarantined { .. })));

        let mut policy = policy(0);
        policy.exhausted = ExhaustedAction::EndTree;
        let vital = lab.running("vital", ChildSpec::new().policy(policy)).await;
        let _ = vital.call(Boom).await;
        let TreeExit::Escalated { path, .. } = tree.wait_until_ended().await else { panic!("shut down") };
        assert_eq!(path, "vital");
    });
}

#[test]
fn an_essential_node_takes_the_tree_with_it() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", spec(0).essential()).await;
        let _ = probe.call(Boom).await;
        assert!(matches!(tree.wait_until_ended().await, TreeExit::Escalated { .. }));
        assert_eq!(tree.wait_until_running("probe").await, Err(NotRunningError::TreeEnded));
    });
}

#[test]
fn normal_exit_drains_and_stops_non_permanent_actors() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", ChildSpec::new().restart(Restart::OnFailure)).await;
        probe.call(FinishMessage).await.unwrap();
        assert_eq!(tree.wait_until_running("probe").await, Ok(()), "still the first instance");
        eventually(|| probe.vitals().state == NodeState::Stopped).await;
        assert_eq!(lab.journal.take(), ["start probe", "drain probe"]);
        assert_eq!(kind(probe.call(Count).await), CallErrorKind::Stopped);
        tree.restart("probe").await.unwrap();
        tree.wait_until_running("probe").await.unwrap();
        assert_eq!(probe.call(Count).await.unwrap(), 1);
    });
}

#[test]
fn a_normal_exit_restarts_what_is_permanent() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", ChildSpec::new()).await;
        probe.call(FinishMessage).await.unwrap();
        assert_eq!(probe.ask(Generation).await.unwrap(), 2);
    });
}

#[test]
fn a_neighbour_notices_nothing() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let (bad, good) = (lab.running("bad", spec(0)).await, lab.running("good", spec(0)).await);
        for _ in 0..10 {
            let _ = bad.call(Boom).await;
            good.call(Count).await.unwrap();
        }
        assert_eq!(good.call(Count).await.unwrap(), 11);
    });
}
