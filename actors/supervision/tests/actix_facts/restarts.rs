//! The restarts of `actix::Supervisor`, and the state that survives them.

use actix::MailboxError;

use super::*;

mod supervisor_restarts {
    use super::*;

    #[test]
    fn after_a_stop() {
        system(async {
            let addr = Supervisor::start(|_| ProbeActor::default());
            addr.send(Stop).await.unwrap();
            assert_eq!(addr.send(Count).await, Ok(1));
        });
    }

    #[test]
    fn never_after_a_panic() {
        system(async {
            let addr = Supervisor::start(|_| ProbeActor::default());
            assert_eq!(addr.send(Boom).await, Err(MailboxError::Closed));
            assert!(!addr.connected());
            assert_eq!(addr.send(Count).await, Err(MailboxError::Closed));
        });
    }
}

#[test]
fn supervisor_keeps_the_same_instance() {
    let log = Log::default();
    let probe = ProbeActor { log: log.clone(), ..ProbeActor::default() };
    system(async {
        let addr = Supervisor::start(|_| probe);
        assert_eq!(addr.send(Count).await, Ok(1));
        addr.send(Stop).await.unwrap();
        assert_eq!(addr.send(Count).await, Ok(2));
    });
    assert_eq!(lines(&log)[..5], ["started", "stopping", "stopped", "restarting", "started"]);
}

mod a_restart {
    use super::*;

    #[test]
    fn keeps_the_queued_messages() {
        system(async {
            let addr = Supervisor::start(|_| ProbeActor::default());
            let (stop, queued) = (addr.send(Stop), addr.send(Count));
            stop.await.unwrap();
            assert_eq!(queued.await, Ok(1));
        });
    }

    #[test]
    fn loses_attached_futures_and_closes_their_callers() {
        let log = Log::default();
        let probe = ProbeActor { log: log.clone(), ..ProbeActor::default() };
        system(async {
            let addr = Supervisor::start(|_| probe);
            let (speak, speech) = oneshot::channel();
            let attached = addr.send(Attached(speech));
            addr.send(Stop).await.unwrap();
            assert_eq!(attached.await, Err(MailboxError::Closed));
            assert!(speak.is_closed());
        });
        assert!(!lines(&log).contains(&"attached future ended".into()));
    }

    #[test]
    fn or_a_panic_does_not_end_a_response_future() {
        system(async {
            for end in [true, false] {
                let addr = Supervisor::start(|_| ProbeActor::default());
                let (speak, speech) = oneshot::channel();
                let detached = addr.send(Detached(speech));
                let _ = if end { addr.send(Stop).await } else { addr.send(Boom).await };
                speak.send(()).unwrap();
                assert_eq!(detached.await, Ok(()));
            }
        });
    }
}
