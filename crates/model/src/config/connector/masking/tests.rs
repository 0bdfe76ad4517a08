use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::mask::{MASK, holds_mask};

#[test]
fn no_value_but_under_the_known_keys_is_shown() {
    let config = json!({"url": "https://bob:swordfish@h/v1?key=swordfish&a=1", "connection_string": "postgres://u:swordfish@h/d",
        "auth": {"type": "basic", "username": "bob", "password": "swordfish", "pin": 1234}, "retry": {"max_retries": 3},
        "headers": {"type": "swordfish", "X-Ref": "env://X"}, "query_params": {"url": "swordfish", "n": 7},
        "auth2": {"extra_params": {"scope": {"type": "swordfish"}}, "account_id": "acc", "refresh_token": "swordfish"},
        "deep": [{"x": "swordfish"}, true, null, {}, []], "ref": "env://PW", "brokers": ["a:1"], "unknown": 1, "empty": ""});
    assert_eq!(
        mask_connector_config(&config),
        json!({"url": "https://bob:******@h/v1?key=******&a=1", "connection_string": MASK,
            "auth": {"type": "basic", "username": "bob", "password": MASK, "pin": MASK}, "retry": {"max_retries": 3},
            "headers": {"type": MASK, "X-Ref": "env://X"}, "query_params": {"url": MASK, "n": MASK},
            "auth2": {"extra_params": {"scope": {"type": MASK}}, "account_id": "acc", "refresh_token": MASK},
            "deep": [{"x": MASK}, MASK, null, {}, []], "ref": "env://PW", "brokers": ["a:1"], "unknown": MASK, "empty": MASK})
    );
}

#[test]
fn values_of_declared_keys_without_secrets_are_shown() {
    let config =
        json!({"max_result_bytes": 1048576, "max_connections": 5, "provider": "s3", "default_ttl_secs": 5});
    assert_eq!(mask_connector_config(&config), config);
}

#[test]
fn signature_is_shown_without_its_secrets() {
    let sign = |secret: &str| {
        json!({"sign": {"preset": "slack", "secret": secret, "secrets": [secret, "env://NEXT"], "header": "x-sig",
            "timestamp": "x-time", "id": "x-id", "message": "{body}"}, "allow_urls": ["https:8443"]})
    };
    assert_eq!(mask_connector_config(&sign("swordfish")), sign(MASK));
}

#[test]
fn secrets_are_hidden_in_every_block() {
    let hidden = CONNECTORS.iter().flat_map(|connector| connector.blocks).flat_map(|block| block.keys);
    let mut hidden: Vec<_> = hidden.filter(|key| key.is_secret).map(|key| key.name).collect();
    hidden.sort_unstable();
    hidden.dedup();
    assert_eq!(
        hidden,
        [
            "access_key",
            "client_secret",
            "connection_string",
            "extra_params",
            "headers",
            "key",
            "password",
            "query_params",
            "refresh_token",
            "sasl_password",
            "secret",
            "secret_key",
            "secrets",
            "session_token",
            "token",
        ]
    );
    for name in hidden {
        assert_eq!(mask_connector_config(&json!({name: "swordfish"})), json!({name: MASK}));
    }
}

#[test]
fn only_valid_references_are_shown() {
    let config = json!({"password": "vault://kv/a#b", "connection_string": "env://DB", "headers": {"k": "aws-sm://x"}});
    assert_eq!(mask_connector_config(&config), config);
    assert_eq!(mask_connector_config(&json!({"password": "env://my-p4ss"})), json!({"password": MASK}));
}

#[test]
fn mask_is_restored_only_at_its_path() {
    let stored = json!({"url": "https://u:pw@h", "headers": {"a": "one", "b": "two"}, "list": ["x", 5], "ref": "env://R"});
    let restored = |mut sent: Value| {
        restore_connector_config(&mut sent, &stored);
        sent
    };
    for (sent, expected) in [
        (json!({"url": "https://u:******@h/v2"}), json!({"url": "https://u:pw@h/v2"})),
        (json!({"headers": {"a": "new", "b": MASK}}), json!({"headers": {"a": "new", "b": "two"}})),
        (json!({"list": [MASK, MASK, MASK]}), json!({"list": ["x", 5, MASK]})),
        (json!({"ref": MASK, "headers": {"c": MASK}}), json!({"ref": MASK, "headers": {"c": MASK}})),
        (json!({"a": MASK, "headers": MASK}), json!({"a": MASK, "headers": MASK})),
    ] {
        assert_eq!(restored(sent), expected);
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,6}",
        "(https?|redis)://([a-z]{0,3}(:[a-z@/?&=]{0,4})?@)?[a-z]{1,3}(:[0-9]{1,3})?(/[a-z?&=]{0,6})?(\\?((a|key|sig|token)=[a-z&?#@:/]{0,4}&?){0,3})?",
        Just("env://NAME".to_owned()),
        Just("vault://a:b@c?key=d#e".to_owned()),
        "[ -~]{0,24}",
    ]
}

fn key() -> impl Strategy<Value = String> {
    let names =
        ["url", "host", "brokers", "auth", "password", "headers", "type", "extra_params", "max_retries"];
    prop_oneof![proptest::sample::select(names.to_vec()).prop_map(str::to_owned), "[a-z]{1,3}"]
}

fn config() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => text().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(key(), inner, 0..5).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

fn has_mask(value: &Value) -> bool {
    match value {
        Value::String(text) => holds_mask(text) || text.contains(MASK),
        Value::Array(items) => items.iter().any(has_mask),
        Value::Object(members) => members.values().any(has_mask),
        _ => false,
    }
}

proptest! {
    #[test]
    fn shown_config_sent_back_changes_nothing(config in config()) {
        prop_assume!(!has_mask(&config));
        let mut update = mask_connector_config(&config);
        restore_connector_config(&mut update, &config);
        prop_assert_eq!(update, config);
    }

    #[test]
    fn masking_twice_hides_no_more(config in config()) {
        let once = mask_connector_config(&config);
        prop_assert_eq!(mask_connector_config(&once), once);
    }
}
