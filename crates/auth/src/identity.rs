//! The identity of an authenticated caller.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::consumers::ConsumerIdentity;

/// A SHA-256 that identifies a key or shared secret of a channel. `Debug` shows nothing of it.
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
        f.write_str("CredentialFingerprint")
    }
}

/// The identity of an authenticated caller.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// The verified claims of a token; `None` if the mode uses no token, or the request has none and needs
    /// none.
    pub claims: Option<Map<String, Value>>,
    /// The accepted key or shared secret; `None` for a token and for a consumer.
    pub credential: Option<CredentialFingerprint>,
    /// The consumer that holds the accepted key; `None` if the channel has keys of its own.
    pub consumer: Option<Arc<ConsumerIdentity>>,
}

impl Identity {
    pub(crate) fn of_credential(credential: CredentialFingerprint) -> Self {
        Self { credential: Some(credential), ..Self::default() }
    }

    pub(crate) fn of_consumer(consumer: &Arc<ConsumerIdentity>) -> Self {
        Self { consumer: Some(Arc::clone(consumer)), ..Self::default() }
    }
}
