//! Where a request carries its token.

use svc_model::config::auth::TokenSource;
use svc_model::cookie;

use crate::reason::Reason;

/// Where to look.
#[derive(Debug)]
pub(super) enum Source {
    /// A header, its name in lower case, with the scheme in front of the token if there is one.
    Header { name: String, scheme: Option<String> },
    /// A cookie.
    Cookie(String),
}

impl Source {
    pub(super) fn new(config: &TokenSource) -> Self {
        match config {
            TokenSource::Header { header, scheme } => {
                Self::Header { name: header.to_ascii_lowercase(), scheme: scheme.clone() }
            }
            TokenSource::Cookie(name) => Self::Cookie(name.clone()),
        }
    }

    /// The token, `None` when the request has none.
    ///
    /// A header that is there but carries something else is an error: whoever sends a credential wants it checked.
    pub(super) fn token<'r>(&self, headers: &'r [(String, Vec<u8>)]) -> Result<Option<&'r [u8]>, Reason> {
        match self {
            Self::Cookie(name) => Ok(cookie(headers, name).map(str::as_bytes)),
            Self::Header { name, scheme } => {
                let Some((_, value)) = headers.iter().find(|(present, _)| present == name) else {
                    return Ok(None);
                };
                match scheme {
                    None => Ok(Some(value)),
                    Some(scheme) => credential(value, scheme.as_bytes()).map(Some).ok_or(Reason::Malformed),
                }
            }
        }
    }
}

/// What follows `scheme 1*SP`, nothing when the scheme stands alone; the scheme compares without regard to case.
fn credential<'v>(value: &'v [u8], scheme: &[u8]) -> Option<&'v [u8]> {
    let (start, rest) = value.split_at_checked(scheme.len())?;
    let credential = rest.trim_ascii_start();
    let spaces = &rest[..rest.len() - credential.len()];
    let separated = !spaces.is_empty() || rest.is_empty();
    (start.eq_ignore_ascii_case(scheme) && separated && spaces.iter().all(|byte| *byte == b' '))
        .then_some(credential)
}
