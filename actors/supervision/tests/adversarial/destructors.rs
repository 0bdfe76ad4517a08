//! Destructors that panic.

use super::*;

#[test]
fn of_actors_may_panic() {
    Universe::new(1).run(async |tree| {
        let make = || Victim { _bomb: Bomb(true), ..Victim::default() };
        let factory = victims(make);
        let victim = tree.spawn("v", ChildSpec::new(), Placement::Here, factory).await.unwrap();
        assert_eq!(victim.call(Boom).await.unwrap_err().kind, CallErrorKind::Crashed);
        assert_eq!(victim.call(Name).await.unwrap(), 2);
        tree.restart("v").await.unwrap();
        assert_eq!(victim.call(Name).await.unwrap(), 3);
    });
}

#[test]
fn panicking_destructor_of_abandoned_message_is_contained() {
    Universe::new(1).run(async |tree| {
        let victim = spawn(&tree, "v", ChildSpec::new()).await;
        let (hold, held) = oneshot::channel();
        let mut holding = Box::pin(victim.call(HoldMessage(held)));
        let mut queued = Box::pin(victim.call(Fragile));
        assert!(poll!(&mut holding).is_pending() && poll!(&mut queued).is_pending());
        drop(queued);
        tree.quarantine("v", "by hand").await.unwrap();
        hold.send(()).unwrap();
        holding.await.unwrap();
        tree.restart("v").await.unwrap();
        tree.wait_until_running("v").await.unwrap();
        assert_eq!(victim.call(Name).await.unwrap(), 2);
    });
}
