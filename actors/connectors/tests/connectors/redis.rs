//! A Redis server that refuses, dies and hangs.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join, join_all};
use redis::Commands;
use serde_json::{Value, json};
use svc_connectors::{BreakerSettings, BreakerState};
use svc_testkit::redis::Redis;
use svc_testkit::state::eventually;

use crate::caches::{read, write};
use crate::kit::{ConnectorWorld, Setup, run, run_in, run_with};

async fn connect(world: &ConnectorWorld, url: &str) {
    world.put("r", "cache", true, json!({"backend": "redis", "url": url, "allow_private_urls": true})).await;
}

/// Does something to a server while the calls of a test go on.
async fn run_meanwhile(redis: &Arc<Redis>, act: fn(&Redis) -> Result<(), String>) {
    let redis = Arc::clone(redis);
    tokio::task::spawn_blocking(move || act(&redis)).await.unwrap().unwrap();
}

fn get() -> Value {
    json!({"connector": "r", "key": "k", "output": "data.found"})
}

#[test]
fn plain_text_is_read_and_databases_are_separate() {
    run(async |world| {
        let Some(redis) = Redis::own() else { return };
        let mut beside = redis::Client::open(redis.url()).unwrap().get_connection().unwrap();
        let _: () = beside.set("k", &b"no \xff json"[..]).unwrap();
        connect(world, redis.url()).await;
        assert_eq!(read(world, "r", json!("k")).await, "no \u{fffd} json");
        write(world, "r", json!({"key": "k", "value": {"a": 1}, "ttl_secs": 60})).await;
        assert_eq!(beside.get::<_, String>("k").unwrap(), r#"{"a":1}"#, "the key is verbatim");
        let left: i64 = beside.ttl("k").unwrap();
        assert!((1..=60).contains(&left), "{left}");
        connect(world, &format!("{}/3", redis.url())).await;
        assert_eq!(read(world, "r", json!("k")).await, Value::Null);
        let probe = world.probe("r").await;
        assert!(probe.reachable && probe.supported && probe.error.is_none(), "{probe:?}");
    });
}

#[test]
fn server_refusal_is_no_outage_and_hides_password() {
    let breakers =
        BreakerSettings { failure_threshold: 1, recovery: Duration::from_secs(3600), max_breakers: 9 };
    run_with(Some(breakers), async |world| {
        let Some(redis) = Redis::own() else { return };
        let mut beside = redis::Client::open(redis.url()).unwrap().get_connection().unwrap();
        let _: () = beside.lpush("k", 1).unwrap();
        connect(world, redis.url()).await;
        let error = world.task_error("cache_read", get(), Value::Null).await;
        assert_eq!((error.code.name(), error.retryable()), ("FUNCTION_ERROR", false));
        assert!(error.message.contains("WRONGTYPE"), "{}", error.message);
        for url in
            [redis.url().replace(":svc@", ":swordfish@"), redis.url().replace(":svc@", "bob:swordfish@")]
        {
            connect(world, &url).await;
            let error = world.task_error("cache_read", get(), Value::Null).await;
            assert_eq!((error.code.name(), error.retryable()), ("FUNCTION_ERROR", false));
            assert!(error.message.starts_with("connector 'r': '127.0.0.1:"), "{}", error.message);
            let probe = world.probe("r").await;
            assert!(!probe.reachable && probe.error.is_some());
            assert!(!format!("{error:?} {probe:?}").contains("swordfish"), "{error:?} {probe:?}");
        }
        connect(world, &redis.url().replace(":svc@", "")).await;
        let error = world.task_error("cache_read", get(), Value::Null).await;
        assert!(error.message.contains("NOAUTH"), "{}", error.message);
        assert_eq!(world.connectors.breakers().unwrap(), [("ch:r".to_owned(), BreakerState::Closed)]);
    });
}

#[test]
fn private_server_is_refused_unless_allowed() {
    run(async |world| {
        for url in ["redis://:swordfish@127.0.0.1:1", "redis://:swordfish@localhost:1"] {
            world.put("r", "cache", true, json!({"backend": "redis", "url": url})).await;
            let error = world.task_error("cache_read", get(), Value::Null).await;
            assert_eq!((error.code.name(), error.retryable()), ("FUNCTION_ERROR", false));
            assert!(error.message.starts_with("SSRF protection: "), "{}", error.message);
        }
        connect(world, "redis://:swordfish@name.invalid").await;
        assert_eq!(world.task_error("cache_read", get(), Value::Null).await.code.name(), "IO_ERROR");
    });
}

#[test]
fn tls_server_must_be_trusted() {
    let Some(redis) = Redis::encrypted() else { return };
    let authority = redis.authority().unwrap().to_owned();
    run_in(Setup { authority, ..Setup::default() }, async |world| {
        connect(world, redis.url()).await;
        write(world, "r", json!({"key": "k", "value": 1})).await;
        assert_eq!(read(world, "r", json!("k")).await, 1);
    });
    run(async |world| {
        connect(world, redis.url()).await;
        let error = world.task_error("cache_read", get(), Value::Null).await;
        assert_eq!(error.code.name(), "IO_ERROR", "{}", error.message);
        assert!(error.message.contains("certificate"), "{}", error.message);
    });
}

#[test]
fn server_death_opens_breaker_and_return_closes_it() {
    let breakers =
        BreakerSettings { failure_threshold: 3, recovery: Duration::from_millis(50), max_breakers: 9 };
    run_with(Some(breakers), async |world| {
        let Some(redis) = Redis::own().map(Arc::new) else { return };
        connect(world, redis.url()).await;
        let state = || world.connectors.breakers().unwrap()[0].1;
        write(world, "r", json!({"key": "k", "value": 1})).await;
        let is_over = Cell::new(false);
        let caller = async || {
            let (mut served, mut failed) = (0, 0);
            while !is_over.get() {
                let outcome = world.task("cache_read", get(), Value::Null).await;
                match outcome.failure {
                    None => served += 1,
                    Some(failure) => {
                        let code = failure.error.code.name();
                        let due = ["IO_ERROR", "TIMEOUT_ERROR", "circuit_open"].contains(&code);
                        assert!(due && failure.error.retryable(), "{:?}", failure.error);
                        failed += 1;
                    }
                }
                tokio::task::yield_now().await;
            }
            (served, failed)
        };
        let outage = async {
            run_meanwhile(&redis, Redis::stop).await;
            eventually("the breaker is open", async || state() == BreakerState::Open).await;
            run_meanwhile(&redis, Redis::restart).await;
            eventually("the breaker is closed", async || state() == BreakerState::Closed).await;
            is_over.set(true);
        };
        let (calls, ()) = join(join_all((0..8).map(|_| caller())), outage).await;
        let (served, failed) = calls.iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        assert!(served > 0 && failed > 0, "{served} served, {failed} failed");
        write(world, "r", json!({"key": "k", "value": 2})).await;
        assert_eq!(read(world, "r", json!("k")).await, 2, "healed");
    });
}

#[test]
fn hanging_server_costs_callers_bounded_time() {
    run(async |world| {
        let Some(redis) = Redis::own() else { return };
        connect(world, redis.url()).await;
        write(world, "r", json!({"key": "k", "value": 1})).await;
        redis.hang().unwrap();
        // All wait at the same time: the first on the existing connection, those after it on a new one. The
        // time limit of the test bounds them together.
        let errors = join_all((0..20).map(|_| world.task_error("cache_read", get(), Value::Null))).await;
        assert!(errors.iter().all(|error| error.code.name() == "TIMEOUT_ERROR"), "{errors:?}");
        let error = world.task_error("cache_read", get(), Value::Null).await;
        assert_eq!((error.code.name(), error.retryable()), ("TIMEOUT_ERROR", true));
        redis.resume().unwrap();
        assert_eq!(read(world, "r", json!("k")).await, 1, "healed");
    });
}

#[test]
fn an_idle_connection_that_ended_costs_nobody_a_call() {
    run(async |world| {
        let Some(redis) = Redis::own() else { return };
        connect(world, redis.url()).await;
        write(world, "r", json!({"key": "k", "value": 1})).await;
        redis.stop().unwrap();
        redis.restart().unwrap();
        assert_eq!(read(world, "r", json!("k")).await, Value::Null, "the new server knows nothing");
    });
}
