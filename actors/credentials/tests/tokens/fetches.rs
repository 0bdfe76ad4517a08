//! The time and the number of requests for tokens.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::poll;
use parking_lot::Mutex;
use serde_json::json;
use svc_testkit::upstream::Upstream;

use crate::kit::{granting, oauth, run};

/// A token endpoint that numbers its tokens, each good for so many seconds.
fn numbering(seconds: u64) -> Upstream {
    let calls = AtomicUsize::new(0);
    Upstream::start(move |_| granting(&format!("t{}", calls.fetch_add(1, Ordering::SeqCst) + 1), seconds))
        .unwrap()
}

#[test]
fn concurrent_callers_cause_one_token_request() {
    run(async |world| {
        let (upstream, node) = (numbering(3600), world.node().await);
        let source = node.source(&oauth(&upstream, json!({})));
        let tokens = join_all((0..200).map(|_| source.token())).await;
        assert!(tokens.iter().all(|token| token.as_ref().unwrap().expose() == "t1"));
        assert_eq!((upstream.requests().len(), node.count("ok")), (1, 1.0));
    });
}

#[test]
fn a_fetch_goes_on_when_its_caller_leaves() {
    run(async |world| {
        let (open, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let upstream = Upstream::start(move |_| {
            let _ = gate.lock().recv();
            granting("late", 3600)
        })
        .unwrap();
        let upstream = Arc::new(upstream);
        let node = world.node().await;
        let source = node.source(&oauth(&upstream, json!({})));
        for _ in 0..3 {
            assert!(tokio::time::timeout(Duration::from_millis(50), source.token()).await.is_err());
        }
        open.send(()).unwrap();
        assert_eq!(source.token().await.unwrap().expose(), "late");
        assert_eq!(upstream.requests().len(), 1);
    });
}

#[test]
fn never_fresh_token_is_shared_by_waiting_callers() {
    run(async |world| {
        let (open, gate) = mpsc::channel::<()>();
        let (gate, asked) = (Mutex::new(gate), AtomicUsize::new(0));
        let upstream = Upstream::start(move |_| {
            let _ = gate.lock().recv();
            granting(&format!("t{}", asked.fetch_add(1, Ordering::SeqCst) + 1), 30)
        })
        .unwrap();
        let node = world.node().await;
        let source = node.source(&oauth(&upstream, json!({"refresh_margin_secs": 60})));
        // Few enough for one look to begin them all; nobody is answered before.
        let mut waiting = pin!(join_all((0..30).map(|_| source.token())));
        assert!(poll!(&mut waiting).is_pending());
        drop(open);
        let tokens = waiting.await;
        assert!(tokens.iter().all(|token| token.as_ref().unwrap().expose() == "t1"));
        for number in 2..5 {
            assert_eq!(source.token().await.unwrap().expose(), format!("t{number}"));
        }
    });
}

#[test]
fn only_the_token_that_was_refused_is_dropped() {
    run(async |world| {
        let (upstream, node) = (numbering(3600), world.node().await);
        let source = node.source(&oauth(&upstream, json!({})));
        let first = source.token().await.unwrap();
        source.reject(&first);
        assert_eq!(source.token().await.unwrap().expose(), "t2");
        source.reject(&first);
        assert_eq!(source.token().await.unwrap().expose(), "t2", "refused late, after it was replaced");
        assert_eq!(upstream.requests().len(), 2);
    });
}

#[test]
fn only_sources_of_one_name_and_block_share() {
    run(async |world| {
        let (upstream, node) = (numbering(3600), world.node().await);
        let block = oauth(&upstream, json!({}));
        let source = node.source(&block);
        assert_eq!(source.token().await.unwrap().expose(), "t1");
        assert_eq!(node.source(&block).token().await.unwrap().expose(), "t1");
        let other = node.source(&oauth(&upstream, json!({"client_id": "other"})));
        assert_eq!(other.token().await.unwrap().expose(), "t2");
        assert_eq!(source.token().await.unwrap().expose(), "t1", "who holds the former one goes on");
        node.tokens.forget("c");
        assert_eq!(node.source(&block).token().await.unwrap().expose(), "t3");
    });
}
