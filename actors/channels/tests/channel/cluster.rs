//! Guards over the store of a cluster.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use actix_supervision::Universe;
use parking_lot::Mutex;
use serde_json::{Value, json};
use svc_channels::{CacheError, CacheFuture, ClusterStore, Settings, SharedCache};
use svc_model::{Code, ServiceError};

use crate::kit::{Kit, Orders, empty_workflow, http, task};

/// A store in memory that the test may switch off.
#[derive(Default)]
struct TestStore {
    texts: Mutex<HashMap<String, String>>,
    counts: Mutex<HashMap<String, u64>>,
    /// Carries nothing out.
    is_away: AtomicBool,
    /// The number of calls.
    calls: AtomicUsize,
    /// Carries out a claim, does not confirm it, and is away then.
    loses_answers: AtomicBool,
}

impl TestStore {
    fn answer<T: 'static>(&self, work: impl FnOnce() -> T) -> CacheFuture<'static, T> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let done = (!self.is_away.load(Ordering::SeqCst)).then(work);
        Box::pin(async { done.ok_or_else(|| CacheError::NotDone("away".to_owned())) })
    }
}

impl SharedCache for TestStore {
    fn read(&self, key: String) -> CacheFuture<'_, Option<String>> {
        self.answer(|| self.texts.lock().get(&key).cloned())
    }

    fn write(&self, key: String, text: String, _: u64) -> CacheFuture<'_, ()> {
        self.answer(|| drop(self.texts.lock().insert(key, text)))
    }

    fn claim(&self, key: String, owner: String, _: u64) -> CacheFuture<'_, bool> {
        let claimed = self.answer(|| *self.texts.lock().entry(key).or_insert_with(|| owner.clone()) == owner);
        if self.loses_answers.load(Ordering::SeqCst) {
            self.is_away.store(true, Ordering::SeqCst);
            return Box::pin(async { Err(CacheError::Unconfirmed("no answer".to_owned())) });
        }
        claimed
    }

    fn transfer(&self, _: String, _: String, _: String, _: u64) -> CacheFuture<'_, bool> {
        self.answer(|| false)
    }

    fn release(&self, key: String, owner: String) -> CacheFuture<'_, ()> {
        self.answer(|| self.texts.lock().retain(|held, by| *held != key || *by != owner))
    }

    fn increment(&self, key: String) -> CacheFuture<'_, u64> {
        self.answer(|| {
            let mut texts = self.texts.lock();
            let sum = texts.get(&key).map_or(0, |text| text.parse::<u64>().unwrap()) + 1;
            texts.insert(key, sum.to_string());
            sum
        })
    }
}

impl ClusterStore for TestStore {
    fn count_in_second(&self, key: String) -> CacheFuture<'_, u64> {
        self.answer(|| {
            let mut counts = self.counts.lock();
            let count = counts.entry(key).or_default();
            *count += 1;
            *count
        })
    }
}

fn kit(store: &Arc<TestStore>) -> Kit {
    let mut kit = Kit::new(Settings::default());
    kit.services.cluster = Some(Arc::clone(store) as Arc<dyn ClusterStore>);
    kit
}

async fn send(orders: &Orders, header: &str, value: &str) -> Result<(), ServiceError> {
    orders.submit(http(json!({}), &[(header, value)])).await.map(drop)
}

fn rate(more: Value) -> Value {
    let mut block = json!({"requests_per_second": 2, "burst": 1, "key_logic": {"var": "headers.user-agent"}});
    block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"rate_limit": block})
}

#[test]
fn shared_rate_is_keyed_by_channel_and_group() {
    for (more, expected) in
        [(json!({}), "svc:rl:orders:a"), (json!({"group": "api"}), "svc:rl-group:api:2:1:a")]
    {
        Universe::new(1).run(async |tree| {
            let store = Arc::new(TestStore::default());
            let orders = kit(&store).serve(&tree, rate(more.clone()), &empty_workflow()).await;
            for _ in 0..3 {
                assert!(send(&orders, "user-agent", "a").await.is_ok());
            }
            let refused = send(&orders, "user-agent", "a").await.unwrap_err();
            assert_eq!((refused.code(), refused.retry_after()), (Code::RateLimited, Some(1)));
            assert!(send(&orders, "user-agent", "b").await.is_ok());
            assert!(send(&orders, "user-agent", &"x".repeat(2000)).await.is_ok());
            assert_eq!(store.counts.lock().get(expected), Some(&4));
            assert!(store.counts.lock().keys().all(|key| key.len() < 200), "long keys are kept as digests");
        });
    }
}

#[test]
fn principal_keys_and_long_keys_have_bounded_names() {
    Universe::new(1).run(async |tree| {
        let store = Arc::new(TestStore::default());
        let config = json!({
            "auth": {"mode": "api_key", "header": "x-tenant", "keys": ["one"]},
            "deduplication": {"header": "idempotency-key"},
        });
        let orders = kit(&store).serve(&tree, config, &empty_workflow()).await;
        for key in ["order-1".to_owned(), "x".repeat(100_000)] {
            let post = async || {
                orders.submit(http(json!({}), &[("x-tenant", "one"), ("idempotency-key", &key)])).await
            };
            assert!(post().await.is_ok());
            let refused = post().await.unwrap_err();
            assert_eq!(refused.code(), Code::Conflict);
            assert!(refused.message().len() < 200, "a long key is not repeated");
        }
        let texts = store.texts.lock();
        assert!(texts.keys().all(|name| name.starts_with("dedup::orders:") && name.len() < 150), "{texts:?}");
    });
}

