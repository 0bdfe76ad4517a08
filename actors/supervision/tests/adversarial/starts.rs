//! Starts that panic, fail or never end.

use super::*;

async fn quarantine_reason(tree: &Tree, path: &str) -> String {
    match tree.wait_until_running(path).await {
        Err(NotRunningError::Quarantined { reason }) => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn that_panic_use_up_the_budget() {
    Universe::new(1).run(async |tree| {
        let calls = Arc::new(AtomicU32::new(0));
        let counted = calls.clone();
        let factory = move |_| -> Ready {
            counted.fetch_add(1, Ordering::Relaxed);
            panic!("boom in the factory")
        };
        tree.spawn("v", ChildSpec::new().policy(restarts(2)), Placement::Here, factory).await.unwrap();
        assert!(quarantine_reason(&tree, "v").await.contains("boom in the factory"));
        assert_eq!(calls.load(Ordering::Relaxed), 3);
    });
}

#[test]
fn that_panic_in_started_use_up_the_budget() {
    Universe::new(1).run(async |tree| {
        let make = || Victim { panics_in_started: true, ..Victim::default() };
        let spec = ChildSpec::new().policy(restarts(2));
        tree.spawn("v", spec, Placement::Here, victims(make)).await.unwrap();
        assert!(quarantine_reason(&tree, "v").await.contains("boom in started"));
        assert_eq!(tree.snapshot().node("v").unwrap().generation, 3);
    });
}

#[test]
fn that_never_end_can_be_quarantined_restarted_and_retired() {
    Universe::new(1).run(async |tree| {
        let factory = |_| pending::<Result<Victim, StartError>>();
        let victim = tree.spawn("v", ChildSpec::new(), Placement::Here, factory).await.unwrap();
        let mut queued = Box::pin(victim.call(Name));
        assert!(poll!(&mut queued).is_pending());
        tree.restart("v").await.unwrap();
        assert!(poll!(&mut queued).is_pending());
        tree.quarantine("v", "by hand").await.unwrap();
        let error = queued.await.unwrap_err();
        assert!(matches!(error.kind, CallErrorKind::Quarantined { .. }) && error.is_retryable());
        tree.restart("v").await.unwrap();
        tree.retire("v", SECOND).await.unwrap();
        assert_eq!(victim.call(Name).await.unwrap_err().kind, CallErrorKind::Stopped);
        spawn(&tree, "v", ChildSpec::new()).await.call(Name).await.unwrap();
    });
}

#[test]
fn that_share_a_budget_quarantine_the_group() {
    Universe::new(1).run(async |tree| {
        tree.add_group("g", GroupSpec::new().policy(restarts(2))).await.unwrap();
        let neighbour = spawn(&tree, "g/a", ChildSpec::new().shared_budget()).await;
        let factory = |_| std::future::ready(Err::<Victim, _>(StartError::Transient("away".into())));
        tree.spawn("g/b", ChildSpec::new().shared_budget(), Placement::Here, factory).await.unwrap();
        assert!(quarantine_reason(&tree, "g/b").await.contains("away"));
        quarantine_reason(&tree, "g").await;
        let error = neighbour.call(Name).await.unwrap_err();
        assert!(matches!(error.kind, CallErrorKind::Quarantined { .. }));
    });
}
