//! Tests of secret fields: the sources of their values, and that the values are never shown.

use serde_json::{Value, json};
use svc_engine::ErrorCode;

use crate::support::{SHARED, Sets, call, compile, engine, engine_with, error, run_in};

/// Returns a task of every function with `source` in its secret field.
fn tasks(source: &Value) -> [(&'static str, &'static str, Value); 4] {
    let key = json!([{"algorithm": "HS256", "key": source}]);
    [
        ("crypto", "key", json!({"op": "hmac", "data": "d", "key": source})),
        ("crypto", "key", json!({"op": "hmac_verify", "data": "d", "key": source, "signature": "00"})),
        ("jwt_sign", "key", json!({"algorithm": "HS256", "key": source, "expires_in": 60})),
        ("jwt_verify", "keys[0].key", json!({"token": "a.b.c", "algorithms": ["HS256"], "keys": key})),
    ]
}

#[test]
fn literal_reference_and_declared_secret_are_equal_keys() {
    let results: Vec<_> =
        [json!(SHARED), json!("env://KEY"), json!({"secret": "shared"}), json!({"secret": ["shared"]})]
            .into_iter()
            .map(|key| {
                let code = call("crypto", json!({"op": "hmac", "data": "d", "key": key}), json!({})).unwrap();
                let token = json!({"algorithm": "HS256", "key": key, "expires_in": 60});
                let token = call("jwt_sign", token, json!({})).unwrap();
                let keys = json!([{"algorithm": "HS256", "key": key}]);
                let input = json!({"token": token, "algorithms": ["HS256"], "keys": keys});
                (code, token, call("jwt_verify", input, json!({})).unwrap())
            })
            .collect();
    assert!(results.iter().all(|result| *result == results[0]));
}

#[test]
fn unset_reference_fails_the_task_naming_the_field() {
    for (reference, detail) in [
        ("env://GONE", "env://GONE: the variable is not set"),
        ("env://BLANK", "env://BLANK: the value is blank"),
        (
            "vault://kv/app#key",
            "vault://kv/app#key: not usable here: VAULT_ADDR and VAULT_TOKEN are not both set",
        ),
    ] {
        for (function, field, input) in tasks(&json!(reference)) {
            let error = call(function, input, json!({})).unwrap_err();
            assert_eq!(error.code, ErrorCode::Validation);
            assert_eq!(error.message, format!("{field}: the secret it refers to has no value"));
            assert_eq!(error.detail.as_deref().map(String::as_str), Some(detail), "{function}");
        }
    }
    for (field, value) in [("issuer", json!("env://GONE")), ("audience", json!(["a", "env://GONE"]))] {
        let mut input = json!({"token": "a.b.c", "algorithms": ["HS256"], "keys": [{"algorithm": "HS256", "key": SHARED}]});
        input[field] = value.clone();
        let at = if value.is_array() { format!("{field}[1]") } else { field.to_owned() };
        let expected = (ErrorCode::Validation, format!("{at}: the secret it refers to has no value"));
        assert_eq!(error("jwt_verify", input, json!({})), expected);
    }
}

#[test]
fn undeclared_or_computed_secret_prevents_loading() {
    for (source, why) in [
        (json!({"secret": "other"}), "the secret \"other\" is not declared"),
        (json!({"secret": {"var": "data.name"}}), "a secret is read by a literal name"),
        (json!({"secret": "n"}), "the secret \"n\" is no text"),
    ] {
        for (function, field, input) in tasks(&source) {
            let refused = compile(&engine(), function, &input).map(drop).unwrap_err();
            assert!(refused.ends_with(&format!("{field}: {why}")), "{refused}");
        }
        let input = json!({"token": "t", "algorithms": ["HS256"], "keys": [{"algorithm": "HS256", "key": SHARED}], "issuer": [source]});
        let refused = compile(&engine(), "jwt_verify", &input).map(drop).unwrap_err();
        assert!(refused.ends_with(&format!("issuer[0]: {why}")), "{refused}");
    }
}

