//! The key sets of token issuers, as the authenticator uses them.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use svc_model::config::auth::JwtAlgorithm;
use svc_model::without_byte_order_mark;

use crate::jwt::{Jwk, VerifyingKey};

/// Maximum number of keys in a set.
pub const MAX_KEYS: usize = 100;

/// Maximum number of keys of a set that are tried for one token. It bounds the cost of an untrusted token.
/// Only a token without key id, or a set with repeated ids, has several candidates.
pub const MAX_CANDIDATES: usize = 16;

/// An error in the document of a key set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JwksError {
    /// The document is not a JSON object with an array `keys`.
    #[error("this is no key set")]
    Malformed,
    /// The set has no usable key.
    #[error("the key set holds no usable key")]
    Empty,
    /// The set has more than [`MAX_KEYS`] keys.
    #[error("the key set has more than {MAX_KEYS} keys")]
    TooMany,
}

/// A parsed key set (RFC 7517) with at least one key. Unusable keys are omitted, which includes all symmetric
/// ones.
#[derive(Debug)]
pub struct Jwks {
    keys: Vec<Jwk>,
}

impl Jwks {
    /// Parses a key set. Skips keys with another purpose, an unsupported algorithm or curve, weak and
    /// malformed keys, and RSA keys of more than 4096 bits.
    ///
    /// # Errors
    /// A [`JwksError`] if the document is not a key set, or has more than [`MAX_KEYS`] keys or no usable one.
    /// Such a document should not replace a valid set.
    pub fn parse(document: &[u8]) -> Result<Self, JwksError> {
        let document = without_byte_order_mark(document);
        let document: Value = serde_json::from_slice(document).map_err(|_| JwksError::Malformed)?;
        let listed = document.get("keys").and_then(Value::as_array).ok_or(JwksError::Malformed)?;
        if listed.len() > MAX_KEYS {
            return Err(JwksError::TooMany);
        }
        let keys: Vec<_> = listed.iter().filter_map(Jwk::parse).collect();
        if keys.is_empty() { Err(JwksError::Empty) } else { Ok(Self { keys }) }
    }

    /// Returns the number of usable keys, at least one.
    #[expect(clippy::len_without_is_empty, reason = "a set is never empty")]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns true if a key has that id.
    pub(crate) fn has(&self, kid: &str) -> bool {
        self.keys.iter().any(|key| key.kid() == Some(kid))
    }

    /// Returns at most [`MAX_CANDIDATES`] keys that may have signed with an algorithm: those with the given
    /// id, or all keys if the token has no id.
    pub(crate) fn candidates(
        &self,
        kid: Option<&str>,
        algorithm: JwtAlgorithm,
    ) -> impl Iterator<Item = &VerifyingKey> {
        let named = move |key: &&Jwk| kid.is_none() || key.kid() == kid;
        self.keys.iter().filter(named).filter_map(move |key| key.key(algorithm)).take(MAX_CANDIDATES)
    }
}

/// A provider of key sets.
pub trait KeySets: Send + Sync {
    /// Returns the key set of a URL. Does no I/O.
    ///
    /// # Errors
    /// The reason why the URL can never be used.
    fn key_set(&self, url: &str) -> Result<Arc<dyn KeySet>, String>;

    /// Returns the key set that the discovery document of an issuer names. The first fetch may begin now; this does not
    /// wait for it.
    ///
    /// # Errors
    /// The reason why the issuer can never be asked.
    fn issuer_key_set(&self, issuer: &str) -> Result<Arc<dyn KeySet>, String> {
        Err(format!("the key set of {issuer} cannot be discovered here"))
    }
}

/// The key set of one issuer, shared by all channels with its URL.
pub trait KeySet: Send + Sync {
    /// Returns the cached keys if they need no refresh: they are fresh, or a refresh failed recently. Does no
    /// I/O.
    fn fresh(&self) -> Option<Arc<Jwks>>;

    /// Returns fresh keys and fetches them if necessary; stale keys if that fails; `None` if there have never
    /// been any.
    fn obtain(&self) -> BoxFuture<'_, Option<Arc<Jwks>>>;

    /// Returns newer keys than `seen`, which lacks a key id. Fetches them, unless any fetch took place
    /// recently; then returns the cached keys. `None` if the last fetch failed: the issuer may have such a key.
    fn renew<'s>(&'s self, seen: &'s Arc<Jwks>) -> BoxFuture<'s, Option<Arc<Jwks>>>;
}
