//! Groups: strategies, shared budgets, escalation.

use actix_supervision::{
    Address, ChildSpec, EventKind, ExhaustedAction, GroupSpec, NodeState, NotRunningError, SpawnError,
    Strategy, TreeExit, Universe,
};

use crate::support::{Boom, Count, Lab, ProbeActor, policy, settle, spec};

fn generations(probes: &[&Address<ProbeActor>]) -> Vec<u64> {
    probes.iter().map(|probe| probe.vitals().generation).collect()
}

#[test]
fn one_for_one_restarts_the_failed_child_only() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        tree.add_group("g", GroupSpec::new()).await.unwrap();
        let (a, b) = (lab.running("g/a", spec(5)).await, lab.running("g/b", spec(5)).await);
        let _ = a.call(Boom).await;
        settle().await;
        assert_eq!(generations(&[&a, &b]), [2, 1]);
    });
}

#[test]
fn one_for_all_restarts_children_by_need() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        tree.add_group("g", GroupSpec::new().strategy(Strategy::OneForAll)).await.unwrap();
        let c = lab.running("g/c", spec(5)).await;
        let b = lab.running("g/b", spec(5).needs(["c"])).await;
        let a = lab.running("g/a", spec(5).needs(["b"])).await;
        let other = lab.running("other", spec(5)).await;
        lab.journal.take();
        b.call(Count).await.unwrap();
        let _ = b.call(Boom).await;
        settle().await;
        assert_eq!(generations(&[&a, &b, &c, &other]), [2, 2, 2, 1]);
        let mut lines = lab.journal.take();
        lines.retain(|line| line.starts_with("start"));
        assert_eq!(lines, ["start g/c", "start g/b", "start g/a"]);
    });
}

#[test]
fn rest_for_one_restarts_what_needs_the_failed_child() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        tree.add_group("g", GroupSpec::new().strategy(Strategy::RestForOne)).await.unwrap();
        let a = lab.running("g/a", spec(5)).await;
        let b = lab.running("g/b", spec(5).needs(["a"])).await;
        let c = lab.running("g/c", spec(5).needs(["b"])).await;
        let d = lab.running("g/d", spec(5)).await;
        let _ = b.call(Boom).await;
        settle().await;
        assert_eq!(generations(&[&a, &b, &c, &d]), [1, 2, 2, 1]);
        let _ = a.call(Boom).await;
        settle().await;
        assert_eq!(generations(&[&a, &b, &c, &d]), [2, 3, 3, 1]);
    });
}

#[test]
fn a_shared_budget_quarantines_the_whole_group() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        tree.add_group("g", GroupSpec::new().policy(policy(2))).await.unwrap();
        let a = lab.running("g/a", ChildSpec::new().shared_budget()).await;
        let b = lab.running("g/b", ChildSpec::new().shared_budget()).await;
        let other = lab.running("other", spec(5)).await;
        let _ = a.call(Boom).await;
        settle().await;
        let _ = b.call(Boom).await;
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        assert_eq!(generations(&[&a, &b]), [2, 2]);
        let _ = a.call(Boom).await;
        settle().await;
        for path in ["g", "g/a", "g/b"] {
            assert_eq!(tree.snapshot().node(path).unwrap().state, NodeState::Quarantined, "{path}");
            assert!(matches!(tree.wait_until_running(path).await, Err(NotRunningError::Quarantined { .. })));
        }
        other.call(Count).await.unwrap();

        tree.restart("g").await.unwrap();
        tree.wait_until_running("g").await.unwrap();
        a.call(Count).await.unwrap();
        b.call(Count).await.unwrap();
    });
}

#[test]
fn an_escalated_failure_restarts_the_group_then_exhausts_it() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        tree.add_group("g", GroupSpec::new().policy(policy(1)).exhausted(ExhaustedAction::EndTree))
            .await
            .unwrap();
        let mut escalating = policy(0);
        escalating.exhausted = ExhaustedAction::Escalate;
        let a = lab.running("g/a", ChildSpec::new().policy(escalating)).await;
        let b = lab.running("g/b", spec(5)).await;
        let _ = a.call(Boom).await;
        settle().await;
        assert_eq!(generations(&[&a, &b]), [2, 2]);
        let escalated =
            |event: &actix_supervision::LifecycleEvent| matches!(event.kind, EventKind::Escalated { .. });
        assert!(tree.history().iter().any(escalated));
        let _ = a.call(Boom).await;
        let TreeExit::Escalated { path, reason } = tree.wait_until_ended().await else { panic!("shut down") };
        assert_eq!(path, "g/a");
        assert!(reason.contains("boom"), "{reason}");
    });
}

#[test]
fn a_node_needs_a_free_place_in_a_group() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let spawn = async |path: &str| {
            let at = actix_supervision::Placement::Here;
            tree.spawn(path, ChildSpec::new(), at, lab.factory()).await.map(drop).unwrap_err()
        };
        lab.running("a", ChildSpec::new()).await;
        assert_eq!(spawn("a").await, SpawnError::Duplicate { path: "a".to_owned() });
        assert_eq!(spawn("a/b").await, SpawnError::NoParent { path: "a/b".to_owned() });
        assert_eq!(spawn("nowhere/b").await, SpawnError::NoParent { path: "nowhere/b".to_owned() });
        assert_eq!(spawn("a//b").await, SpawnError::BadPath { path: "a//b".to_owned() });
        tree.shutdown(std::time::Duration::from_secs(1)).await;
        assert_eq!(spawn("late").await, SpawnError::TreeEnded);
    });
}
