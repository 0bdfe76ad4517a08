//! Validation of the claims of a verified token (RFC 7519, section 4.1).

use std::fmt;

use serde_json::{Map, Value};
use svc_model::config::auth::JwtAuth;

use crate::reason::RefusalReason;

/// The rules for the claims of a token, checked in a fixed order: `exp`, `nbf`, `iss`, `aud`.
///
/// Issuers and audiences may be secrets: `Debug` does not show them.
#[derive(Clone)]
pub struct ClaimRules {
    /// Accepted issuers; empty disables the check.
    pub issuers: Vec<String>,
    /// Accepted audiences; empty disables the check.
    pub audiences: Vec<String>,
    /// Tolerated clock skew, in seconds.
    pub leeway_secs: u64,
    /// True if a token without `exp` is refused.
    pub require_exp: bool,
}

impl ClaimRules {
    /// Returns the rules of a channel.
    pub(super) fn from_config(config: &JwtAuth) -> Self {
        Self {
            issuers: config.issuers.clone(),
            audiences: config.audiences.clone(),
            leeway_secs: config.leeway_secs,
            require_exp: config.require_exp,
        }
    }

    /// Checks the claims at the Unix time `now`, in seconds.
    pub(super) fn check(&self, claims: &Map<String, Value>, now: i64) -> Result<(), RefusalReason> {
        let (now, leeway) = (now as f64, self.leeway_secs as f64);
        match instant(claims, "exp")? {
            None if self.require_exp => return Err(RefusalReason::MissingClaim),
            Some(exp) if now >= exp + leeway => return Err(RefusalReason::Expired),
            _ => {}
        }
        if instant(claims, "nbf")?.is_some_and(|nbf| now < nbf - leeway) {
            return Err(RefusalReason::NotYetValid);
        }
        self.issuer(claims)?;
        self.audience(claims)
    }

    fn issuer(&self, claims: &Map<String, Value>) -> Result<(), RefusalReason> {
        if self.issuers.is_empty() {
            return Ok(());
        }
        let issuer = claims.get("iss").and_then(Value::as_str).ok_or(RefusalReason::MissingClaim)?;
        if contains(&self.issuers, issuer) { Ok(()) } else { Err(RefusalReason::IssuerMismatch) }
    }

    /// Checks that token and rules have at least one audience in common.
    fn audience(&self, claims: &Map<String, Value>) -> Result<(), RefusalReason> {
        if self.audiences.is_empty() {
            return Ok(());
        }
        let accepted = match claims.get("aud") {
            Some(Value::String(audience)) => contains(&self.audiences, audience),
            Some(Value::Array(audiences)) => {
                let audiences: Option<Vec<&str>> = audiences.iter().map(Value::as_str).collect();
                let audiences = audiences.ok_or(RefusalReason::MissingClaim)?;
                audiences.into_iter().any(|audience| contains(&self.audiences, audience))
            }
            _ => return Err(RefusalReason::MissingClaim),
        };
        if accepted { Ok(()) } else { Err(RefusalReason::AudienceMismatch) }
    }
}

impl fmt::Debug for ClaimRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaimRules")
            .field("issuers", &self.issuers.len())
            .field("audiences", &self.audiences.len())
            .field("leeway_secs", &self.leeway_secs)
            .field("require_exp", &self.require_exp)
            .finish()
    }
}

/// Returns a NumericDate claim. A claim of another type is an error: treating it as absent would disable the
/// check.
fn instant(claims: &Map<String, Value>, name: &str) -> Result<Option<f64>, RefusalReason> {
    match claims.get(name) {
        None => Ok(None),
        // Exact to the second up to 2^53. The precision beyond does not matter.
        Some(Value::Number(seconds)) => seconds.as_f64().map(Some).ok_or(RefusalReason::MissingClaim),
        Some(_) => Err(RefusalReason::MissingClaim),
    }
}

fn contains(accepted: &[String], value: &str) -> bool {
    accepted.iter().any(|accepted| accepted == value)
}
