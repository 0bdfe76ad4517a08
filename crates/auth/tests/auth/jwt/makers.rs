//! Tests with tokens of two other implementations (`tests/vectors/generate-tokens`).

use std::sync::Arc;

use serde_json::Value;
use svc_auth::Jwks;
use svc_auth::jwt::JwtVerifier;
use svc_model::config::auth::JwtAlgorithm;
use svc_secrets::EnvironmentResolver;

use super::key_sets::FakeSet;
use super::{ALGORITHMS, auth, build, key, verify};

pub(super) fn vectors() -> [Value; 2] {
    [include_str!("../../vectors/pyjwt.json"), include_str!("../../vectors/jose.json")]
        .map(|text| serde_json::from_str(text).unwrap())
}

/// Returns algorithm, key id, key and token of each vector.
pub(super) fn tokens(vectors: &Value) -> Vec<(JwtAlgorithm, &str, &str, &str)> {
    vectors["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .map(|token| {
            let algorithm = JwtAlgorithm::parse(token["algorithm"].as_str().unwrap()).unwrap();
            let kid = token["kid"].as_str().unwrap();
            (algorithm, kid, token["key"].as_str().unwrap(), token["token"].as_str().unwrap())
        })
        .collect()
}

#[test]
fn static_key_verifies_every_algorithm_and_maker() {
    for vectors in vectors() {
        let tokens = tokens(&vectors);
        assert_eq!(
            tokens.iter().map(|token| token.0).collect::<Vec<_>>(),
            ALGORITHMS,
            "{}",
            vectors["maker"]
        );
        for (algorithm, kid, text, token) in tokens {
            for kid in [Some(kid), None] {
                let mut config = auth(vec![key(algorithm, text, kid)]);
                config.issuers = vec!["https://issuer.example".into()];
                config.audiences = vec!["billing".into()];
                let claims = verify(&build(&config), token);
                assert_eq!(claims.map(Value::Object).as_ref(), Ok(&vectors["claims"]), "{algorithm:?}");
            }
        }
    }
}

#[test]
fn every_key_of_a_published_set_is_used() {
    let [_, vectors] = vectors();
    let keys = Jwks::parse(vectors["jwks"].to_string().as_bytes()).unwrap();
    assert_eq!(keys.len(), 9);
    let set = FakeSet::holding(Some(Arc::new(keys)));
    let mut config = auth(Vec::new());
    config.jwks_url = Some("https://issuer.example/jwks".into());
    let verifier = JwtVerifier::build(&config, &EnvironmentResolver(|_: &str| None), &set).unwrap();
    for (algorithm, _, _, token) in tokens(&vectors) {
        let shared = algorithm.min_key_bytes().is_some();
        assert_eq!(verify(&verifier, token).is_err(), shared, "{algorithm:?}");
    }
    assert_eq!((set.fetch_count(), set.renewal_count()), (0, 0), "the keys were at hand");
}
