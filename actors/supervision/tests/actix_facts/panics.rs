//! Panics in an actor: what they end, what they leave intact, and how they are observed.

use std::cell::RefCell;
use std::panic::catch_unwind;

use actix::MailboxError;
use actix::dev::SendError;
use futures_util::future::join3;

use super::*;

mod a_panic {
    use super::*;

    #[test]
    fn panic_closes_callers_and_spares_neighbour() {
        system(async {
            let (addr, neighbour) = (ProbeActor::default().start(), ProbeActor::default().start());
            let outcomes = join3(addr.send(Boom), addr.send(Count), addr.send(Count)).await;
            assert_eq!(
                outcomes,
                (Err(MailboxError::Closed), Err(MailboxError::Closed), Err(MailboxError::Closed))
            );
            assert_eq!(neighbour.send(Count).await, Ok(1));
        });
    }

    #[test]
    fn try_send_after_panic_gives_the_message_back() {
        system(async {
            let addr = ProbeActor::default().start();
            let _ = addr.send(Boom).await;
            assert!(matches!(addr.try_send(Count), Err(SendError::Closed(Count))));
            addr.do_send(Count);
        });
    }

    #[test]
    fn in_started_closes_the_address() {
        system(async {
            let addr = ProbeActor { panics_in_started: true, ..ProbeActor::default() }.start();
            assert_eq!(addr.send(Count).await, Err(MailboxError::Closed));
        });
    }

    #[test]
    fn in_a_factory_spares_the_arbiter() {
        system(async {
            let arbiter = Arbiter::new();
            let broken = ProbeActor::start_in_arbiter(&arbiter.handle(), |_| panic!("boom in the factory"));
            assert_eq!(broken.send(Count).await, Err(MailboxError::Closed));
            let addr = ProbeActor::start_in_arbiter(&arbiter.handle(), |_| ProbeActor::default());
            assert_eq!(addr.send(Count).await, Ok(1));
        });
    }
}

#[test]
fn a_panicked_instance_runs_stopping_and_stopped_while_unwinding() {
    let log = Log::default();
    let probe = ProbeActor { log: log.clone(), ..ProbeActor::default() };
    system(async { probe.start().send(Boom).await.unwrap_err() });
    assert_eq!(lines(&log), ["started", "stopping while unwinding", "stopped while unwinding"]);
}

#[test]
fn panicked_instance_refusing_to_stop_handles_its_queue() {
    system(async {
        let addr = ProbeActor { handled: 100, clings: true, ..ProbeActor::default() }.start();
        let (boom, queued) = (addr.send(Boom), addr.send(Count));
        assert_eq!(boom.await, Err(MailboxError::Closed));
        assert_eq!(queued.await, Ok(101));
    });
}

mod a_spawned_context {
    use super::*;

    #[test]
    fn gives_the_panic_to_its_join_handle() {
        system(async {
            let ctx = Context::new();
            let addr = ctx.address();
            let join = actix::spawn(ctx.into_future(ProbeActor::default()));
            assert_eq!(addr.send(Boom).await, Err(MailboxError::Closed));
            let panic = join.await.unwrap_err().into_panic();
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"boom"));
        });
    }

    #[test]
    fn can_be_aborted_between_polls() {
        system(async {
            let ctx = Context::new();
            let addr = ctx.address();
            let join = actix::spawn(ctx.into_future(ProbeActor::default()));
            tokio::task::yield_now().await;
            join.abort();
            assert!(join.await.unwrap_err().is_cancelled());
            assert!(!addr.connected());
        });
    }
}

#[test]
fn panic_hook_runs_on_panicking_thread_before_catch() {
    thread_local! {
        static LOCATION: RefCell<Option<String>> = const { RefCell::new(None) };
    }
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        LOCATION.set(info.location().map(ToString::to_string));
        previous(info);
    }));
    let caught = catch_unwind(|| panic!("boom"));
    assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"boom"));
    let location = LOCATION.take().unwrap();
    assert!(location.contains("panics.rs:"), "{location}");
}
