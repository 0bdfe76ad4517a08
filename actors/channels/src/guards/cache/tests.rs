use bytes::Bytes;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn key(fields: Option<&[&str]>, payload: &Value) -> Option<CacheKey> {
    let fields: Option<Vec<String>> = fields.map(|names| names.iter().map(|&name| name.to_owned()).collect());
    let keys = CacheKeyBuilder::new("orders", fields.as_deref());
    keys.key(KeyPrincipal::Everyone, &Map::new(), payload)
}

fn whole(payload: &Value) -> CacheKey {
    key(None, payload).unwrap()
}

/// The same value as another author would have written it: members in another order.
fn reverse_members(value: &Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members.iter().rev().map(|(key, value)| (key.clone(), reverse_members(value))).collect(),
        ),
        Value::Array(items) => items.iter().map(reverse_members).collect(),
        other => other.clone(),
    }
}

fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..3).prop_map(Value::from),
        (-3i64..3).prop_map(|n| Value::from(n as f64)),
        "[ab\\[{\"0]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[ab]{0,2}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn the_order_of_members_and_blanks_do_not_matter(document in documents()) {
        let blanks = serde_json::to_string_pretty(&reverse_members(&document)).unwrap();
        let other: Value = serde_json::from_str(&blanks).unwrap();
        prop_assert_eq!(whole(&document), whole(&other));
    }

    #[test]
    fn different_values_have_different_keys(one in documents(), other in documents()) {
        // `==` of values ignores the order of members, and tells 1 from 1.0.
        prop_assert_eq!(one == other, whole(&one) == whole(&other));
    }
}

#[test]
fn every_part_of_the_request_takes_part() {
    use KeyPrincipal::{Everyone, Known};
    let key = |channel: &str, principal, metadata: Value, payload: Value| {
        CacheKeyBuilder::new(channel, None).key(principal, metadata.as_object().unwrap(), &payload)
    };
    let fact = |name: &str, value: Value| {
        let mut facts = json!({"http_method": "POST", "params": {}, "query": {}});
        facts[name] = value;
        facts
    };
    let (post, payload, none) = (fact("http_method", json!("POST")), json!({"a": 1}), json!({}));
    let keys = [
        key("a", Everyone, post.clone(), payload.clone()),
        key("a", Everyone, fact("http_method", json!("PUT")), payload.clone()),
        key("a", Everyone, fact("params", json!({"id": "1"})), payload.clone()),
        key("a", Everyone, fact("query", json!({"id": "1"})), payload.clone()),
        key("a", Everyone, fact("query", json!("id")), payload.clone()),
        key("a", Everyone, fact("tenant", json!("one")), payload.clone()),
        key("a", Everyone, fact("tenant", json!("two")), payload.clone()),
        key("a", Everyone, post.clone(), json!({"a": 2})),
        key("a", Everyone, post, json!({"a": 1.0})),
        key("a", Everyone, none.clone(), payload.clone()),
        key("a", Known([1; 16]), none.clone(), payload.clone()),
        key("a", Known([2; 16]), none.clone(), payload.clone()),
        key("b", Everyone, none.clone(), payload.clone()),
        key("aPOST", Everyone, json!({"http_method": ""}), payload.clone()),
    ];
    let distinct: std::collections::HashSet<_> = keys.iter().map(|key| key.unwrap()).collect();
    assert_eq!(distinct.len(), keys.len());
    let (one, other) = (json!({"x": "1", "y": "2"}), json!({"y": "2", "x": "1"}));
    let with = |facts: Value| {
        key("a", Everyone, json!({"http_method": "GET", "params": facts, "query": facts}), payload.clone())
    };
    assert_eq!(with(one), with(other));
    assert_eq!(key("a", KeyPrincipal::Unknown, none, payload), None);
}

#[test]
fn stamped_metadata_is_no_part_of_the_key() {
    let key = |metadata: Value| {
        CacheKeyBuilder::new("a", None).key(KeyPrincipal::Everyone, metadata.as_object().unwrap(), &json!({}))
    };
    let stamped =
        json!({"headers": {"x": "1"}, "cookies": {"c": "1"}, "auth": {}, "vars": {}, "channel": "a"});
    assert_eq!(key(stamped), key(json!({})));
}

