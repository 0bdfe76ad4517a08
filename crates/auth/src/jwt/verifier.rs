//! The verifier of tokens, used by channels and by tasks of workflows.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use svc_model::config::auth::JwtAlgorithm;

use super::claims::ClaimRules;
use super::compact::{CompactToken, unique_object};
use super::key::VerifyingKey;
use crate::key_sets::KeySet;
use crate::reason::RefusalReason;

/// Default maximum length of a token, in bytes.
const MAX_BYTES: usize = 8192;

/// A key with an optional id.
#[derive(Debug)]
pub struct NamedKey {
    /// The key id; a key without one is tried for every token.
    pub kid: Option<String>,
    pub key: VerifyingKey,
}

/// Verifies tokens: size, header, allowed algorithm, the other parts, key, signature, claims. Shared by all
/// threads.
pub struct TokenVerifier {
    max_bytes: usize,
    algorithms: Vec<JwtAlgorithm>,
    keys: Vec<NamedKey>,
    key_set: Option<Arc<dyn KeySet>>,
}

impl TokenVerifier {
    /// Creates a verifier for tokens with these algorithms, signed by one of the keys or of the key set, of
    /// up to 8192 bytes.
    pub fn new(algorithms: Vec<JwtAlgorithm>, keys: Vec<NamedKey>, key_set: Option<Arc<dyn KeySet>>) -> Self {
        Self { max_bytes: MAX_BYTES, algorithms, keys, key_set }
    }

    /// Sets the maximum length of a token, in bytes.
    #[must_use]
    pub fn max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// Verifies a token by `rules` at the Unix time `now`, in seconds, and returns its claims.
    ///
    /// # Errors
    /// The [`RefusalReason`] of the token.
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

    /// Verifies the signature with the static keys, then with the key set. A key that does not match passes
    /// on to the next.
    async fn check_signature(&self, token: &CompactToken<'_>) -> Result<(), RefusalReason> {
        let own = check_keys(self.own_keys(token), token);
        if own == SignatureCheck::Valid {
            return Ok(());
        }
        let published = match &self.key_set {
            // A published key is never a shared secret, so the key set is not fetched for these algorithms.
            Some(set) if token.algorithm.min_key_bytes().is_none() => {
                check_published(set.as_ref(), token).await?
            }
            _ => SignatureCheck::NoKey,
        };
        match (own, published) {
            (_, SignatureCheck::Valid) => Ok(()),
            (SignatureCheck::NoKey, SignatureCheck::NoKey) => Err(RefusalReason::UnknownKid),
            _ => Err(RefusalReason::BadSignature),
        }
    }

    /// Returns the static keys of the token's algorithm: first those with its key id, then those without an
    /// id.
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

/// Verifies the signature with a key set, which is renewed once if it lacks the key id.
async fn check_published(
    set: &dyn KeySet,
    token: &CompactToken<'_>,
) -> Result<SignatureCheck, RefusalReason> {
    let mut keys = match set.fresh() {
        Some(keys) => keys,
        None => set.obtain().await.ok_or(RefusalReason::KeysUnavailable)?,
    };
    let kid = token.kid.as_deref();
    if kid.is_some_and(|kid| !keys.has(kid)) {
        keys = set.renew(&keys).await.ok_or(RefusalReason::KeysUnavailable)?;
    }
    Ok(check_keys(keys.candidates(kid, token.algorithm), token))
}

/// The result of a signature check under a number of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignatureCheck {
    /// No key could have signed the token.
    NoKey,
    /// None of the keys signed the token.
    Invalid,
    /// One of the keys signed the token.
    Valid,
}

/// Checks the signature of a token under each key until one fits.
fn check_keys<'k>(keys: impl Iterator<Item = &'k VerifyingKey>, token: &CompactToken<'_>) -> SignatureCheck {
    let mut result = SignatureCheck::NoKey;
    for key in keys {
        if key.verify(token.signed, &token.signature) {
            return SignatureCheck::Valid;
        }
        result = SignatureCheck::Invalid;
    }
    result
}
