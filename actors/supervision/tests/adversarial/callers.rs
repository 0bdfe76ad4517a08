//! Callers: the errors they get, and the resources they leave behind.

use super::*;

/// One of each end of a call, many times, with a panic at every seventh message.
#[test]
fn unhandled_message_returns_in_the_one_outcome() {
    Universe::new(7).run(async |tree| {
        let handled = Arc::new(Mutex::new(Vec::new()));
        let noted = handled.clone();
        let make = move || Victim { handled: noted.clone(), ..Victim::default() };
        let spec = ChildSpec::new().mailbox(64).policy(restarts(100));
        let victim = tree.spawn("v", spec, Placement::Here, victims(make)).await.unwrap();
        let calls = (1..=200).map(|number| {
            let victim = victim.clone();
            async move {
                if number % 5 == 0 {
                    // A caller that looks once and leaves.
                    let _ = victim.call(Work(number)).now_or_never();
                    return None;
                }
                Some((number, victim.call_within(Work(number), HOUR).await))
            }
        });
        let outcomes = join_all(calls).await;
        let handled = handled.lock().clone();
        let once: BTreeSet<_> = handled.iter().copied().collect();
        assert_eq!(once.len(), handled.len(), "handled twice");
        for (number, outcome) in outcomes.into_iter().flatten() {
            let was_handled = once.contains(&number);
            match outcome {
                Ok(()) => assert!(was_handled && number % 7 != 0),
                Err(error) if error.is_retryable() => {
                    assert!(!was_handled, "{number}: {error}");
                    assert_eq!(error.kind, CallErrorKind::Full);
                    assert_eq!(error.message.unwrap().0, number);
                }
                Err(error) => {
                    assert!(was_handled && error.kind == CallErrorKind::Crashed, "{number}: {error}")
                }
            }
        }
        victim.call(Name).await.unwrap();
        assert_eq!(victim.vitals().mailbox_depth, 0);
    });
}

#[test]
fn leaving_an_endless_read_frees_its_place() {
    Universe::new(1).run(async |tree| {
        let victim = spawn(&tree, "v", ChildSpec::new().mailbox(2)).await;
        for _ in 0..8 {
            assert_eq!(victim.ask_within(Stare, SECOND).await.unwrap_err().kind, CallErrorKind::Expired);
        }
        assert_eq!(victim.call(Name).await.unwrap(), 1);
    });
}

#[test]
fn actor_stopping_every_message_loses_none_queued() {
    Universe::new(1).run(async |tree| {
        let victim = spawn(&tree, "v", ChildSpec::new().policy(restarts(100))).await;
        let stops = (0..20).map(|_| victim.call(Run(Box::new(|ctx| ctx.stop()))));
        let outcomes = join_all(stops).await;
        assert!(outcomes.iter().all(Result::is_ok));
    });
}