#[test]
fn field_is_found_as_key_then_by_path() {
    let document = json!({
        "order.id": 1, "order": {"id": 2, "lines": [{"sku": "a"}]}, "data": {"customer": 3}, "customer": 4, "nothing": null
    });
    for (name, found) in [
        ("order.id", Some(json!(1))),
        ("order.lines.0.sku", Some(json!("a"))),
        ("data.order.lines", Some(json!([{"sku": "a"}]))),
        ("data.customer", Some(json!(3))),
        ("nothing", Some(Value::Null)),
        ("absent", None),
        ("order.lines.7", None),
        ("data.absent", None),
    ] {
        assert_eq!(Field::new(name).find(&document), found.as_ref(), "{name}");
    }
}

#[test]
fn cache_key_has_only_the_declared_fields() {
    let fields: &[&str] = &["a", "b.c"];
    let one = key(Some(fields), &json!({"a": 1, "b": {"c": 2, "d": 3}, "e": 4}));
    assert_eq!(one, key(Some(fields), &json!({"a": 1, "b": {"c": 2}})));
    assert_ne!(one, key(Some(fields), &json!({"a": 1})));
    let (missing, null) = (json!({"a": 1}), json!({"a": 1, "b": {"c": null}}));
    assert_ne!(key(Some(fields), &missing), key(Some(fields), &null), "null is a value");
    for none in [json!({"e": 1}), json!([1]), json!(null), json!("a")] {
        assert_eq!(key(Some(fields), &none), None, "{none}");
    }
}

fn answer(size: usize) -> ChannelResponse {
    ChannelResponse {
        status: 201,
        headers: vec![("location".into(), "/x".into())],
        body: Bytes::from(vec![b'x'; size]),
        is_guess: false,
        is_envelope: false,
    }
}

#[tokio::test(start_paused = true)]
async fn cached_answer_is_replayed_until_it_expires() {
    let (cache, key) = (ResponseCache::new(Duration::from_secs(5), 10), whole(&json!(1)));
    assert_eq!(cache.get(&key, None), None);
    cache.put(key, &answer(3), None);
    tokio::time::advance(Duration::from_millis(4_999)).await;
    assert_eq!(cache.get(&key, None), Some((answer(3), Duration::from_millis(4_999))));
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(cache.get(&key, None), None);
    cache.put(key, &answer(4), None);
    assert_eq!(cache.get(&key, None), Some((answer(4), Duration::ZERO)));
}

#[test]
fn an_answer_that_sets_a_cookie_is_not_kept() {
    let (cache, key) = (ResponseCache::new(Duration::from_secs(5), 10), whole(&json!(1)));
    let mut cookie = answer(1);
    cookie.headers.push(("set-cookie".into(), "a=b".into()));
    cache.put(key, &cookie, None);
    assert_eq!(cache.get(&key, None), None);
}

#[test]
fn entries_and_bytes_are_bounded() {
    let fill = |max_entries, size| {
        let cache = ResponseCache::new(Duration::from_secs(5), max_entries);
        for n in 0..500 {
            cache.put(whole(&json!(n)), &answer(size), None);
        }
        cache.entries.run_pending_tasks();
        (cache.entries.entry_count(), cache.entries.weighted_size())
    };
    assert_eq!(fill(100, 10).0, 100);
    assert_eq!(fill(0, 10).0, 500);
    let (entries, bytes) = fill(0, 1 << 20);
    assert!(
        (32..64).contains(&entries) && bytes <= AnswerBound::new(0).capacity,
        "{entries} entries, {bytes} bytes"
    );
}

#[test]
fn expired_responses_are_removed_without_a_request() {
    let cache = ResponseCache::new(Duration::from_secs(1), 0);
    cache.put(whole(&json!({"n": 1})), &answer(1), None);
    cache.remove_expired();
    assert_eq!(cache.entries.entry_count(), 1);
    let deadline = Instant::now() + Duration::from_secs(30);
    while cache.entries.entry_count() > 0 {
        assert!(Instant::now() < deadline, "the response is still there");
        cache.remove_expired();
        std::thread::yield_now();
    }
}
