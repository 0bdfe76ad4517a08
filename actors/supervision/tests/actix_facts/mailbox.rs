//! The mailbox: its bound, when a message enters it, and how it is drained.

use futures_util::poll;

use super::*;

mod the_mailbox_bound {
    use super::*;

    #[test]
    fn holds_for_one_sender_only() {
        system(async {
            let addr = ProbeActor::default().start();
            let count = (0..1000).filter(|_| addr.try_send(Count).is_ok()).count();
            assert_eq!(count, 16);
            let count = (0..1000).filter(|_| addr.clone().try_send(Count).is_ok()).count();
            assert_eq!(count, 1000);
        });
    }

    #[test]
    fn never_makes_send_wait() {
        system(async {
            let addr = ProbeActor::default().start();
            let mut requests: Vec<_> = (0..1000).map(|_| Box::pin(addr.send(Count))).collect();
            for request in &mut requests {
                assert!(poll!(request).is_pending());
            }
            // All 1000 are queued: they are handled before the next one, without another poll.
            assert_eq!(addr.send(Count).await, Ok(1001));
        });
    }
}

mod a_message {
    use super::*;

    #[test]
    fn is_sent_at_the_call_without_a_poll() {
        system(async {
            let addr = ProbeActor::default().start();
            let _unpolled = addr.send(Count);
            assert_eq!(addr.send(Count).await, Ok(2));
        });
    }

    #[test]
    fn message_of_departed_caller_is_skipped() {
        system(async {
            let addr = ProbeActor::default().start();
            drop(addr.send(Count));
            assert_eq!(addr.send(Count).await, Ok(1));
        });
    }

    #[test]
    fn that_is_being_handled_goes_on_without_its_caller() {
        let log = Log::default();
        let probe = ProbeActor { log: log.clone(), ..ProbeActor::default() };
        system(async {
            let addr = probe.start();
            let (speak, speech) = oneshot::channel();
            let mut request = Box::pin(addr.send(Attached(speech)));
            assert!(poll!(&mut request).is_pending());
            settle().await;
            drop(request);
            speak.send(()).unwrap();
            settle().await;
        });
        assert!(lines(&log).contains(&"attached future ended".into()));
    }
}

#[test]
fn a_mailbox_is_drained_without_yielding() {
    fn flood(turns: Arc<Mutex<u32>>, left: u32, seen: oneshot::Sender<u32>) -> Run {
        Run(Box::new(move |ctx| match left {
            0 => seen.send(*turns.lock()).unwrap(),
            left => ctx.address().do_send(flood(turns, left - 1, seen)),
        }))
    }
    system(async {
        let addr = ProbeActor::default().start();
        let turns = Arc::new(Mutex::new(0));
        let counted = turns.clone();
        actix::spawn(async move {
            loop {
                *counted.lock() += 1;
                yield_now().await;
            }
        });
        settle().await;
        let before = *turns.lock();
        let (seen, saw) = oneshot::channel();
        addr.do_send(flood(turns.clone(), 10_000, seen));
        let during = saw.await.unwrap() - before;
        assert!(during <= 2, "the neighbour had {during} turns during 10000 messages");
    });
}
