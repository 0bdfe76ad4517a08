//! Reload is a restart in two phases: the new generation is built next to the old, then takes over.

use actix_supervision::{ChildSpec, EventKind, NodeState, OrderError, StartContext, StartError, Universe};

use crate::support::{Boom, Count, Generation, HoldMessage, Lab, ProbeActor, settle, spec};

#[test]
fn prepared_changes_nothing_until_committed() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", ChildSpec::new().fingerprint("one")).await;
        probe.call(Count).await.unwrap();
        let prepared = tree.replace(&probe, Some("two".to_owned()), lab.factory()).await.unwrap();
        assert_eq!(probe.call(Count).await.unwrap(), 2);
        assert_eq!(prepared.commit().await, Ok(2));
        assert_eq!(probe.call(Count).await.unwrap(), 1);
        assert_eq!(probe.ask(Generation).await.unwrap(), 2);
        settle().await;
        assert_eq!(probe.vitals().fingerprint.as_deref(), Some("two"));
        assert_eq!(lab.journal.take(), ["start probe", "start probe", "drain probe"]);
        assert!(tree.history().iter().any(|event| event.kind == EventKind::Replaced));
    });
}

#[test]
fn dropped_it_is_discarded() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", ChildSpec::new()).await;
        drop(tree.replace(&probe, None, lab.factory()).await.unwrap());
        settle().await;
        assert_eq!(probe.ask(Generation).await.unwrap(), 1);
        assert_eq!(lab.journal.take(), ["start probe"]);
    });
}

#[test]
fn failing_factory_leaves_the_old_instance_serving() {
    fn fails(_: StartContext) -> std::future::Ready<Result<ProbeActor, StartError>> {
        std::future::ready(Err(StartError::Config("bad".to_owned())))
    }
    async fn panics(_: StartContext) -> Result<ProbeActor, StartError> {
        panic!("no good")
    }
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", ChildSpec::new()).await;
        let error = tree.replace(&probe, None, fails).await.unwrap_err();
        assert_eq!(error, StartError::Config("bad".to_owned()));
        let error = tree.replace(&probe, None, panics).await.unwrap_err();
        assert!(error.to_string().contains("no good"));
        assert_eq!(probe.ask(Generation).await.unwrap(), 1);
    });
}

#[test]
fn no_call_is_lost_over_a_replacement() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", ChildSpec::new()).await;
        let story = async {
            settle().await;
            let prepared = tree.replace(&probe, None, lab.factory()).await.unwrap();
            prepared.commit().await.unwrap();
            assert_eq!(probe.ask(Generation).await.unwrap(), 2);
            lab.gate.add_permits(1);
        };
        let (held, ()) = tokio::join!(probe.call(HoldMessage), story);
        assert_eq!(held.unwrap(), 1, "the old instance finished what it had begun");
        settle().await;
        assert!(lab.journal.take().contains(&"drain probe".to_owned()));
    });
}

#[test]
fn an_old_instance_that_fails_while_draining_changes_nothing() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", spec(0)).await;
        let held = probe.call(HoldMessage);
        let story = async {
            settle().await;
            tree.replace(&probe, None, lab.factory()).await.unwrap().commit().await.unwrap();
            // Its drain deadline passes.
            tokio::time::sleep(std::time::Duration::from_secs(11)).await;
        };
        let (held, ()) = tokio::join!(held, story);
        assert_eq!(held.unwrap_err().kind, actix_supervision::CallErrorKind::Crashed);
        assert_eq!(probe.vitals().state, NodeState::Running);
        assert_eq!(probe.ask(Generation).await.unwrap(), 2);
    });
}

#[test]
fn a_changed_configuration_leaves_quarantine_with_a_fresh_budget() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", spec(1)).await;
        let _ = probe.call(Boom).await;
        let _ = probe.call(Boom).await;
        settle().await;
        assert_eq!(probe.vitals().state, NodeState::Quarantined);
        tree.replace(&probe, Some("new".to_owned()), lab.factory()).await.unwrap().commit().await.unwrap();
        assert_eq!(probe.call(Count).await.unwrap(), 1);
        let _ = probe.call(Boom).await;
        assert_eq!(probe.call(Count).await.unwrap(), 1);
    });
}

#[test]
fn the_new_factory_serves_later_restarts() {
    Universe::new(1).run(async |tree| {
        let (old, new) = (Lab::new(&tree), Lab::new(&tree));
        let probe = old.running("probe", ChildSpec::new()).await;
        tree.replace(&probe, None, new.factory()).await.unwrap().commit().await.unwrap();
        let _ = probe.call(Boom).await;
        probe.call(Count).await.unwrap();
        assert_eq!(new.journal.take(), ["start probe", "start probe"]);
    });
}

#[test]
fn restart_between_prepare_and_commit_keeps_generations_growing() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", ChildSpec::new()).await;
        let prepared = tree.replace(&probe, None, lab.factory()).await.unwrap();
        let _ = probe.call(Boom).await;
        assert_eq!(probe.ask(Generation).await.unwrap(), 3);
        assert_eq!(prepared.commit().await, Ok(4));
        settle().await;
        assert_eq!(probe.vitals().generation, 4);
    });
}

#[test]
fn a_retired_node_cannot_be_replaced() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", ChildSpec::new()).await;
        let prepared = tree.replace(&probe, None, lab.factory()).await.unwrap();
        tree.retire("probe", std::time::Duration::from_secs(1)).await.unwrap();
        assert_eq!(prepared.commit().await, Err(OrderError::Unknown));
        assert!(tree.replace(&probe, None, lab.factory()).await.is_err());
    });
}
