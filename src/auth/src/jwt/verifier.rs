//! Verifying tokens under keys, whoever asks: a channel at its door or a task of a workflow.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use svc_model::config::auth::JwtAlgorithm;

use super::claims::ClaimRules;
use super::compact::{CompactToken, unique_object};
use super::key::VerifyingKey;
use crate::key_sets::KeySet;
use crate::reason::RefusalReason;

/// Longest token where nothing else is said, in bytes.
const MAX_BYTES: usize = 8192;

/// A key with the id tokens may name it by.
#[derive(Debug)]
pub struct NamedKey {
    /// Its id; a key without one is tried for every token.
    pub kid: Option<String>,
    /// The key.
    pub key: VerifyingKey,
}

/// Verifies tokens: size, header, allowed algorithm, the other parts, key, signature, claims. Shared by all threads.
pub struct TokenVerifier {
    max_bytes: usize,
    algorithms: Vec<JwtAlgorithm>,
    keys: Vec<NamedKey>,
    key_set: Option<Arc<dyn KeySet>>,
}

impl TokenVerifier {
    /// Accepts tokens of these algorithms, signed by one of the keys or by one of the key set. A token may have 8192 bytes.
    pub fn new(algorithms: Vec<JwtAlgorithm>, keys: Vec<NamedKey>, key_set: Option<Arc<dyn KeySet>>) -> Self {
        Self { max_bytes: MAX_BYTES, algorithms, keys, key_set }
    }

    /// Sets the longest token accepted, in bytes.
    #[must_use]
    pub fn max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// The claims of a token that is valid by `rules` at an instant, in seconds of the Unix time.
    ///
    /// # Errors
    /// Why the token is refused.
    pub async fn claims(
        &self,
        token: &[u8],
        rules: &ClaimRules,
        now: i64,
    ) -> Result<Map<String, Value>, RefusalReason> {
        if token.is_empty() {
            return Err(RefusalReason::Missing);
        }
        if token.len() > self.max_bytes {
            return Err(RefusalReason::Oversized);
        }
        let token = CompactToken::parse(token, &self.algorithms)?;
        self.check_signature(&token).await?;
        let claims = unique_object(&token.payload).ok_or(RefusalReason::Malformed)?;
        rules.check(&claims, now)?;
        Ok(claims)
    }

    /// Tries static keys, then the key set. A key that did not sign leaves the word to the next.
    async fn check_signature(&self, token: &CompactToken<'_>) -> Result<(), RefusalReason> {
        let own = tried(self.own_keys(token), token);
        if own == Some(true) {
            return Ok(());
        }
        let published = match &self.key_set {
            // A published key is no shared secret: there is nothing to fetch for these algorithms.
            Some(set) if token.algorithm.min_key_bytes().is_none() => published(set.as_ref(), token).await?,
            _ => None,
        };
        match (own, published) {
            (_, Some(true)) => Ok(()),
            (None, None) => Err(RefusalReason::UnknownKid),
            _ => Err(RefusalReason::BadSignature),
        }
    }

    /// Static keys of the token's algorithm: those of its key id, then those without one.
    fn own_keys<'k>(&'k self, token: &'k CompactToken<'_>) -> impl Iterator<Item = &'k VerifyingKey> {
        let of_algorithm = || self.keys.iter().filter(|entry| entry.key.algorithm() == token.algorithm);
        let named = of_algorithm().filter(|entry| entry.kid.is_some() && entry.kid == token.kid);
        named.chain(of_algorithm().filter(|entry| entry.kid.is_none())).map(|entry| &entry.key)
    }
}

impl fmt::Debug for TokenVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenVerifier")
            .field("algorithms", &self.algorithms)
            .field("keys", &self.keys.len())
            .finish_non_exhaustive()
    }
}

/// Tries the keys of a key set; an id it does not have is asked for once more.
async fn published(set: &dyn KeySet, token: &CompactToken<'_>) -> Result<Option<bool>, RefusalReason> {
    let mut keys = match set.fresh() {
        Some(keys) => keys,
        None => set.obtain().await.ok_or(RefusalReason::KeysUnavailable)?,
    };
    let kid = token.kid.as_deref();
    if kid.is_some_and(|kid| !keys.has(kid))
        && let Some(newer) = set.renew(&keys).await
    {
        keys = newer;
    }
    Ok(tried(keys.candidates(kid, token.algorithm), token))
}

/// Whether one of the keys signed the token; `None` when there is none.
fn tried<'k>(keys: impl Iterator<Item = &'k VerifyingKey>, token: &CompactToken<'_>) -> Option<bool> {
    let mut outcome = None;
    for key in keys {
        if key.verify(token.signed, &token.signature) {
            return Some(true);
        }
        outcome = Some(false);
    }
    outcome
}
