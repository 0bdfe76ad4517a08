//! The authenticator: the loaded form of the `auth` block.

use serde_json::{Map, Value};
use svc_model::config::AuthConfig;
use svc_secrets::Resolver;

use crate::api_key::ApiKeys;
use crate::hmac::Signatures;
use crate::identity::Identity;
use crate::jwt::JwtVerifier;
use crate::key_sets::KeySets;
use crate::presented::PresentedRequest;
use crate::reason::RefusalReason;

/// The `auth` block of a channel, loaded for verification. Shared by all threads. `Debug` shows no secrets.
#[derive(Debug)]
pub struct Authenticator {
    mode: Mode,
}

#[derive(Debug)]
enum Mode {
    ApiKey(ApiKeys),
    Hmac(Box<Signatures>),
    Jwt(Box<JwtVerifier>),
}

impl Authenticator {
    /// Resolves the references and validates the keys of a config.
    ///
    /// # Errors
    /// The quarantine reason of the channel. It starts with `auth:`, names the field and contains no value.
    pub fn build(
        config: &AuthConfig,
        resolver: &dyn Resolver,
        key_sets: &dyn KeySets,
    ) -> Result<Self, String> {
        let mode = match config {
            AuthConfig::ApiKey(auth) => ApiKeys::build(auth, resolver).map(Mode::ApiKey),
            AuthConfig::Hmac(auth) => Signatures::build(auth, resolver).map(Box::new).map(Mode::Hmac),
            AuthConfig::Jwt(auth) => {
                let verifier = JwtVerifier::build(auth, resolver, key_sets)?;
                Ok(Mode::Jwt(Box::new(verifier)))
            }
        };
        Ok(Self { mode: mode.map_err(|error| error.to_string())? })
    }

    /// Authenticates a request. It waits only if the keys of a token issuer are not cached.
    ///
    /// # Errors
    /// The [`RefusalReason`], for metrics and traces.
    pub async fn authenticate(&self, request: PresentedRequest<'_>) -> Result<Identity, RefusalReason> {
        match &self.mode {
            Mode::ApiKey(keys) => keys.verify(request),
            Mode::Hmac(signatures) => signatures.verify(request),
            Mode::Jwt(verifier) => verifier.verify(request).await,
        }
    }

    /// Returns the claims that are copied to the metadata of a message.
    pub fn exposed_claims(&self, claims: &Map<String, Value>) -> Map<String, Value> {
        match &self.mode {
            Mode::Jwt(verifier) => verifier.exposed_claims(claims),
            Mode::ApiKey(_) | Mode::Hmac(_) => claims.clone(),
        }
    }
}
