//! The keys of token issuers, as an authenticator asks for them.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use svc_model::config::auth::JwtAlgorithm;

use crate::jwt::{Jwk, VerifyingKey};

/// Most keys a set may hold.
pub const MAX_KEYS: usize = 100;

/// Most keys of a set that are tried for one token, and so the most verifications a stranger's token costs. Only a token
/// that names no key, or a set that uses one id often, has as many candidates.
pub const MAX_CANDIDATES: usize = 16;

/// Why a document is no usable key set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JwksError {
    /// No JSON object with an array `keys`.
    #[error("this is no key set")]
    Malformed,
    /// No key, or none that can be used.
    #[error("the key set holds no usable key")]
    Empty,
    /// More than [`MAX_KEYS`] keys.
    #[error("the key set has more than {MAX_KEYS} keys")]
    TooMany,
}

/// A parsed key set (RFC 7517), never empty. Keys that cannot be used are left out; symmetric ones never can.
#[derive(Debug)]
pub struct Jwks {
    keys: Vec<Jwk>,
}

impl Jwks {
    /// Parses a key set. Keys of another purpose, algorithm or curve, weak and malformed ones are skipped, and so are RSA
    /// keys of more than 4096 bits.
    ///
    /// # Errors
    /// The document is no key set, has more than [`MAX_KEYS`] keys, or none that can be used: it should not replace
    /// a set that was good.
    pub fn parse(document: &[u8]) -> Result<Self, JwksError> {
        let document: Value = serde_json::from_slice(document).map_err(|_| JwksError::Malformed)?;
        let listed = document.get("keys").and_then(Value::as_array).ok_or(JwksError::Malformed)?;
        if listed.len() > MAX_KEYS {
            return Err(JwksError::TooMany);
        }
        let keys: Vec<_> = listed.iter().filter_map(Jwk::parse).collect();
        if keys.is_empty() { Err(JwksError::Empty) } else { Ok(Self { keys }) }
    }

    /// How many keys are usable; at least one.
    #[expect(clippy::len_without_is_empty, reason = "a set is never empty")]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether a key has that id.
    pub(crate) fn has(&self, kid: &str) -> bool {
        self.keys.iter().any(|key| key.kid() == Some(kid))
    }

    /// The keys that may have signed with an algorithm: those of exactly that id, or all of them when none is named; the
    /// first [`MAX_CANDIDATES`].
    pub(crate) fn candidates(
        &self,
        kid: Option<&str>,
        algorithm: JwtAlgorithm,
    ) -> impl Iterator<Item = &VerifyingKey> {
        let named = move |key: &&Jwk| kid.is_none() || key.kid() == kid;
        self.keys.iter().filter(named).filter_map(move |key| key.key(algorithm)).take(MAX_CANDIDATES)
    }
}

/// Where key sets come from.
pub trait KeySets: Send + Sync {
    /// The key set at an address; nothing is fetched yet.
    ///
    /// # Errors
    /// Why the address can never be used.
    fn at(&self, url: &str) -> Result<Arc<dyn KeySet>, String>;
}

/// The key set of one issuer, shared by every channel that names its address.
pub trait KeySet: Send + Sync {
    /// The keys at hand, while nobody needs to ask for others: they are fresh, or fetching newer ones has failed a short time
    /// ago. Does no I/O.
    fn fresh(&self) -> Option<Arc<Jwks>>;

    /// Fresh keys, fetched when need be; stale ones when that fails; `None` when there never were any.
    fn obtain(&self) -> BoxFuture<'_, Option<Arc<Jwks>>>;

    /// For a key id that `seen` does not have: newer keys than those, fetched unless that happened a short time ago, for
    /// whatever reason; else the keys at hand.
    fn renew<'s>(&'s self, seen: &'s Arc<Jwks>) -> BoxFuture<'s, Option<Arc<Jwks>>>;
}
