//! Idempotent answers: repeats of a request get the answer of the first run.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_supervision::Universe;
use parking_lot::Mutex;
use serde_json::{Value, json};
use svc_channels::{AnswerStore, CacheError, CacheFuture, ChannelResponse, DataRequest, Settings};
use svc_model::{Code, ServiceError};

use crate::kit::{Kit, Orders, copy, empty_workflow, http, task};

const REPLAYED: (&str, &str) = ("idempotent-replayed", "true");

fn replaying(more: Value) -> Value {
    let mut block = json!({"header": "idempotency-key", "on_duplicate": "replay", "store": "memory"});
    block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"deduplication": block})
}

fn keyed(key: &str, body: &Value) -> DataRequest {
    let mut request = http(body.clone(), &[("idempotency-key", key)]);
    request.raw = body.to_string().into();
    request
}

async fn send(orders: &Orders, key: &str, body: Value) -> Result<ChannelResponse, ServiceError> {
    orders.submit(keyed(key, &body)).await
}

/// Returns the answer of a repeat without the mark that it has to have.
fn unmarked(answer: Result<ChannelResponse, ServiceError>) -> ChannelResponse {
    let mut answer = answer.unwrap();
    let (name, value) = answer.headers.pop().unwrap();
    assert_eq!((name.as_str(), value.as_str()), REPLAYED);
    answer
}

fn code(answer: &Result<ChannelResponse, ServiceError>) -> Option<Code> {
    answer.as_ref().err().map(ServiceError::code)
}

#[test]
fn repeat_gets_first_answer_and_runs_nothing() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let orders = kit.serve(&tree, replaying(json!({})), &json!([copy("payload.n", "data.n")])).await;
        let first = send(&orders, "k", json!({"n": 1})).await.unwrap();
        for _ in 0..3 {
            let repeat = unmarked(send(&orders, "k", json!({"n": 1})).await);
            assert_eq!(repeat, first, "the id of the run shows that it is the same");
        }
        let reused = send(&orders, "k", json!({"n": 2})).await;
        assert_eq!(code(&reused), Some(Code::IdempotencyKeyReused));
        let other = send(&orders, "k-2", json!({"n": 1})).await.unwrap();
        assert_ne!(other.body, first.body);
        let page = kit.metrics_text();
        assert!(page.contains(r#"svc_messages_total{channel="orders",status="duplicate"} 4"#), "{page}");
    });
}

#[test]
fn repeat_that_meets_the_run_is_refused() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let orders = kit.serve(&tree, replaying(json!({})), &json!([task("hold", json!({}))])).await;
        let running = orders.clone();
        let first = actix_rt::spawn(async move { send(&running, "k", json!({})).await });
        kit.hold.wait_for_entries(1).await;
        for _ in 0..3 {
            let early = send(&orders, "k", json!({})).await.unwrap_err();
            assert_eq!((early.code(), early.retry_after()), (Code::IdempotencyInProgress, Some(1)));
        }
        let reused = send(&orders, "k", json!({"other": 1})).await;
        assert_eq!(code(&reused), Some(Code::IdempotencyKeyReused));
        kit.hold.release();
        let first = first.await.unwrap().unwrap();
        assert_eq!(unmarked(send(&orders, "k", json!({})).await), first);
    });
}

#[test]
fn failures_and_crashes_are_answers_too() {
    for function in ["fail", "crash"] {
        Universe::new(1).run(async |tree| {
            let kit = Kit::new(Settings::default());
            let orders = kit.serve(&tree, replaying(json!({})), &json!([task(function, json!({}))])).await;
            let first = send(&orders, "k", json!({})).await.unwrap_err();
            let repeat = unmarked(send(&orders, "k", json!({})).await);
            let body: Value = serde_json::from_slice(&repeat.body).unwrap();
            assert_eq!((repeat.status, body), (first.status(), first.body(Some("req-1"))), "{function}");
        });
    }
}

#[test]
fn refusal_by_later_guard_is_not_kept() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let mut config = replaying(json!({}));
        config["backpressure"] = json!({"max_concurrent_per_node": 1});
        let orders = kit.serve(&tree, config, &json!([task("hold", json!({}))])).await;
        let running = orders.clone();
        let first = actix_rt::spawn(async move { send(&running, "k-1", json!({})).await });
        kit.hold.wait_for_entries(1).await;
        assert_eq!(code(&send(&orders, "k-2", json!({})).await), Some(Code::ServiceUnavailable));
        kit.hold.release();
        first.await.unwrap().unwrap();
        kit.hold.release();
        let later = send(&orders, "k-2", json!({})).await.unwrap();
        assert!(later.headers.iter().all(|(name, _)| name != REPLAYED.0), "it ran: {:?}", later.headers);
    });
}

#[test]
fn answer_beyond_the_bound_is_a_conflict() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let orders = kit.serve(&tree, replaying(json!({"max_answer_bytes": 10})), &empty_workflow()).await;
        assert!(send(&orders, "k", json!({})).await.is_ok());
        assert_eq!(code(&send(&orders, "k", json!({})).await), Some(Code::Conflict));
    });
}

