//! The test kit itself.

use std::time::Duration;

use actix_supervision::{ChildSpec, FaultKind, PlannedFault, Tree, Universe};

use crate::support::{Boom, Count, Lab, spec};

#[test]
fn days_pass_at_once() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", ChildSpec::new()).await;
        tokio::time::sleep(Duration::from_secs(30 * 24 * 3600)).await;
        assert_eq!(probe.vitals().uptime_ms, 30 * 24 * 3_600_000);
    });
}

#[test]
#[should_panic(expected = "did not drain: [\"probe\"]")]
fn undrained_tree_fails_the_test() {
    let hang =
        PlannedFault { path: "probe".to_owned(), message: "Count".to_owned(), nth: 1, kind: FaultKind::Hang };
    Universe::new(1).fault(hang).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", ChildSpec::new()).await;
        let _ = probe.call_within(Count, Duration::from_secs(1)).await;
    });
}

#[test]
fn several_trees_live_side_by_side() {
    Universe::new(1).run(async |tree| {
        let other = Tree::builder("other").build();
        let (here, there) = (Lab::new(&tree), Lab::new(&other));
        let a = here.running("a", ChildSpec::new()).await;
        let b = there.running("b", ChildSpec::new()).await;
        other.shutdown(Duration::from_secs(1)).await;
        a.call(Count).await.unwrap();
        assert!(b.call(Count).await.is_err());
    });
}

#[test]
fn one_seed_gives_one_history() {
    let run = |seed| {
        Universe::new(seed).run(async |tree| {
            let mut policy = crate::support::policy(50);
            policy.backoff.jitter = 1.0;
            let probe = Lab::new(&tree).running("probe", spec(50).policy(policy)).await;
            for _ in 0..5 {
                while probe.call(Boom).await.is_err_and(|e| e.is_retryable()) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
            tree.history().into_iter().map(|event| event.kind).collect::<Vec<_>>()
        })
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}
