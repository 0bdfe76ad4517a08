//! Extraction of the token from a request.

use svc_model::config::auth::TokenLocation;

use super::cookie::cookie;
use crate::presented::PresentedRequest;
use crate::reason::RefusalReason;
use crate::scheme::credential;

/// The place of the token in a request.
#[derive(Debug)]
pub(super) enum TokenLocator {
    /// A header, its name in lower case, with an optional scheme in front of the token.
    Header { name: String, scheme: Option<String> },
    /// A cookie.
    Cookie(String),
}

impl TokenLocator {
    pub(super) fn new(config: &TokenLocation) -> Self {
        match config {
            TokenLocation::Header { header, scheme } => {
                Self::Header { name: header.to_ascii_lowercase(), scheme: scheme.clone() }
            }
            TokenLocation::Cookie(name) => Self::Cookie(name.clone()),
        }
    }

    /// Returns the token, or `None` if the request has none.
    ///
    /// # Errors
    /// [`RefusalReason::Missing`] for a header with the scheme alone, [`RefusalReason::Malformed`] for a
    /// header with other content, because a presented credential must be checked.
    pub(super) fn token<'r>(&self, request: PresentedRequest<'r>) -> Result<Option<&'r [u8]>, RefusalReason> {
        match self {
            Self::Cookie(name) => Ok(cookie(request.headers, name)),
            Self::Header { name, scheme } => {
                let Some(value) = request.header(name) else { return Ok(None) };
                let scheme = scheme.as_deref();
                match credential(value, scheme) {
                    Some(token) => Ok(Some(token)),
                    None if is_alone(value, scheme) => Err(RefusalReason::Missing),
                    None => Err(RefusalReason::Malformed),
                }
            }
        }
    }
}

/// Returns true if nothing follows the scheme.
fn is_alone(value: &[u8], scheme: Option<&str>) -> bool {
    value.trim_ascii_end().eq_ignore_ascii_case(scheme.unwrap_or_default().as_bytes())
}