#[test]
fn unusable_key_value_fails_the_workflow_load() {
    let engine = engine_with(&[("SHORT", "swordfish")], Sets(None));
    for (function, input, why) in [
        (
            "jwt_sign",
            json!({"algorithm": "HS256", "key": "env://SHORT", "expires_in": 60}),
            "key: HS256 needs a key of at least 32 bytes",
        ),
        (
            "jwt_sign",
            json!({"algorithm": "RS256", "key": "env://SHORT", "expires_in": 60}),
            "key: RS256 needs a private key in PEM that is not encrypted",
        ),
        (
            "jwt_verify",
            json!({"token": "t", "algorithms": ["ES256"], "keys": [{"algorithm": "ES256", "key": "env://SHORT"}]}),
            "keys[0].key: ES256 needs a public key in PEM",
        ),
        (
            "crypto",
            json!({"op": "hmac", "data": "d", "key": "env://SHORT", "key_encoding": "hex"}),
            "key: this is not hexadecimal",
        ),
    ] {
        let refused = compile(&engine, function, &input).map(drop).unwrap_err();
        assert!(refused.ends_with(why) && !refused.contains("swordfish"), "{refused}");
    }
}

#[test]
fn issuers_and_audiences_may_be_secret() {
    for (issuer, named) in [
        (json!("env://ISSUER"), "https://env.example"),
        (json!({"secret": "issuer"}), "https://secret.example"),
        (json!(["x", {"secret": "issuer"}, "env://ISSUER"]), "https://env.example"),
    ] {
        let token = |iss: &str| {
            let input = json!({"algorithm": "HS256", "key": SHARED, "issuer": iss, "expires_in": 60});
            call("jwt_sign", input, json!({})).unwrap()
        };
        let input = |token: Value| json!({"token": token, "algorithms": ["HS256"], "keys": [{"algorithm": "HS256", "key": SHARED}], "issuer": issuer});
        assert_eq!(call("jwt_verify", input(token(named)), json!({})).unwrap()["iss"], named);
        let refused = call("jwt_verify", input(token("https://other.example")), json!({})).unwrap_err();
        assert_eq!(refused.message, "token rejected (issuer_mismatch)");
    }
}

#[test]
fn a_reference_in_the_message_is_text() {
    let input = json!({"token": "a.b.c", "algorithms": ["HS256"], "keys": [{"algorithm": "HS256", "key": SHARED}],
        "issuer": {"var": "data.iss"}});
    let (code, message) = error("jwt_verify", input, json!({"iss": "env://ISSUER"}));
    assert_eq!((code, message.as_str()), (ErrorCode::Function, "token rejected (malformed)"));
}

#[test]
fn run_leaves_no_secret_value_behind() {
    for source in [json!(SHARED), json!("env://KEY"), json!({"secret": "shared"})] {
        for (function, _, mut input) in tasks(&source) {
            input["output"] = json!("data.out");
            let outcome = run_in(&engine(), function, &input, json!({}));
            let left = format!(
                "{:?} {} {} {}",
                outcome,
                serde_json::to_string(&outcome.audit_trail).unwrap(),
                serde_json::to_string(&outcome.errors).unwrap(),
                serde_json::to_string(&outcome.trace).unwrap(),
            );
            assert!(!left.contains(SHARED), "{function}");
            assert!(!left.contains(&hex::encode(SHARED)), "{function}");
        }
    }
    let issuer = json!({"token": "a.b.c", "algorithms": ["HS256"], "issuer": {"secret": "issuer"},
        "keys": [{"algorithm": "HS256", "key": SHARED}]});
    let outcome = run_in(&engine(), "jwt_verify", &issuer, json!({}));
    assert!(!format!("{outcome:?}").contains("secret.example"));
}
