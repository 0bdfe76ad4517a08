//! The behaviour of caches, the same for every backend.

use futures_util::future::join_all;
use serde_json::{Value, json};
use svc_testkit::redis::Redis;
use svc_testkit::state::eventually;

use crate::kit::{ConnectorWorld, Setup, run, run_in};

/// Runs a test over a cache in memory, then over one in Redis if there is one.
fn for_each_cache(test: impl AsyncFn(&ConnectorWorld, &str)) {
    run(async |world| {
        world.put("memory", "cache", true, json!({"backend": "memory"})).await;
        test(world, "memory").await;
        let Some(redis) = Redis::own() else { return };
        let config = json!({"backend": "redis", "url": redis.url(), "allow_private_urls": true});
        world.put("redis", "cache", true, config).await;
        test(world, "redis").await;
    });
}

pub(crate) async fn read(world: &ConnectorWorld, connector: &str, key: Value) -> Value {
    let input = json!({"connector": connector, "key": key, "output": "data.found"});
    world.run_task("cache_read", input, Value::Null).await["found"].take()
}

pub(crate) async fn write(world: &ConnectorWorld, connector: &str, more: Value) {
    let mut input = json!({"connector": connector});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    assert_eq!(world.run_task("cache_write", input, Value::Null).await, json!({}), "it writes no data");
}

#[test]
fn written_value_is_read_and_miss_is_null() {
    for_each_cache(async |world, cache| {
        assert_eq!(read(world, cache, json!("k")).await, Value::Null);
        for value in
            [json!({"b": 1, "a": [null, 1.5, "é"]}), json!("text"), json!("7"), json!(7), json!(false)]
        {
            write(world, cache, json!({"key": "k", "value": value})).await;
            assert_eq!(read(world, cache, json!("k")).await, value, "{cache}");
        }
        assert_eq!(read(world, cache, json!("other")).await, Value::Null);
    });
}

#[test]
fn keys_and_values_are_folded_over_the_message() {
    for_each_cache(async |world, cache| {
        let input = json!({"connector": cache, "key": {"var": "payload.id"}, "value": {"of": {"var": "payload"}},
            "ttl_secs": {"var": "payload.ttl"}});
        let payload = json!({"id": 7, "ttl": 60.0});
        world.run_task("cache_write", input.clone(), payload.clone()).await;
        assert_eq!(read(world, cache, json!("7")).await, json!({"of": payload}));
        for (payload, named) in [
            (json!({"id": [1]}), "key: "),
            (json!({}), "key: required"),
            (json!({"id": 1, "ttl": -1}), "ttl_secs: "),
            (json!({"id": 1, "ttl": 0.5}), "ttl_secs: "),
        ] {
            let error = world.task_error("cache_write", input.clone(), payload).await;
            assert_eq!(error.code.name(), "VALIDATION_ERROR");
            assert!(error.message.starts_with(named), "{}", error.message);
        }
    });
}

#[test]
fn scalars_may_be_computed() {
    for_each_cache(async |world, cache| {
        let input = json!({"connector": cache, "key": {"cat": ["user:", {"var": "payload.id"}]}, "value": 1,
            "ttl_secs": {"*": [{"var": "payload.minutes"}, 60]}});
        world.run_task("cache_write", input.clone(), json!({"id": 7, "minutes": 5})).await;
        assert_eq!(read(world, cache, json!("user:7")).await, 1);
        let error = world.task_error("cache_write", input.clone(), json!({"id": 7, "minutes": -1})).await;
        assert!(error.message.starts_with("ttl_secs: "), "{}", error.message);
        let error = world.task_error("cache_write", input, json!({"id": 7, "minutes": "x"})).await;
        assert_eq!(error.code.name(), "LOGIC_ERROR", "{}", error.message);
        let list = json!({"connector": cache, "key": {"merge": [[1], {"var": "payload"}]}});
        let error = world.task_error("cache_read", list, json!([2])).await;
        assert_eq!(error.code.name(), "VALIDATION_ERROR", "{}", error.message);
        let secret = json!({"connector": cache, "key": {"cat": ["k", {"secret": "partner"}]}});
        let refused = world.refusal("cache_read", secret).unwrap();
        assert!(refused.contains("key: ") && refused.contains("secret"), "{refused}");
    });
}

