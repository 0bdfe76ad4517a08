//! Tests of `jwt_verify`: accepted tokens, and the reasons for refusing others.

use std::sync::Arc;

use serde_json::{Value, json};
use svc_auth::Jwks;
use svc_engine::ErrorCode;

use crate::support::{NOW, SHARED, Sets, call, call_in, engine_with, error, invalid};

fn token(claims: Value) -> String {
    let input = json!({"algorithm": "HS256", "key": SHARED, "kid": "k1", "claims": claims});
    call("jwt_sign", input, json!({})).unwrap().as_str().unwrap().to_owned()
}

fn valid() -> Value {
    json!({"exp": NOW + 60, "iss": "https://issuer.example", "aud": ["orders", "billing"], "sub": "u1"})
}

/// Returns a verifying task with one key and additional fields.
fn task(fields: Value) -> Value {
    let mut task = json!({"token": {"var": "data.token"}, "algorithms": ["HS256"],
        "keys": [{"algorithm": "HS256", "key": SHARED, "kid": "k1"}]});
    for (field, value) in fields.as_object().unwrap() {
        task[field] = value.clone();
    }
    task
}

fn reason(fields: Value, token: Value) -> String {
    let (code, message) = error("jwt_verify", task(fields), json!({"token": token}));
    assert_eq!(code, ErrorCode::Function, "{message}");
    message.strip_prefix("token rejected (").unwrap().strip_suffix(')').unwrap().to_owned()
}

#[test]
fn the_result_is_the_claims() {
    let mut expected = valid();
    expected["iat"] = json!(NOW);
    let claims = call("jwt_verify", task(json!({})), json!({"token": token(valid())})).unwrap();
    assert_eq!(claims, expected);
}

#[test]
fn a_token_is_refused_with_its_reason() {
    let signed = |claims: Value| json!(token(claims));
    let with = |claim: &str, value: Value| {
        let mut claims = valid();
        claims[claim] = value;
        signed(claims)
    };
    let forged = {
        let token = token(valid());
        let flipped = if token.ends_with('A') { 'B' } else { 'A' };
        json!(format!("{}{flipped}{}", &token[..token.len() - 4], &token[token.len() - 3..]))
    };
    let unsigned = "eyJhbGciOiJub25lIn0.e30.";
    for (fields, token, expected) in [
        (json!({}), json!(null), "missing"),
        (json!({}), json!(""), "missing"),
        (json!({}), json!("a".repeat(8193)), "oversized"),
        (json!({}), json!("a".repeat(8192)), "malformed"),
        (json!({}), json!(format!("Bearer {}", token(valid()))), "malformed"),
        (json!({}), json!(unsigned), "alg_rejected"),
        (json!({"algorithms": ["HS384"]}), signed(valid()), "alg_rejected"),
        (
            json!({"keys": [{"algorithm": "HS256", "key": SHARED, "kid": "k2"}]}),
            signed(valid()),
            "unknown_kid",
        ),
        (json!({}), forged, "bad_signature"),
        (json!({"leeway_secs": 0}), with("exp", json!(NOW)), "expired"),
        (json!({}), with("exp", json!(NOW - 30)), "expired"),
        (json!({}), with("nbf", json!(NOW + 31)), "not_yet_valid"),
        (json!({"issuer": "https://other.example"}), signed(valid()), "issuer_mismatch"),
        (json!({"issuer": "https://issuer.example"}), with("iss", json!(7)), "missing_claim"),
        (json!({"audience": ["a", "b"]}), signed(valid()), "audience_mismatch"),
        (json!({"audience": "orders"}), with("aud", json!({"orders": 1})), "missing_claim"),
    ] {
        assert_eq!(reason(fields.clone(), token), expected, "{fields}");
    }
}

#[test]
fn token_without_expiry_is_refused_unless_allowed() {
    // From another implementation, because this service does not create such a token.
    let vectors: Value = serde_json::from_str(include_str!("../vectors/keys.json")).unwrap();
    let key = vectors["HS256"]["public"].as_str().unwrap();
    let endless = include_str!("../vectors/endless.txt").trim();
    let fields = json!({"keys": [{"algorithm": "HS256", "key": key}]});
    assert_eq!(reason(fields.clone(), json!(endless)), "missing_claim");
    let mut allowed = task(fields);
    allowed["require_exp"] = json!(false);
    assert_eq!(call("jwt_verify", allowed, json!({"token": endless})).unwrap(), json!({"sub": "endless"}));
}