#[test]
fn store_that_does_not_fit_quarantines_the_channel() {
    let kit = Kit::new(Settings::default());
    for (store, reason) in [("redis", "needs a connector"), ("database", "has no database")] {
        let refused = kit.build(replaying(json!({ "store": store })), &empty_workflow()).unwrap_err();
        assert!(refused.contains(reason), "{refused}");
    }
}

/// A store that is away.
struct AwayStore(Mutex<usize>);

impl AwayStore {
    fn fail<T: 'static>(&self) -> CacheFuture<'static, T> {
        *self.0.lock() += 1;
        Box::pin(async { Err(CacheError::NotDone("away".to_owned())) })
    }
}

impl AnswerStore for AwayStore {
    fn read(&self, _: String) -> CacheFuture<'_, Option<String>> {
        self.fail()
    }

    fn claim(&self, _: String, _: String, _: u64) -> CacheFuture<'_, bool> {
        self.fail()
    }

    fn transfer(&self, _: String, _: String, _: String, _: u64) -> CacheFuture<'_, bool> {
        self.fail()
    }

    fn release(&self, _: String, _: String) -> CacheFuture<'_, ()> {
        self.fail()
    }
}

#[test]
fn absent_database_admits_or_refuses_as_configured() {
    // What ran is not kept either.
    for (word, expected, errors) in [("allow", None, 2), ("deny", Some(Code::ServiceUnavailable), 1)] {
        Universe::new(1).run(async |tree| {
            let mut kit = Kit::new(Settings::default());
            let away = Arc::new(AwayStore(Mutex::default()));
            kit.services.replay.database = Some(Arc::clone(&away) as Arc<dyn AnswerStore>);
            let config = replaying(json!({"store": "database", "on_backend_error": word}));
            let orders = kit.serve(&tree, config, &empty_workflow()).await;
            assert_eq!(code(&send(&orders, "k", json!({})).await), expected);
            assert!(*away.0.lock() > 0, "the store was asked");
            assert!(send(&orders, " ", json!({})).await.is_ok(), "without a key nothing is checked");
            let page = kit.metrics_text();
            let counted = format!(r#"svc_errors_total{{reason="dedup_backend"}} {errors}"#);
            assert!(page.contains(&counted), "{page}");
        });
    }
}

/// A store that is away while a run ends.
#[derive(Default)]
struct FlakyStore {
    texts: Mutex<HashMap<String, String>>,
    is_away: AtomicBool,
}

impl FlakyStore {
    fn change<T: 'static>(
        &self,
        change: impl FnOnce(&mut HashMap<String, String>) -> T,
    ) -> CacheFuture<'_, T> {
        let changed = if self.is_away.load(Ordering::SeqCst) {
            Err(CacheError::NotDone("away".to_owned()))
        } else {
            Ok(change(&mut self.texts.lock()))
        };
        Box::pin(async move { changed })
    }
}

impl AnswerStore for FlakyStore {
    fn read(&self, key: String) -> CacheFuture<'_, Option<String>> {
        self.change(|texts| texts.get(&key).cloned())
    }

    fn claim(&self, key: String, text: String, _: u64) -> CacheFuture<'_, bool> {
        self.change(|texts| *texts.entry(key).or_insert_with(|| text.clone()) == text)
    }

    fn transfer(&self, key: String, text: String, successor: String, _: u64) -> CacheFuture<'_, bool> {
        self.change(|texts| {
            let held = texts.get_mut(&key).filter(|held| **held == text);
            held.map(|held| *held = successor).is_some()
        })
    }

    fn release(&self, key: String, text: String) -> CacheFuture<'_, ()> {
        self.change(|texts| {
            if texts.get(&key) == Some(&text) {
                texts.remove(&key);
            }
        })
    }
}

#[test]
fn answer_is_kept_once_the_store_returns() {
    Universe::new(1).run(async |tree| {
        let mut kit = Kit::new(Settings::default());
        let store = Arc::<FlakyStore>::default();
        kit.services.replay.database = Some(Arc::clone(&store) as Arc<dyn AnswerStore>);
        let config = replaying(json!({"store": "database"}));
        let orders = kit.serve(&tree, config, &json!([task("hold", json!({}))])).await;
        let running = orders.clone();
        let first = actix_rt::spawn(async move { send(&running, "k", json!({})).await });
        kit.hold.wait_for_entries(1).await;
        store.is_away.store(true, Ordering::SeqCst);
        kit.hold.release();
        let first = first.await.unwrap().unwrap();
        store.is_away.store(false, Ordering::SeqCst);
        for _ in 0..100 {
            if store.texts.lock().values().any(|text| text.contains("answered")) {
                break;
            }
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        assert_eq!(unmarked(send(&orders, "k", json!({})).await), first);
    });
}
