//! The authenticator: the loaded form of the `auth` block.

use std::fmt;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use svc_model::config::AuthConfig;
use svc_secrets::Resolver;

use crate::api_key::ApiKeys;
use crate::hmac::Signatures;
use crate::jwt::JwtVerifier;
use crate::key_sets::KeySets;
use crate::reason::RefusalReason;

/// The parts of a request that authentication uses.
#[derive(Clone, Copy, Debug)]
pub struct PresentedRequest<'r> {
    /// Header names in lower case with raw values; values of the same name in the order received.
    pub headers: &'r [(String, Vec<u8>)],
    /// The body as received.
    pub body: &'r [u8],
    /// The current Unix time, in seconds.
    pub now: i64,
}

impl<'r> PresentedRequest<'r> {
    /// Returns the first value of a header; `name` is in lower case. Repeated headers are ignored, so that
    /// appending one cannot change what was verified.
    pub fn header(&self, name: &str) -> Option<&'r [u8]> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }
}

/// A SHA-256 that identifies a key or shared secret of a channel. `Debug` shows nothing of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CredentialFingerprint([u8; 32]);

impl CredentialFingerprint {
    pub(crate) fn of(secret: &[u8]) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// Returns the bytes of the digest.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for CredentialFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint")
    }
}

/// The identity of an authenticated caller.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// The verified claims of a token; `None` if the mode uses no token, or the request has none and needs
    /// none.
    pub claims: Option<Map<String, Value>>,
    /// The accepted key or shared secret; `None` for a token.
    pub credential: Option<CredentialFingerprint>,
}

impl Identity {
    fn of_credential(credential: CredentialFingerprint) -> Self {
        Self { claims: None, credential: Some(credential) }
    }
}

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
            Mode::ApiKey(keys) => keys.verify(request).map(Identity::of_credential),
            Mode::Hmac(signatures) => signatures.verify(request).map(Identity::of_credential),
            Mode::Jwt(verifier) => verifier.verify(request).await,
        }
    }

    /// Returns the claims that are copied to the metadata of a message.
    pub fn exposed(&self, claims: &Map<String, Value>) -> Map<String, Value> {
        match &self.mode {
            Mode::Jwt(verifier) => verifier.exposed(claims),
            Mode::ApiKey(_) | Mode::Hmac(_) => claims.clone(),
        }
    }
}
