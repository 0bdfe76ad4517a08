//! Tokens: JWT (RFC 7519) signed as a compact JWS (RFC 7515).

use serde_json::{Map, Value};
use svc_model::config::auth::JwtAuth;
use svc_secrets::Resolver;

use crate::authenticator::{Identity, Presented};
use crate::key_sets::KeySets;
use crate::reason::Reason;

/// The `jwt` mode of a channel, ready to verify. Shared by all threads.
#[derive(Debug)]
pub struct JwtVerifier {}

impl JwtVerifier {
    /// Resolves references and parses keys, once.
    ///
    /// # Errors
    /// The reason to quarantine the channel: it names the field and never a value.
    pub fn build(
        _config: &JwtAuth,
        _resolver: &dyn Resolver,
        _key_sets: &dyn KeySets,
    ) -> Result<Self, String> {
        Err("auth: tokens are not verified yet".to_owned())
    }

    /// Verifies the token of a request.
    ///
    /// # Errors
    /// Why the caller is refused.
    pub async fn verify(&self, _request: Presented<'_>) -> Result<Identity, Reason> {
        Err(Reason::Missing)
    }

    /// The claims that may reach the metadata of a message.
    pub fn exposed(&self, claims: &Map<String, Value>) -> Map<String, Value> {
        claims.clone()
    }
}

/// Problems of keys that are written out, as path below `channel.config` and message. References are not looked up.
pub fn check_literal_keys(_config: &JwtAuth) -> Vec<(String, String)> {
    Vec::new()
}
