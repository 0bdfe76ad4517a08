//! The keys of token issuers, as an authenticator asks for them.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

/// Most keys a set may hold.
pub const MAX_KEYS: usize = 100;

/// Why a document is no usable key set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// No JSON object with an array `keys` of objects.
    #[error("this is no key set")]
    Malformed,
    /// A set without keys.
    #[error("the key set is empty")]
    Empty,
    /// More than [`MAX_KEYS`] keys.
    #[error("the key set has more than {MAX_KEYS} keys")]
    TooMany,
}

/// A parsed key set (RFC 7517). Keys that cannot be used are left out.
#[derive(Debug, Default)]
pub struct Keys {}

impl Keys {
    /// Parses a key set. A key that cannot be used is skipped; symmetric keys are never usable.
    ///
    /// # Errors
    /// The document is no key set, an empty one, or one of more than [`MAX_KEYS`] keys.
    pub fn parse(document: &[u8]) -> Result<Self, KeysError> {
        let document: Value = serde_json::from_slice(document).map_err(|_| KeysError::Malformed)?;
        let keys = document.get("keys").and_then(Value::as_array).ok_or(KeysError::Malformed)?;
        match keys.len() {
            0 => Err(KeysError::Empty),
            1..=MAX_KEYS => Ok(Self {}),
            _ => Err(KeysError::TooMany),
        }
    }

    /// How many keys are usable.
    pub fn len(&self) -> usize {
        0
    }

    /// Whether no key is usable.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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
    /// The keys, while they are fresh. Does no I/O.
    fn fresh(&self) -> Option<Arc<Keys>>;

    /// Fresh keys, fetched when need be; stale ones when that fails; `None` when there never were any.
    fn obtain(&self) -> BoxFuture<'_, Option<Arc<Keys>>>;

    /// For a key id that `seen` does not have: newer keys than those, fetched unless that happened a short time ago;
    /// else the keys at hand.
    fn renew<'s>(&'s self, seen: &'s Arc<Keys>) -> BoxFuture<'s, Option<Arc<Keys>>>;
}
