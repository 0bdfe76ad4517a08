//! The `auth` block made ready.

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

/// What a request presents.
#[derive(Clone, Copy, Debug)]
pub struct PresentedRequest<'r> {
    /// Header names in lower case with their raw values; the values of one name in the order received.
    pub headers: &'r [(String, Vec<u8>)],
    /// The body as received.
    pub body: &'r [u8],
    /// Now, in seconds of the Unix time.
    pub now: i64,
}

impl<'r> PresentedRequest<'r> {
    /// The first value of a header, by its name in lower case. Repetitions say nothing: whoever could append one must not
    /// be able to change what was verified.
    pub fn header(&self, name: &str) -> Option<&'r [u8]> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }
}

/// Tells the keys and shared secrets of a channel apart: a SHA-256 of one. Its `Debug` shows nothing of it.
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

/// Who called.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// The verified claims of a token; `None` where no token was asked for or none was needed.
    pub claims: Option<Map<String, Value>>,
    /// The key or shared secret that was accepted; `None` for a token.
    pub credential: Option<CredentialFingerprint>,
}

impl Identity {
    fn of_credential(credential: CredentialFingerprint) -> Self {
        Self { claims: None, credential: Some(credential) }
    }
}

/// The `auth` block of a channel, ready to verify. Shared by all threads. Its `Debug` shows no secret.
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
    /// Resolves references and checks keys.
    ///
    /// # Errors
    /// The reason to quarantine the channel: it begins with `auth:`, names the field and never a value.
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

    /// Verifies what a request presents. Only a token whose issuer's keys are not at hand makes it wait.
    ///
    /// # Errors
    /// Why the caller is refused; for metrics and traces.
    pub async fn authenticate(&self, request: PresentedRequest<'_>) -> Result<Identity, RefusalReason> {
        match &self.mode {
            Mode::ApiKey(keys) => keys.verify(request).map(Identity::of_credential),
            Mode::Hmac(signatures) => signatures.verify(request).map(Identity::of_credential),
            Mode::Jwt(verifier) => verifier.verify(request).await,
        }
    }

    /// The claims that may reach the metadata of a message.
    pub fn exposed(&self, claims: &Map<String, Value>) -> Map<String, Value> {
        match &self.mode {
            Mode::Jwt(verifier) => verifier.exposed(claims),
            Mode::ApiKey(_) | Mode::Hmac(_) => claims.clone(),
        }
    }
}
