//! The needs of a node run before it starts and end after it has drained.

use std::time::Duration;

use actix_supervision::{
    ChildSpec, FaultKind, GroupSpec, NodeState, Placement, PlannedFault, SpawnError, StartError, Universe,
};

use crate::support::{Count, Lab, settle};

fn fail_start(path: &str, nth: u64, error: StartError) -> PlannedFault {
    PlannedFault { path: path.to_owned(), message: "*".to_owned(), nth, kind: FaultKind::FailStart(error) }
}

#[test]
fn the_first_start_waits_for_every_need() {
    let away = StartError::Transient("unreachable".to_owned());
    let universe =
        Universe::new(1).fault(fail_start("store", 1, away.clone())).fault(fail_start("store", 2, away));
    universe.run(async |tree| {
        let lab = Lab::new(&tree);
        lab.spawn("store", ChildSpec::new()).await;
        tree.add_group("pools", GroupSpec::new()).await.unwrap();
        lab.spawn("pools/http", ChildSpec::new().needs(["store"])).await;
        let registry = lab.spawn("registry", ChildSpec::new().needs(["store", "pools"])).await;
        settle().await;
        assert_eq!(lab.journal.take(), Vec::<String>::new());
        assert_eq!(registry.vitals().state, NodeState::Starting);
        assert_eq!(registry.call(Count).await.unwrap(), 1, "the call waits in the mailbox");
        assert_eq!(lab.journal.take(), ["start store", "start pools/http", "start registry"]);
        assert_eq!(registry.vitals().needs, ["store", "pools"]);
    });
}

#[test]
fn shutdown_drains_in_reverse_order_of_need() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        lab.running("store", ChildSpec::new()).await;
        tree.add_group("pools", GroupSpec::new()).await.unwrap();
        lab.running("pools/http", ChildSpec::new().needs(["store"])).await;
        lab.running("edge", ChildSpec::new().needs(["pools"])).await;
        lab.journal.take();
        tree.shutdown(Duration::from_secs(1)).await;
        assert_eq!(lab.journal.take(), ["drain edge", "drain pools/http", "drain store"]);
    });
}

#[test]
fn dependency_serves_while_dependants_drain() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let store = lab.running("store", ChildSpec::new()).await;
        let edge = lab.running("edge", ChildSpec::new().needs(["store"])).await;
        let story = async {
            settle().await;
            let ending = tree.shutdown(Duration::from_secs(1));
            let serve = async {
                settle().await;
                assert_eq!(edge.vitals().state, NodeState::Draining);
                store.call(Count).await.unwrap();
                lab.gate.add_permits(1);
            };
            tokio::join!(ending, serve).0
        };
        let (held, _) = tokio::join!(edge.call(crate::support::HoldMessage), story);
        held.unwrap();
    });
}

#[test]
fn quarantined_member_delays_no_dependant_of_its_group() {
    let config = StartError::Config("no such host".to_owned());
    Universe::new(1).fault(fail_start("pools/bad", 1, config)).run(async |tree| {
        let lab = Lab::new(&tree);
        tree.add_group("pools", GroupSpec::new()).await.unwrap();
        lab.spawn("pools/bad", ChildSpec::new()).await;
        lab.spawn("pools/good", ChildSpec::new()).await;
        lab.running("edge", ChildSpec::new().needs(["pools"])).await;
    });
}

#[test]
fn a_need_must_be_another_node_of_the_tree() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        tree.add_group("g", GroupSpec::new()).await.unwrap();
        for need in ["nobody", "g", "a"] {
            let spec = ChildSpec::new().needs([need]);
            let refused = tree.spawn("g/a", spec, Placement::Here, lab.factory()).await.map(drop);
            assert!(matches!(refused, Err(SpawnError::UnknownNeed { .. })), "{need}: {refused:?}");
        }
        assert!(tree.snapshot().node("g/a").is_none());
    });
}

#[test]
fn root_need_means_no_sibling_of_that_name() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        lab.running("store", ChildSpec::new()).await;
        tree.add_group("g", GroupSpec::new()).await.unwrap();
        for name in ["g/store", "g/other"] {
            lab.running(name, ChildSpec::new().needs(["/store"])).await;
            let needs = tree.snapshot().node(name).unwrap().needs.clone();
            assert_eq!(needs.iter().map(|need| need.as_str()).collect::<Vec<_>>(), ["store"], "{name}");
        }
        let refused =
            tree.spawn("g/a", ChildSpec::new().needs(["/other"]), Placement::Here, lab.factory()).await;
        assert!(matches!(refused.map(drop), Err(SpawnError::UnknownNeed { .. })));
    });
}
