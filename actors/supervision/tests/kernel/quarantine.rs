//! Quarantined: nothing is admitted, until the configuration changes or an operator orders a restart.

use actix_supervision::{
    Address, CallErrorKind, ChildSpec, EventKind, FaultKind, NodeState, NotRunningError, OrderError,
    PlannedFault, StartError, Universe,
};
use futures_util::FutureExt;

use crate::support::{Boom, Count, Generation, HoldMessage, Lab, ProbeActor, kind, settle, spec};

async fn assert_closed(probe: &Address<ProbeActor>) {
    let call = probe.call(Count).await.unwrap_err();
    assert!(matches!(call.kind, CallErrorKind::Quarantined { .. }), "{call}");
    assert!(call.is_retryable());
    assert!(matches!(kind(probe.ask(Generation).await), CallErrorKind::Quarantined { .. }));
    assert!(matches!(kind(probe.cast(Count)), CallErrorKind::Quarantined { .. }));
}

#[test]
fn a_spent_budget_quarantines_with_the_reason() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", spec(1)).await;
        let _ = probe.call(Boom).await;
        let _ = probe.call(Boom).await;
        settle().await;
        assert_closed(&probe).await;
        let vitals = probe.vitals();
        assert_eq!(vitals.state, NodeState::Quarantined);
        assert!(vitals.quarantine_reason.unwrap().contains("boom"));
    });
}

#[test]
fn queued_messages_are_handed_back() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", spec(0)).await;
        let (crashed, queued) = tokio::join!(probe.call(Boom), probe.call(Count));
        assert_eq!(kind(crashed), CallErrorKind::Crashed);
        let queued = queued.unwrap_err();
        assert!(matches!(queued.kind, CallErrorKind::Quarantined { .. }));
        assert!(queued.is_retryable());
    });
}

#[test]
fn a_configuration_fault_quarantines_without_a_retry() {
    let fault = PlannedFault {
        path: "probe".to_owned(),
        message: "*".to_owned(),
        nth: 1,
        kind: FaultKind::FailStart(StartError::Config("no such key".to_owned())),
    };
    Universe::new(1).fault(fault).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.spawn("probe", ChildSpec::new()).await;
        let end = tree.wait_until_running("probe").await.unwrap_err();
        assert_eq!(end, NotRunningError::Quarantined { reason: "no such key".into() });
        assert_closed(&probe).await;
        assert_eq!(lab.starts.load(std::sync::atomic::Ordering::SeqCst), 0);
    });
}

#[test]
fn an_operator_quarantines_and_releases() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", ChildSpec::new()).await;
        let unhandled = probe.call(Count).now_or_never();
        assert!(unhandled.is_none());
        tree.quarantine("probe", "under repair").await.unwrap();
        assert_closed(&probe).await;
        settle().await;
        assert_eq!(lab.journal.take(), ["start probe", "drain probe"]);

        tree.restart("probe").await.unwrap();
        tree.wait_until_running("probe").await.unwrap();
        assert_eq!(probe.call(Count).await.unwrap(), 1);
        let released = tree.history().iter().any(|event| event.kind == EventKind::Released);
        assert!(released);
        assert_eq!(tree.restart("nobody").await, Err(OrderError::Unknown));
    });
}

#[test]
fn a_restart_by_order_gives_the_whole_budget_back() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", spec(1)).await;
        for _ in 0..3 {
            let _ = probe.call(Boom).await;
            settle().await;
            tree.wait_until_running("probe").await.unwrap();
            let _ = probe.call(Boom).await;
            settle().await;
            assert_closed(&probe).await;
            tree.restart("probe").await.unwrap();
            tree.wait_until_running("probe").await.unwrap();
        }
        assert_eq!(probe.vitals().generation, 7);
    });
}

#[test]
fn accepted_calls_finish_before_ordered_quarantine() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", ChildSpec::new()).await;
        let order = async {
            settle().await;
            tree.quarantine("probe", "under repair").await.unwrap();
            assert_closed(&probe).await;
            lab.gate.add_permits(1);
        };
        let (held, ()) = tokio::join!(probe.call(HoldMessage), order);
        assert_eq!(held.unwrap(), 1);
    });
}
