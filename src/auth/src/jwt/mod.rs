//! Tokens: JWT (RFC 7519) signed as a compact JWS (RFC 7515), checked as RFC 8725 advises.
//!
//! The checks stand in a fixed order and the first failure ends them: size, form, allowed algorithm, key, signature, claims.
//! No claim is read before the signature has been verified. A token never chooses how it is checked: every
//! [key](VerifyingKey) is bound to one algorithm, and keys or addresses of keys inside a token are not looked at.

mod claims;
mod compact;
mod jwk;
mod key;
mod source;

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use svc_model::config::auth::{JwtAlgorithm, JwtAuth, JwtKey};
use svc_secrets::{Resolver, is_reference};

use crate::authenticator::{Identity, Presented};
use crate::key_sets::{KeySet, KeySets};
use crate::material;
use crate::reason::Reason;
use claims::Rules;
use compact::{Token, unique_object};
use source::Source;

pub(crate) use jwk::Jwk;
pub use key::{KeyError, VerifyingKey};

/// The `jwt` mode of a channel, ready to verify. Shared by all threads.
pub struct JwtVerifier {
    source: Source,
    required: bool,
    max_token_bytes: usize,
    algorithms: Vec<JwtAlgorithm>,
    keys: Vec<StaticKey>,
    key_set: Option<Arc<dyn KeySet>>,
    rules: Rules,
    exposed: Option<Vec<String>>,
}

/// A key of the configuration.
struct StaticKey {
    kid: Option<String>,
    key: VerifyingKey,
}

impl JwtVerifier {
    /// Resolves references and parses keys, once.
    ///
    /// # Errors
    /// The reason to quarantine the channel: it names the field and never a value.
    pub fn build(config: &JwtAuth, resolver: &dyn Resolver, key_sets: &dyn KeySets) -> Result<Self, String> {
        let keys = config.keys.iter().enumerate().map(|(index, key)| static_key(index, key, resolver));
        let key_set = config.jwks_url.as_deref().map(|url| key_sets.at(url)).transpose();
        Ok(Self {
            source: Source::new(&config.source),
            required: config.required,
            max_token_bytes: usize::try_from(config.max_token_bytes).unwrap_or(usize::MAX),
            algorithms: config.algorithms.clone(),
            keys: keys.collect::<Result<_, String>>()?,
            key_set: key_set.map_err(|why| format!("auth: auth.jwks_url: {why}"))?,
            rules: Rules::new(config),
            exposed: config.claims_to_metadata.clone(),
        })
    }

    /// Verifies the token of a request. Without one, and when none is required, nobody is identified.
    ///
    /// # Errors
    /// Why the caller is refused.
    pub async fn verify(&self, request: Presented<'_>) -> Result<Identity, Reason> {
        match self.source.token(request)? {
            Some(token) => Ok(Identity { claims: Some(self.claims(token, request.now).await?) }),
            None if self.required => Err(Reason::Missing),
            None => Ok(Identity::default()),
        }
    }

    /// The claims of a token that is valid at an instant, in seconds of the Unix time.
    ///
    /// # Errors
    /// Why the token is refused.
    pub async fn claims(&self, token: &[u8], now: i64) -> Result<Map<String, Value>, Reason> {
        if token.is_empty() {
            return Err(Reason::Missing);
        }
        if token.len() > self.max_token_bytes {
            return Err(Reason::Oversized);
        }
        let token = Token::parse(token, &self.algorithms)?;
        self.check_signature(&token).await?;
        let claims = unique_object(&token.payload).ok_or(Reason::Malformed)?;
        self.rules.check(&claims, now)?;
        Ok(claims)
    }

    /// The claims that may reach the metadata of a message.
    pub fn exposed(&self, claims: &Map<String, Value>) -> Map<String, Value> {
        let Some(names) = &self.exposed else { return claims.clone() };
        names.iter().filter_map(|name| Some((name.clone(), claims.get(name)?.clone()))).collect()
    }

    /// Tries static keys, then the key set. A key that did not sign leaves the word to the next.
    async fn check_signature(&self, token: &Token<'_>) -> Result<(), Reason> {
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
            (None, None) => Err(Reason::UnknownKid),
            _ => Err(Reason::BadSignature),
        }
    }

    /// Static keys of the token's algorithm: those of its key id, then those without one.
    fn own_keys<'k>(&'k self, token: &'k Token<'_>) -> impl Iterator<Item = &'k VerifyingKey> {
        let of_algorithm = || self.keys.iter().filter(|entry| entry.key.algorithm() == token.algorithm);
        let named = of_algorithm().filter(|entry| entry.kid.is_some() && entry.kid == token.kid);
        named.chain(of_algorithm().filter(|entry| entry.kid.is_none())).map(|entry| &entry.key)
    }
}

impl fmt::Debug for JwtVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwtVerifier")
            .field("algorithms", &self.algorithms)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

/// Tries the keys of a key set; an id it does not have is asked for once more.
async fn published(set: &dyn KeySet, token: &Token<'_>) -> Result<Option<bool>, Reason> {
    let mut keys = match set.fresh() {
        Some(keys) => keys,
        None => set.obtain().await.ok_or(Reason::KeysUnavailable)?,
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
fn tried<'k>(keys: impl Iterator<Item = &'k VerifyingKey>, token: &Token<'_>) -> Option<bool> {
    let mut outcome = None;
    for key in keys {
        if key.verify(token.signed, &token.signature) {
            return Some(true);
        }
        outcome = Some(false);
    }
    outcome
}

/// Where a static key stands, below `channel.config`.
fn field(index: usize) -> String {
    format!("auth.jwt_keys[{index}].key")
}

fn static_key(index: usize, config: &JwtKey, resolver: &dyn Resolver) -> Result<StaticKey, String> {
    let field = field(index);
    let text = material::resolve(&field, &config.key, resolver).map_err(|error| error.to_string())?;
    let key = VerifyingKey::from_text(config.algorithm, config.encoding, text.expose());
    let key = key.map_err(|error| format!("auth: {field}: {error}"))?;
    Ok(StaticKey { kid: config.kid.clone(), key })
}

/// Problems of keys that are written out, as path below `channel.config` and message. References are not looked up.
pub fn check_literal_keys(config: &JwtAuth) -> Vec<(String, String)> {
    let literal = config.keys.iter().enumerate().filter(|(_, key)| !is_reference(key.key.expose()));
    literal
        .filter_map(|(index, key)| {
            let error = VerifyingKey::from_text(key.algorithm, key.encoding, key.key.expose()).err()?;
            Some((field(index), error.to_string()))
        })
        .collect()
}