#[test]
fn an_entry_is_gone_when_its_time_is_over() {
    for_each_cache(async |world, cache| {
        write(world, cache, json!({"key": "long", "value": 1, "ttl_secs": 3600})).await;
        write(world, cache, json!({"key": "short", "value": 1, "ttl_secs": 1})).await;
        eventually("the entry expires", async || read(world, cache, json!("short")).await.is_null()).await;
        assert_eq!(read(world, cache, json!("long")).await, 1);
        write(world, cache, json!({"key": "long", "value": 2, "ttl_secs": 0})).await;
        assert_eq!(read(world, cache, json!("long")).await, Value::Null, "no time to live is no entry");
    });
}

#[test]
fn several_keys_are_read_in_their_order() {
    for_each_cache(async |world, cache| {
        write(world, cache, json!({"key": "a", "value": {"n": 1}})).await;
        write(world, cache, json!({"key": "2", "value": "two"})).await;
        let input = json!({"connector": cache, "keys": [{"var": "payload.first"}, "none", 2, "a"], "output": "data.found"});
        let data = world.run_task("cache_read", input, json!({"first": "a"})).await;
        assert_eq!(data, json!({"found": [{"n": 1}, null, "two", {"n": 1}]}), "{cache}");
        let input = json!({"connector": cache, "keys": {"var": "payload"}, "output": "data.found"});
        let data = world.run_task("cache_read", input.clone(), json!([])).await;
        assert_eq!(data, json!({"found": []}));
        for keys in [
            json!([{"lower": "A"}, {"cat": ["no", "ne"]}, {"var": "payload"}]),
            json!({"merge": ["a", "none", {"var": "payload"}]}),
        ] {
            let input = json!({"connector": cache, "keys": keys, "output": "data.found"});
            let data = world.run_task("cache_read", input, json!(2)).await;
            assert_eq!(data, json!({"found": [{"n": 1}, null, "two"]}), "{keys}");
        }
        for (payload, named) in [
            (json!(vec!["k"; 1001]), "keys: 1001 keys are more than 1000"),
            (json!(["k", null]), "keys: [1]: expected string, got null"),
        ] {
            let error = world.task_error("cache_read", input.clone(), payload).await;
            assert_eq!((error.code.name(), error.message.as_str()), ("VALIDATION_ERROR", named));
        }
    });
}

#[test]
fn deleted_keys_are_counted_and_gone() {
    for_each_cache(async |world, cache| {
        for key in ["a", "b", "c"] {
            write(world, cache, json!({"key": key, "value": 1})).await;
        }
        let input = json!({"connector": cache, "keys": ["a", "none", "b"], "output": "data.gone"});
        assert_eq!(
            world.run_task("cache_delete", input, Value::Null).await,
            json!({"gone": {"deleted": 2}}),
            "{cache}"
        );
        let input = json!({"connector": cache, "keys": []});
        assert_eq!(world.run_task("cache_delete", input, Value::Null).await, json!({}));
        assert_eq!(read(world, cache, json!("a")).await, Value::Null);
        assert_eq!(read(world, cache, json!("c")).await, 1);
    });
}

async fn add(world: &ConnectorWorld, connector: &str, more: Value) -> Value {
    let mut input = json!({"connector": connector, "key": "count", "output": "data.sum"});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    world.run_task("cache_incr", input, Value::Null).await["sum"].take()
}

