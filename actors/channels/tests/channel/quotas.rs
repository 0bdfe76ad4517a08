//! Quotas: requests of a key within a window.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_supervision::Universe;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use svc_channels::{CacheError, CallQuotas, QuotaKey, QuotaStore, ReservedCalls, Settings};
use svc_model::config::QuotaTerms;
use svc_model::{Code, ServiceError};

use crate::kit::{Kit, Orders, empty_workflow, http};

/// Counts in memory, in one window that a test ends.
#[derive(Default)]
struct TestQuotas {
    used: Mutex<HashMap<String, u64>>,
    is_away: AtomicBool,
}

const LEFT: Duration = Duration::from_secs(30);

impl QuotaStore for TestQuotas {
    fn reserve(
        &self,
        QuotaKey { key, .. }: QuotaKey,
        terms: QuotaTerms,
    ) -> BoxFuture<'_, Result<ReservedCalls, CacheError>> {
        if self.is_away.load(Ordering::SeqCst) {
            return Box::pin(async { Err(CacheError::NotDone("away".to_owned())) });
        }
        let mut used = self.used.lock();
        let used = used.entry(key).or_default();
        let count = (terms.limit - *used).min(terms.largest_reservation());
        *used += count;
        Box::pin(async move { Ok(ReservedCalls { count, slice: 1, slice_left: LEFT, window_left: LEFT }) })
    }

    fn give_back(&self, key: QuotaKey, _: i64, count: u64) -> BoxFuture<'_, Result<(), CacheError>> {
        *self.used.lock().entry(key.key).or_default() -= count;
        Box::pin(async { Ok(()) })
    }
}

fn kit() -> (Kit, Arc<TestQuotas>) {
    let (mut kit, store) = (Kit::new(Settings::default()), Arc::<TestQuotas>::default());
    kit.services.quotas = CallQuotas::new(Arc::clone(&store) as Arc<dyn QuotaStore>);
    (kit, store)
}

async fn send(orders: &Orders, agent: &str) -> Result<(), ServiceError> {
    orders.submit(http(json!({}), &[("user-agent", agent)])).await.map(drop)
}

fn quota(limit: u64, more: Value) -> Value {
    let mut block = json!({"limit": limit, "per": "minute"});
    block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "quota": block })
}

#[test]
fn quota_admits_its_limit_per_key() {
    Universe::new(1).run(async |tree| {
        let (kit, store) = kit();
        let config = quota(3, json!({"key_logic": {"var": "headers.user-agent"}}));
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        for agent in ["a", "b"] {
            for _ in 0..3 {
                assert!(send(&orders, agent).await.is_ok());
            }
            let refused = send(&orders, agent).await.unwrap_err();
            assert_eq!((refused.code(), refused.retry_after()), (Code::QuotaExceeded, Some(30)));
        }
        assert_eq!(*store.used.lock(), HashMap::from([("a".to_owned(), 3), ("b".to_owned(), 3)]));
        assert!(orders.post(json!({})).await.is_err(), "a request without a key is refused");
        store.used.lock().clear();
        tokio::time::advance(LEFT).await;
        assert!(send(&orders, "a").await.is_ok(), "a new window");
    });
}

#[test]
fn quota_without_key_counts_addresses_or_principals() {
    Universe::new(1).run(async |tree| {
        let (kit, store) = kit();
        let orders = kit.serve(&tree, quota(1, json!({})), &empty_workflow()).await;
        assert!(send(&orders, "a").await.is_ok() && send(&orders, "b").await.is_err());
        assert!(store.used.lock().contains_key("192.0.2.1"));
    });
    Universe::new(1).run(async |tree| {
        let (kit, store) = kit();
        let mut config = quota(1, json!({}));
        config["auth"] = json!({"mode": "api_key", "header": "x-tenant", "keys": ["one", "two"]});
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        for (tenant, code) in [
            ("one", None),
            ("two", None),
            ("one", Some(Code::QuotaExceeded)),
            ("three", Some(Code::Unauthorized)),
        ] {
            let answer = orders.submit(http(json!({}), &[("x-tenant", tenant)])).await;
            assert_eq!(answer.err().map(|error| error.code()), code, "{tenant}");
        }
        assert!(store.used.lock().keys().all(|key| key.len() == 32), "digests of principals");
    });
}

#[test]
fn credentials_in_keys_are_digests() {
    for (header, auth) in [
        ("authorization", None),
        ("cookie", None),
        ("x-tenant", Some(json!({"mode": "api_key", "header": "x-tenant", "keys": ["one", "two"]}))),
    ] {
        Universe::new(1).run(async |tree| {
            let (kit, store) = kit();
            let mut config =
                quota(1, json!({"key_logic": {"cat": ["of ", {"var": format!("headers.{header}")}]}}));
            if let Some(auth) = auth {
                config["auth"] = auth;
            }
            let orders = kit.serve(&tree, config, &empty_workflow()).await;
            let send = async |key: &str| orders.submit(http(json!({}), &[(header, key)])).await.is_ok();
            assert!(send("one").await && send("two").await && !send("one").await, "{header}");
            let keys: Vec<String> = store.used.lock().keys().cloned().collect();
            assert_eq!(keys.len(), 2, "{keys:?}");
            assert!(keys.iter().all(|key| key.starts_with("of sha256:")), "{keys:?}");
        });
    }
}

#[test]
fn reservation_is_used_up_or_given_back() {
    Universe::new(1).run(async |tree| {
        let (kit, store) = kit();
        let orders = kit.serve(&tree, quota(1000, json!({})), &empty_workflow()).await;
        for sent in 1..=25_u64 {
            assert!(send(&orders, "a").await.is_ok());
            assert_eq!(store.used.lock()["192.0.2.1"], sent.next_multiple_of(10));
        }
        kit.services.quotas.give_back_all().await;
        assert_eq!(store.used.lock()["192.0.2.1"], 25);
    });
}

#[test]
fn ended_slice_returns_its_rest() {
    for (window, used) in [("sliding", 3), ("calendar", 21)] {
        Universe::new(1).run(async |tree| {
            let (kit, store) = kit();
            let orders = kit.serve(&tree, quota(1000, json!({ "window": window })), &empty_workflow()).await;
            for _ in 0..3 {
                assert!(send(&orders, "a").await.is_ok());
                tokio::time::advance(LEFT).await;
            }
            kit.services.quotas.give_back_all().await;
            assert_eq!(store.used.lock()["192.0.2.1"], used, "{window}");
        });
    }
}

#[test]
fn uncounted_request_is_refused() {
    Universe::new(1).run(async |tree| {
        let (kit, store) = kit();
        let orders = kit.serve(&tree, quota(5, json!({})), &empty_workflow()).await;
        store.is_away.store(true, Ordering::SeqCst);
        let refused = send(&orders, "a").await.unwrap_err();
        assert_eq!((refused.code(), refused.retry_after()), (Code::ServiceUnavailable, Some(5)));
        store.is_away.store(false, Ordering::SeqCst);
        assert!(send(&orders, "a").await.is_ok());
    });
    let alone = Kit::new(Settings::default());
    let refused = alone.build(quota(5, json!({})), &empty_workflow()).unwrap_err();
    assert!(refused.contains("no database"), "{refused}");
}
