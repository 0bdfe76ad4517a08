//! The caller that a credential identifies.

use std::fmt;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Tells the keys and shared secrets of a channel apart: a SHA-256 of one. Its `Debug` shows nothing of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CredentialFingerprint([u8; 32]);

impl CredentialFingerprint {
    pub(crate) fn from_secret(secret: &[u8]) -> Self {
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

/// The verified caller of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// The verified claims of a token; `None` where no token was asked for or none was needed.
    pub claims: Option<Map<String, Value>>,
    /// The key or shared secret that was accepted; `None` for a token.
    pub credential: Option<CredentialFingerprint>,
}

impl Identity {
    pub(crate) fn of_credential(credential: CredentialFingerprint) -> Self {
        Self { claims: None, credential: Some(credential) }
    }
}