#[test]
fn sum_is_exact_and_expires_as_created() {
    for_each_cache(async |world, cache| {
        assert_eq!(add(world, cache, json!({})).await, 1);
        assert_eq!(add(world, cache, json!({"by": -3})).await, -2);
        let large = 9_007_199_254_740_993_i64;
        assert_eq!(add(world, cache, json!({"by": large})).await, large - 2, "{cache}");
        assert_eq!(read(world, cache, json!("count")).await, large - 2);
        for input in [json!({"key": "text"}), json!({"key": "count", "by": i64::MAX})] {
            write(world, cache, json!({"key": "text", "value": "t"})).await;
            let mut input = input;
            input["connector"] = json!(cache);
            let error = world.task_error("cache_incr", input, Value::Null).await;
            assert_eq!(
                (error.code.name(), error.retryable()),
                ("FUNCTION_ERROR", false),
                "{}",
                error.message
            );
        }
        assert_eq!(add(world, cache, json!({"key": "short", "ttl_secs": 1})).await, 1);
        let ends = async || add(world, cache, json!({"key": "short", "ttl_secs": 1})).await == 1;
        eventually("the counter begins anew", ends).await;
    });
}

#[test]
fn concurrent_sums_lose_no_increment() {
    for_each_cache(async |world, cache| {
        let sums = join_all((0..50).map(|_| add(world, cache, json!({})))).await;
        let mut sums: Vec<_> = sums.iter().map(|sum| sum.as_i64().unwrap()).collect();
        sums.sort_unstable();
        assert_eq!(sums, (1..=50).collect::<Vec<_>>(), "{cache}");
    });
}

#[test]
fn operation_that_connector_disallows_is_refused() {
    run(async |world| {
        let config = json!({"backend": "memory", "operations": {"write": false}});
        world.put("m", "cache", true, config).await;
        let error = world
            .task_error("cache_write", json!({"connector": "m", "key": "k", "value": 1}), Value::Null)
            .await;
        assert_eq!(error.code.name(), "connector_detail");
        assert_eq!(error.message, "connector 'm' does not allow the operation write");
        for (function, input) in [
            ("cache_delete", json!({"connector": "m", "keys": ["k"]})),
            ("cache_incr", json!({"connector": "m", "key": "k"})),
        ] {
            let error = world.task_error(function, input, Value::Null).await;
            assert_eq!(error.message, "connector 'm' does not allow the operation write");
        }
        assert_eq!(read(world, "m", json!("k")).await, Value::Null);
        world.put("h", "http", true, json!({"url": "http://localhost:1"})).await;
        let error = world.task_error("cache_read", json!({"connector": "h", "key": "k"}), Value::Null).await;
        assert_eq!(error.code.name(), "connector_detail");
        assert_eq!(error.message, "connector 'h' is not of type cache");
    });
}

#[test]
fn memory_entries_belong_to_one_unchanged_connector() {
    run(async |world| {
        for name in ["one", "other"] {
            world.put(name, "cache", true, json!({"backend": "memory"})).await;
        }
        write(world, "one", json!({"key": "k", "value": 1})).await;
        assert_eq!(read(world, "other", json!("k")).await, Value::Null);
        world.connectors.reload(svc_connectors::ConnectorScope::All).await.unwrap();
        assert_eq!(read(world, "one", json!("k")).await, 1, "a reload that finds the same keeps them");
        world.put("one", "cache", true, json!({"backend": "memory", "operations": {"read": true}})).await;
        assert_eq!(read(world, "one", json!("k")).await, Value::Null, "a change begins with none");
        assert!(world.probe("one").await.reachable);
    });
}

#[test]
fn memory_cache_returns_to_bound_after_burst() {
    run_in(Setup { memory_entries: Some(10), ..Setup::default() }, async |world| {
        world.put("memory", "cache", true, json!({"backend": "memory"})).await;
        for key in 0..60 {
            write(world, "memory", json!({"key": key.to_string(), "value": key})).await;
        }
        // The sweep of expired entries is a minute away, longer than the wait may take.
        let within_bound = async || {
            let mut held = 0;
            for key in 0..60 {
                held += usize::from(!read(world, "memory", json!(key.to_string())).await.is_null());
            }
            assert!(held > 0);
            held <= 10
        };
        eventually("the cache is within its bound", within_bound).await;
    });
}
