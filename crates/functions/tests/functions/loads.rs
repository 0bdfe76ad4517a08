//! Tests that every input the checks accept can be loaded. Excluded are declared secrets, which are looked up
//! only if the workflow is served.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use crate::support::{SHARED, compile, engine, problems};

fn right() -> Vec<(&'static str, Value)> {
    let key = json!({"algorithm": "HS256", "key": SHARED, "kid": "k", "key_encoding": "utf8"});
    vec![
        (
            "crypto",
            json!({"op": "hash", "algorithm": "md5", "data": {"var": "data.x"}, "input_encoding": "hex", "encoding": "base64"}),
        ),
        ("crypto", json!({"op": "hmac", "data": "d", "key": SHARED, "key_encoding": "base64"})),
        (
            "crypto",
            json!({"op": "hmac_verify", "data": [1], "key": "env://KEY", "signature": "00", "output": "data.x"}),
        ),
        (
            "crypto",
            json!({"op": "password_hash", "password": "p", "params": {"memory_kib": 8192, "iterations": 1, "parallelism": 1}}),
        ),
        (
            "crypto",
            json!({"op": "password_hash", "algorithm": "bcrypt", "password": "p", "params": {"cost": 10}}),
        ),
        ("crypto", json!({"op": "password_verify", "password": "p", "hash": {"var": ["data.h", ""]}})),
        (
            "jwt_sign",
            json!({"algorithm": "HS256", "key": SHARED, "claims": {"a": {"var": "data.x"}, "exp": 1}, "kid": "k",
            "issuer": "i", "audience": ["a"], "not_before": "1s"}),
        ),
        ("jwt_sign", json!({"algorithm": "HS512", "key": SHARED, "expires_in": "5m"})),
        (
            "jwt_verify",
            json!({"token": {"var": "data.t"}, "algorithms": ["HS256"], "keys": [key], "issuer": "env://ISSUER",
            "audience": ["a"], "leeway_secs": 5, "require_exp": false}),
        ),
        (
            "jwt_verify",
            json!({"token": "t", "algorithms": ["RS256", "HS256"], "jwks_url": "https://keys.example/set"}),
        ),
    ]
}

fn odd() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!(""),
        json!(" "),
        json!("x"),
        json!("HS384"),
        json!("RS256"),
        json!("none"),
        json!("hex"),
        json!("1w"),
        json!("http://keys.example"),
        json!("env://BLANK"),
        json!([]),
        json!([null]),
        json!([[]]),
        json!({}),
        json!({"var": ""}),
        json!({"var": [1, 2, 3]}),
        json!({"cat": ["a"]}),
    ]
}

fn nth<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, left)),
        Value::Object(members) => members.values_mut().find_map(|member| nth(member, left)),
        _ => None,
    }
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(members) => members.values().map(size).sum(),
        _ => 0,
    }
}

#[test]
fn valid_inputs_have_no_problems() {
    for (function, input) in right() {
        assert_eq!(problems(function, &input), [], "{input}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn an_input_without_problems_compiles(
        (function, mut input) in select(right()),
        replaced in prop::collection::vec((any::<Index>(), select(odd())), 0..3),
    ) {
        for (place, value) in replaced {
            let mut left = place.index(size(&input) - 1) + 1;
            *nth(&mut input, &mut left).unwrap_or(&mut Value::Null) = value;
        }
        if problems(function, &input).is_empty() {
            let compiled = compile(&engine(), function, &input).map(drop);
            prop_assert_eq!(compiled, Ok(()), "{} {}", function, input);
        }
    }
}
