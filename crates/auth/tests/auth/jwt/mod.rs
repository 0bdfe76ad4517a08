//! Tests of tokens.

mod attacks;
mod claims;
mod issuer;
mod key_sets;
mod keys;
mod makers;
mod mutations;
mod sources;
mod wycheproof;

use std::future::Future;

use futures_util::FutureExt;
use serde_json::{Map, Value};
use svc_auth::jwt::JwtVerifier;
use svc_auth::{Identity, KeySet, KeySets, PresentedRequest, RefusalReason};
use svc_model::SecretText;
use svc_model::config::auth::{JwtAlgorithm, JwtAuth, JwtKey, KeyEncoding, TokenLocation};
use svc_secrets::EnvironmentResolver;

/// The current Unix time in the tests.
const NOW: i64 = 1_800_000_000;

const ALGORITHMS: [JwtAlgorithm; 12] = [
    JwtAlgorithm::Hs256,
    JwtAlgorithm::Hs384,
    JwtAlgorithm::Hs512,
    JwtAlgorithm::Rs256,
    JwtAlgorithm::Rs384,
    JwtAlgorithm::Rs512,
    JwtAlgorithm::Ps256,
    JwtAlgorithm::Ps384,
    JwtAlgorithm::Ps512,
    JwtAlgorithm::Es256,
    JwtAlgorithm::Es384,
    JwtAlgorithm::EdDsa,
];

/// Returns a block that accepts every algorithm in the header `x-token`.
fn auth(keys: Vec<JwtKey>) -> JwtAuth {
    JwtAuth {
        keys,
        jwks_url: None,
        algorithms: ALGORITHMS.into(),
        issuers: Vec::new(),
        audiences: Vec::new(),
        leeway_secs: 0,
        require_exp: true,
        required: true,
        source: TokenLocation::Header { header: "X-Token".into(), scheme: None },
        max_token_bytes: 8192,
        claims_to_metadata: None,
        authorization_logic: None,
    }
}

fn key(algorithm: JwtAlgorithm, text: &str, kid: Option<&str>) -> JwtKey {
    JwtKey { algorithm, key: SecretText::new(text), kid: kid.map(str::to_owned), encoding: KeyEncoding::Utf8 }
}

/// Key sets that must not be used.
struct NoSets;

impl KeySets for NoSets {
    fn key_set(&self, url: &str) -> Result<std::sync::Arc<dyn KeySet>, String> {
        Err(format!("{url} is not to be asked for"))
    }
}

fn build(config: &JwtAuth) -> JwtVerifier {
    JwtVerifier::build(config, &EnvironmentResolver(|_: &str| None), &NoSets).unwrap()
}

fn present(verifier: &JwtVerifier, headers: &[(&str, &str)]) -> Result<Identity, RefusalReason> {
    let headers: Vec<_> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
    ready(verifier.verify(PresentedRequest { headers: &headers, body: b"", now: NOW, consumers: None }))
}

/// Returns the claims of a token, or the reason for its refusal.
fn verify(verifier: &JwtVerifier, token: &str) -> Result<Map<String, Value>, RefusalReason> {
    ready(verifier.claims(token.as_bytes(), NOW))
}

/// Returns the output of a future that never waits.
fn ready<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().unwrap()
}