#[test]
fn uncounted_message_passes_or_is_refused_as_configured() {
    for (word, code) in [("allow", None), ("deny", Some(Code::ServiceUnavailable))] {
        Universe::new(1).run(async |tree| {
            let store = Arc::new(TestStore::default());
            let kit = kit(&store);
            let orders = kit.serve(&tree, rate(json!({"on_backend_error": word})), &empty_workflow()).await;
            store.is_away.store(true, Ordering::SeqCst);
            for _ in 0..9 {
                let answer = send(&orders, "user-agent", "a").await;
                let refused = answer.err();
                assert_eq!(refused.as_ref().map(ServiceError::code), code);
                assert_eq!(refused.and_then(|error| error.retry_after()), code.map(|_| 5));
            }
            let page = kit.metrics_text();
            assert!(page.contains(r#"svc_errors_total{reason="rate_limit_backend"} 9"#), "{page}");
        });
    }
}

#[test]
fn unconfirmed_claim_is_free_after_store_returns() {
    Universe::new(1).run(async |tree| {
        let store = Arc::new(TestStore::default());
        let config = json!({"deduplication": {"header": "Idempotency-Key", "on_backend_error": "deny"}});
        let orders = kit(&store).serve(&tree, config, &empty_workflow()).await;
        store.loses_answers.store(true, Ordering::SeqCst);
        let refused = send(&orders, "idempotency-key", "k").await.unwrap_err();
        assert_eq!((refused.code(), refused.retry_after()), (Code::ServiceUnavailable, Some(5)));
        // The claim was carried out; its release is not until the store is back.
        pass(Duration::from_secs(3)).await;
        assert!(store.texts.lock().contains_key("dedup:orders:k"));
        store.loses_answers.store(false, Ordering::SeqCst);
        store.is_away.store(false, Ordering::SeqCst);
        pass(Duration::from_secs(10)).await;
        assert!(send(&orders, "idempotency-key", "k").await.is_ok());
        assert_eq!(send(&orders, "idempotency-key", "k").await.unwrap_err().code(), Code::Conflict);
    });
}

/// Lets virtual time pass in steps, so that tasks that wait again and again come along.
async fn pass(time: Duration) {
    let step = Duration::from_millis(50);
    for _ in 0..time.as_millis() / step.as_millis() {
        tokio::time::advance(step).await;
    }
}

#[test]
fn refusal_that_reached_no_store_is_not_released() {
    Universe::new(1).run(async |tree| {
        let store = Arc::new(TestStore::default());
        let config = json!({"deduplication": {"header": "Idempotency-Key", "on_backend_error": "deny"}});
        let orders = kit(&store).serve(&tree, config, &empty_workflow()).await;
        store.is_away.store(true, Ordering::SeqCst);
        for number in 0..5000 {
            assert!(send(&orders, "idempotency-key", &format!("unsent-{number}")).await.is_err());
        }
        let calls = store.calls.load(Ordering::SeqCst);
        pass(Duration::from_secs(3)).await;
        assert_eq!(store.calls.load(Ordering::SeqCst), calls, "nothing was claimed, so nothing is released");
        store.is_away.store(false, Ordering::SeqCst);
        store.loses_answers.store(true, Ordering::SeqCst);
        assert!(send(&orders, "idempotency-key", "sent").await.is_err());
        store.loses_answers.store(false, Ordering::SeqCst);
        store.is_away.store(false, Ordering::SeqCst);
        pass(Duration::from_secs(10)).await;
        assert!(send(&orders, "idempotency-key", "sent").await.is_ok());
    });
}

#[test]
fn duplicate_is_refused_before_cached_response_is_used() {
    Universe::new(1).run(async |tree| {
        let store = Arc::new(TestStore::default());
        let config = json!({"deduplication": {"header": "Idempotency-Key"}, "cache": {"enabled": true}});
        let kit = kit(&store);
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        assert!(send(&orders, "idempotency-key", "a").await.is_ok());
        assert!(send(&orders, "idempotency-key", "b").await.is_ok());
        assert_eq!(send(&orders, "idempotency-key", "b").await.unwrap_err().code(), Code::Conflict);
        let page = kit.metrics_text();
        for (name, count) in [("hits", 1), ("misses", 1)] {
            let sample = format!(r#"svc_response_cache_{name}_total{{channel="orders"}} {count}"#);
            assert!(page.contains(&sample), "{page}");
        }
    });
}

#[test]
fn invalidation_makes_shared_answers_and_running_ones_stale() {
    Universe::new(1).run(async |tree| {
        let store = Arc::<TestStore>::default();
        let kit = kit(&store);
        let config = json!({"cache": {"enabled": true, "namespaces": ["a", "b"]}});
        let mut hold = task("hold", json!({}));
        hold["condition"] = json!({"var": "payload.hold"});
        let orders = kit.serve(&tree, config, &json!([hold])).await;
        let first = orders.post(json!({})).await.unwrap();
        assert_eq!(orders.post(json!({})).await.unwrap(), first);
        let invalidate = async |name: &str| kit.services.namespaces.invalidate_all(&[name.to_owned()]).await;
        assert_eq!(invalidate("other").await, Ok(0));
        assert_eq!(orders.post(json!({})).await.unwrap(), first);
        assert_eq!(invalidate("b").await, Ok(1));
        assert_ne!(orders.post(json!({})).await.unwrap(), first);
        let running = orders.clone();
        let running = actix_rt::spawn(async move { running.post(json!({"hold": true})).await });
        kit.hold.wait_for_entries(1).await;
        assert_eq!(invalidate("a").await, Ok(1));
        (0..2).for_each(|_| kit.hold.release());
        let stale = running.await.unwrap().unwrap();
        assert_ne!(orders.post(json!({"hold": true})).await.unwrap(), stale);
        store.is_away.store(true, Ordering::SeqCst);
        assert!(invalidate("a").await.is_err());
    });
}
