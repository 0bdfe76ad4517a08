//! Threads that end under their actors.

use super::*;

fn real<T>(test: impl Future<Output = T>) -> T {
    let limited = async { tokio::time::timeout(Duration::from_secs(120), test).await };
    actix::System::new().block_on(limited).unwrap_or_else(|_| panic!("it hangs"))
}

/// Waits until another thread has brought a state about.
async fn eventually(state: &str, is_reached: impl Fn() -> bool) {
    let look = async {
        while !is_reached() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(60 * SECOND, look).await.unwrap_or_else(|_| panic!("{state}: not reached in time"));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a thread that ends with its runtime is the point")]
fn that_end_give_every_caller_an_outcome() {
    real(async {
        let tree = Tree::builder("test").build();
        let arbiter = actix::Arbiter::new();
        let on = Placement::On(arbiter.handle());
        let victim = tree.spawn("v", ChildSpec::new(), on, victims(Victim::default)).await.unwrap();
        let (_hold, held) = oneshot::channel();
        let mut holding = Box::pin(victim.call(HoldMessage(held)));
        let mut queued = Box::pin(victim.call(Name));
        assert!(poll!(&mut holding).is_pending());
        eventually("the first call is handled", || victim.vitals().handled > 0).await;
        assert!(poll!(&mut queued).is_pending());
        arbiter.stop();
        arbiter.join().unwrap();
        assert_eq!(holding.await.unwrap_err().kind, CallErrorKind::Crashed);
        let error = queued.await.unwrap_err();
        assert_eq!((error.kind, error.message.is_some()), (CallErrorKind::Stopped, true));
        assert_eq!(victim.call(Name).await.unwrap_err().kind, CallErrorKind::Stopped);
        assert!(matches!(tree.wait_until_running("v").await, Err(NotRunningError::Stopped)));
        assert_eq!(tree.shutdown(SECOND).await, TreeExit::Shutdown);
    });
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a thread that ends with its runtime is the point")]
fn that_have_ended_run_nothing_and_keep_nobody_waiting() {
    real(async {
        let tree = Tree::builder("test").build();
        let arbiter = actix::Arbiter::new();
        let on = Placement::On(arbiter.handle());
        arbiter.stop();
        arbiter.join().unwrap();
        let spawned = tree.spawn("v", ChildSpec::new(), on, victims(Victim::default)).await;
        assert_eq!(spawned.unwrap_err(), SpawnError::ArbiterGone);
        assert_eq!(tree.wait_until_running("v").await, Err(NotRunningError::Unknown));
        assert_eq!(tree.shutdown(SECOND).await, TreeExit::Shutdown);
    });
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a thread of its own is the point")]
fn blocked_thread_is_given_up_with_its_orders() {
    real(async {
        let tree = Tree::builder("test").build();
        let arbiter = actix::Arbiter::new();
        let on = Placement::On(arbiter.handle());
        let victim = tree.spawn("v", ChildSpec::new(), on, victims(Victim::default)).await.unwrap();
        let prepared = tree.replace(&victim, None, victims(Victim::default)).await.unwrap();
        let (release, released) = std::sync::mpsc::channel::<()>();
        victim.cast(Run(Box::new(move |_| released.recv().unwrap_or_default()))).unwrap();
        eventually("the thread is blocked", || victim.vitals().handling == Some("Run")).await;
        let mut commit = Box::pin(prepared.commit());
        assert!(poll!(&mut commit).is_pending());
        assert_eq!(tree.retire("v", Duration::ZERO).await, Err(RetireError::Forced));
        assert_eq!(commit.await, Err(OrderError::Gone));
        assert_eq!(victim.call(Name).await.unwrap_err().kind, CallErrorKind::Stopped);
        release.send(()).unwrap();
        assert_eq!(tree.shutdown(SECOND).await, TreeExit::Shutdown);
        arbiter.stop();
        arbiter.join().unwrap();
    });
}

/// Calls until the node is gone; every call must come to something.
fn call_until_stopped(victim: &Address<Victim>) -> u32 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        for calls in 0.. {
            let call = victim.call(Name);
            let outcome = tokio::time::timeout(Duration::from_secs(10), call).await.unwrap();
            if outcome.is_err_and(|error| error.kind == CallErrorKind::Stopped) {
                return calls;
            }
        }
        0
    })
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a thread of its own is the point")]
fn callers_of_ending_node_always_get_answers() {
    real(async {
        let tree = Tree::builder("test").build();
        for round in 0..100 {
            let arbiter = actix::Arbiter::new();
            let on = Placement::On(arbiter.handle());
            let spec = ChildSpec::new().mailbox(2);
            let victim = tree.spawn("v", spec, on, victims(Victim::default)).await.unwrap();
            let call = || {
                let victim = victim.clone();
                std::thread::spawn(move || call_until_stopped(&victim))
            };
            let callers = [call(), call(), call()];
            tree.wait_until_running("v").await.unwrap();
            if round % 2 == 0 {
                tree.retire("v", SECOND).await.unwrap();
                arbiter.stop();
            } else {
                arbiter.stop();
                tree.retire("v", SECOND).await.unwrap();
            }
            for caller in callers {
                caller.join().unwrap();
            }
            arbiter.join().unwrap();
        }
        assert_eq!(tree.shutdown(SECOND).await, TreeExit::Shutdown);
    });
}
