//! Tokens: JWT (RFC 7519) signed as a compact JWS (RFC 7515), checked as RFC 8725 advises.
//!
//! The checks stand in a fixed order and the first failure ends them: size, header, allowed algorithm, the other parts, key,
//! signature, claims. No claim is read before the signature has been verified. A token never chooses how it is checked: every
//! [key](VerifyingKey) is bound to one algorithm, and keys or addresses of keys inside a token are not looked at.

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

use crate::authenticator::{Identity, PresentedRequest};
use crate::key_sets::KeySets;
use crate::reason::RefusalReason;
use crate::secret_field;
use source::TokenLocator;

pub use claims::ClaimRules;
pub(crate) use jwk::Jwk;
pub use key::{KeyError, VerifyingKey};
pub use signing::{SignError, SigningKey};
pub use verifier::{NamedKey, TokenVerifier};

/// The `jwt` mode of a channel, ready to verify. Shared by all threads.
pub struct JwtVerifier {
    source: TokenLocator,
    required: bool,
    tokens: TokenVerifier,
    rules: ClaimRules,
    exposed: Option<Vec<String>>,
}

impl JwtVerifier {
    /// Resolves references and parses keys, once.
    ///
    /// # Errors
    /// The reason to quarantine the channel: it names the field and never a value.
    pub fn build(config: &JwtAuth, resolver: &dyn Resolver, key_sets: &dyn KeySets) -> Result<Self, String> {
        let keys = config.keys.iter().enumerate().map(|(index, key)| static_key(index, key, resolver));
        let keys = keys.collect::<Result<_, String>>()?;
        let key_set = config.jwks_url.as_deref().map(|url| key_sets.at(url)).transpose();
        let key_set = key_set.map_err(|why| format!("auth: auth.jwks_url: {why}"))?;
        Ok(Self {
            source: TokenLocator::new(&config.source),
            required: config.required,
            tokens: TokenVerifier::new(config.algorithms.clone(), keys, key_set)
                .max_bytes(usize::try_from(config.max_token_bytes).unwrap_or(usize::MAX)),
            rules: ClaimRules::of(config),
            exposed: config.claims_to_metadata.clone(),
        })
    }

    /// Verifies the token of a request. Without one, and when none is required, nobody is identified.
    ///
    /// # Errors
    /// Why the caller is refused.
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

    /// The claims of a token that is valid at an instant, in seconds of the Unix time.
    ///
    /// # Errors
    /// Why the token is refused.
    pub async fn claims(&self, token: &[u8], now: i64) -> Result<Map<String, Value>, RefusalReason> {
        self.tokens.claims(token, &self.rules, now).await
    }

    /// The claims that may reach the metadata of a message.
    pub fn exposed(&self, claims: &Map<String, Value>) -> Map<String, Value> {
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

/// Where a static key stands, below `channel.config`.
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
