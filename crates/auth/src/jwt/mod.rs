//! Tokens: JWT (RFC 7519) signed as a compact JWS (RFC 7515), verified according to RFC 8725.
//!
//! The checks run in a fixed order and stop at the first failure: size, header, allowed algorithm, the other
//! parts, key, signature, claims. No claim is read before the signature is verified. A token never chooses
//! how it is verified: each [key](VerifyingKey) is bound to one algorithm, and keys or key URLs inside a
//! token are ignored.

mod claims;
mod compact;
mod cookie;
mod jwk;
mod key;
mod signing;
mod source;
mod verifier;

use std::fmt;

use serde_json::{Map, Value};
use svc_model::config::auth::{JwtAuth, JwtKey};
use svc_secrets::{Resolver, is_reference};

use crate::identity::Identity;
use crate::key_sets::KeySets;
use crate::presented::PresentedRequest;
use crate::reason::RefusalReason;
use crate::secret_field;
use source::TokenLocator;

pub use claims::ClaimRules;
pub(crate) use cookie::cookie as find_cookie;
pub(crate) use jwk::Jwk;
pub use key::{KeyError, VerifyingKey};
pub use signing::{SignError, SigningKey};
pub use verifier::{NamedKey, TokenVerifier};

/// The `jwt` mode of a channel, loaded for verification. Shared by all threads.
pub struct JwtVerifier {
    source: TokenLocator,
    required: bool,
    tokens: TokenVerifier,
    rules: ClaimRules,
    exposed: Option<Vec<String>>,
}

impl JwtVerifier {
    /// Resolves the references and parses the keys of a config.
    ///
    /// # Errors
    /// The quarantine reason of the channel. It names the field and contains no value.
    pub fn build(config: &JwtAuth, resolver: &dyn Resolver, key_sets: &dyn KeySets) -> Result<Self, String> {
        let keys = config.keys.iter().enumerate().map(|(index, key)| static_key(index, key, resolver));
        let keys = keys.collect::<Result<_, String>>()?;
        let key_set = match (config.jwks_url.as_deref(), config.discovered_issuer()) {
            (Some(url), _) => {
                Some(key_sets.key_set(url).map_err(|why| format!("auth: auth.jwks_url: {why}"))?)
            }
            (None, Some(issuer)) => {
                Some(key_sets.issuer_key_set(issuer).map_err(|why| format!("auth: auth.issuer: {why}"))?)
            }
            (None, None) => None,
        };
        Ok(Self {
            source: TokenLocator::new(&config.source),
            required: config.required,
            tokens: TokenVerifier::new(config.algorithms.clone(), keys, key_set)
                .max_bytes(usize::try_from(config.max_token_bytes).unwrap_or(usize::MAX)),
            rules: ClaimRules::from_config(config),
            exposed: config.claims_to_metadata.clone(),
        })
    }

    /// Verifies the token of a request. A request without a token gets an anonymous identity if none is
    /// required.
    ///
    /// # Errors
    /// The [`RefusalReason`] of the caller.
    pub async fn verify(&self, request: PresentedRequest<'_>) -> Result<Identity, RefusalReason> {
        match self.source.token(request)? {
            Some(token) => {
                let claims = self.claims(token, request.now).await?;
                Ok(Identity { claims: Some(claims), ..Identity::default() })
            }
            None if self.required => Err(RefusalReason::Missing),
            None => Ok(Identity::default()),
        }
    }

    /// Verifies a token at the Unix time `now`, in seconds, and returns its claims.
    ///
    /// # Errors
    /// The [`RefusalReason`] of the token.
    pub async fn claims(&self, token: &[u8], now: i64) -> Result<Map<String, Value>, RefusalReason> {
        self.tokens.claims(token, &self.rules, now).await
    }

    /// Returns the claims that are copied to the metadata of a message.
    pub fn exposed_claims(&self, claims: &Map<String, Value>) -> Map<String, Value> {
        let Some(names) = &self.exposed else { return claims.clone() };
        names.iter().filter_map(|name| Some((name.clone(), claims.get(name)?.clone()))).collect()
    }
}

impl fmt::Debug for JwtVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwtVerifier")
            .field("tokens", &self.tokens)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

/// Returns the path of a static key below `channel.config`.
fn field(index: usize) -> String {
    format!("auth.jwt_keys[{index}].key")
}

fn static_key(index: usize, config: &JwtKey, resolver: &dyn Resolver) -> Result<NamedKey, String> {
    let field = field(index);
    let text = secret_field::resolve(&field, &config.key, resolver).map_err(|error| error.to_string())?;
    let key = VerifyingKey::from_text(config.algorithm, config.encoding, text.expose());
    let key = key.map_err(|error| format!("auth: {field}: {error}"))?;
    Ok(NamedKey { kid: config.kid.clone(), key })
}

/// Returns the problems of literal keys as (path below `channel.config`, message). References are not
/// resolved.
pub fn check_literal_keys(config: &JwtAuth) -> Vec<(String, String)> {
    let literal = config.keys.iter().enumerate().filter(|(_, key)| !is_reference(key.key.expose()));
    literal
        .filter_map(|(index, key)| {
            let error = VerifyingKey::from_text(key.algorithm, key.encoding, key.key.expose()).err()?;
            Some((field(index), error.to_string()))
        })
        .collect()
}