#[test]
fn leeway_is_thirty_seconds_unless_said() {
    let expired = json!({"token": token(json!({"exp": NOW - 29}))});
    assert!(call("jwt_verify", task(json!({})), expired.clone()).is_ok());
    assert!(call("jwt_verify", task(json!({"leeway_secs": 10})), expired).is_err());
    let long = json!({"token": token(json!({"exp": NOW - 299}))});
    assert!(call("jwt_verify", task(json!({"leeway_secs": 300})), long).is_ok());
}

#[test]
fn issuers_and_audiences_are_literal_or_from_message() {
    let data = |extra: Value| {
        let mut data = extra;
        data["token"] = json!(token(valid()));
        data
    };
    for (fields, extra) in [
        (json!({"issuer": "https://issuer.example", "audience": "orders"}), json!({})),
        (json!({"issuer": ["https://a.example", "https://issuer.example"]}), json!({})),
        (json!({"issuer": {"var": "data.iss"}}), json!({"iss": "https://issuer.example"})),
        (json!({"issuer": {"var": "data.iss"}}), json!({"iss": [null, "https://issuer.example"]})),
        (json!({"audience": [null, {"var": "data.aud"}, "billing"]}), json!({})),
        (json!({"audience": [{"var": "data.aud"}]}), json!({"aud": ["x", "orders"]})),
        (json!({"issuer": null}), json!({})),
    ] {
        let claims = call("jwt_verify", task(fields.clone()), data(extra));
        assert_eq!(claims.unwrap()["sub"], "u1", "{fields}");
    }
}

#[test]
fn issuer_that_evaluates_to_nothing_fails_verification() {
    for (field, value, expected) in [
        ("issuer", json!(null), "issuer: no value to accept"),
        ("audience", json!([]), "audience: no value to accept"),
        ("audience", json!([null]), "audience: no value to accept"),
        ("issuer", json!(7), "issuer: expected string or array of strings"),
        ("audience", json!([["a"]]), "audience: expected string or array of strings"),
    ] {
        let mut fields = json!({});
        fields[field] = json!({"var": "data.in"});
        let data = json!({"token": token(valid()), "in": value});
        assert_eq!(error("jwt_verify", task(fields), data), invalid(expected));
    }
}

#[test]
fn a_token_of_another_type_is_bad_input() {
    let expected = invalid("token: expected string, got number");
    assert_eq!(error("jwt_verify", task(json!({})), json!({"token": 5})), expected);
}

#[test]
fn keys_of_a_published_set_are_used_and_missed() {
    let vectors: Value = serde_json::from_str(include_str!("../../../auth/tests/vectors/jose.json")).unwrap();
    let jwks = Jwks::parse(vectors["jwks"].to_string().as_bytes()).unwrap();
    let of = |algorithm: &str| {
        let tokens = vectors["tokens"].as_array().unwrap();
        tokens.iter().find(|token| token["algorithm"] == algorithm).unwrap()["token"].clone()
    };
    let input = |algorithm: &str| json!({"token": {"var": "data.token"}, "algorithms": [algorithm, "HS256"], "jwks_url": "https://issuer.example/keys"});
    let holding = engine_with(&[], Sets(Some(Arc::new(jwks))));
    for algorithm in ["RS256", "PS512", "ES256", "ES384", "EdDSA"] {
        let claims = call_in(&holding, "jwt_verify", input(algorithm), json!({"token": of(algorithm)}));
        assert_eq!(claims.unwrap(), vectors["claims"], "{algorithm}");
    }
    let rejected = |engine, token: Value| {
        call_in(engine, "jwt_verify", input("RS256"), json!({"token": token})).unwrap_err().message
    };
    assert_eq!(rejected(&holding, of("HS256")), "token rejected (unknown_kid)");
    let none = engine_with(&[], Sets(None));
    assert_eq!(rejected(&none, of("RS256")), "token rejected (keys_unavailable)");
}
