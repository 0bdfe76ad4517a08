//! Tests of interoperability with tokens of this and other implementations (`tests/vectors/generate`).
//!
//! PyJWT and jose have accepted the tokens in `tokens.json`. For a deterministic signature, the token must be
//! identical today; otherwise both must verify with the same key.

use serde_json::{Value, json};

use crate::support::{SHARED, call};

const ALGORITHMS: [&str; 12] = [
    "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384",
    "EdDSA",
];

fn keys() -> Value {
    serde_json::from_str(include_str!("../vectors/keys.json")).unwrap()
}

fn claims() -> Value {
    json!({"iss": "https://issuer.example", "aud": ["orders", "billing"], "sub": "zoë",
        "iat": 1_700_000_000, "nbf": 1_700_000_000, "exp": 4_102_444_800_i64})
}

fn sign(algorithm: &str, key: &Value) -> String {
    let input = json!({"algorithm": algorithm, "key": key, "kid": "k1", "claims": claims()});
    call("jwt_sign", input, json!({})).unwrap().as_str().unwrap().to_owned()
}

fn verify(algorithm: &str, key: &Value, token: &str) -> Value {
    let input = json!({"token": token, "algorithms": [algorithm], "issuer": "https://issuer.example",
        "audience": "billing", "keys": [{"algorithm": algorithm, "key": key, "kid": "k1"}]});
    call("jwt_verify", input, json!({})).unwrap()
}

#[test]
fn every_form_of_a_private_key_signs() {
    let keys = keys();
    for algorithm in ALGORITHMS {
        let private = keys[algorithm]["private"].as_array().unwrap();
        assert_eq!(private.len(), if algorithm.starts_with("HS") || algorithm == "EdDSA" { 1 } else { 2 });
        for key in private {
            assert_eq!(verify(algorithm, &keys[algorithm]["public"], &sign(algorithm, key)), claims());
        }
    }
}

#[test]
fn tokens_are_those_that_other_makers_accept() {
    let vectors: Value = serde_json::from_str(include_str!("../vectors/tokens.json")).unwrap();
    let accepted = include_str!("../vectors/accepted.txt");
    assert_eq!(accepted, "PyJWT 2.15.1: 12 accepted\njose 6.2.17: 12 accepted\n");
    let (keys, tokens) = (keys(), vectors["tokens"].as_array().unwrap());
    assert_eq!(tokens.len(), ALGORITHMS.len());
    for (entry, algorithm) in tokens.iter().zip(ALGORITHMS) {
        let (accepted, today) =
            (entry["token"].as_str().unwrap(), sign(algorithm, &keys[algorithm]["private"][0]));
        assert_eq!(entry["algorithm"], algorithm);
        assert_eq!(verify(algorithm, &keys[algorithm]["public"], accepted), claims());
        let random = algorithm.starts_with("PS") || algorithm.starts_with("ES");
        assert_eq!(accepted == today, !random, "{algorithm}");
        assert_eq!(accepted.rsplit_once('.').unwrap().0, today.rsplit_once('.').unwrap().0, "{algorithm}");
    }
}

#[test]
fn tokens_of_other_makers_are_verified() {
    for vectors in [
        include_str!("../../../auth/tests/vectors/pyjwt.json"),
        include_str!("../../../auth/tests/vectors/jose.json"),
    ] {
        let vectors: Value = serde_json::from_str(vectors).unwrap();
        let tokens = vectors["tokens"].as_array().unwrap();
        assert_eq!(tokens.len(), ALGORITHMS.len());
        for token in tokens {
            let key = json!({"algorithm": token["algorithm"], "key": token["key"], "kid": token["kid"]});
            let input = json!({"token": token["token"], "algorithms": [token["algorithm"]], "keys": [key]});
            let claims = call("jwt_verify", input, json!({})).unwrap();
            assert_eq!(claims, vectors["claims"], "{} {}", vectors["maker"], token["algorithm"]);
        }
    }
}

#[test]
fn a_shared_secret_is_read_by_its_encoding() {
    let token = sign("HS256", &json!(SHARED));
    for (encoding, key) in [
        ("hex", hex::encode(SHARED)),
        ("base64", base64::Engine::encode(&base64::engine::general_purpose::STANDARD, SHARED)),
    ] {
        let input = json!({"algorithm": "HS256", "key": key, "key_encoding": encoding, "kid": "k1", "claims": claims()});
        assert_eq!(call("jwt_sign", input, json!({})).unwrap(), token.as_str());
        let key = json!({"algorithm": "HS256", "key": key, "key_encoding": encoding});
        let input = json!({"token": token, "algorithms": ["HS256"], "keys": [key]});
        assert_eq!(call("jwt_verify", input, json!({})).unwrap(), claims());
    }
}

#[test]
#[ignore = "writes the tokens that other makers are asked to accept"]
fn tokens_for_other_makers() {
    let keys = keys();
    let tokens: Vec<_> = ALGORITHMS
        .iter()
        .map(|name| json!({"algorithm": name, "token": sign(name, &keys[name]["private"][0])}))
        .collect();
    let document = json!({"claims": claims(), "tokens": tokens});
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/tokens.json");
    std::fs::write(path, format!("{document:#}\n")).unwrap();
}
