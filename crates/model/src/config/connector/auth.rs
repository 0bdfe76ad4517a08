//! The `auth` block of an http connector.

use super::headers::check_header;
use super::oauth2::{self, OAuth2};
use super::unresolved;
use crate::config::SecretText;
use crate::config::block::{ConfigBlock, keep_or_report};
use crate::field::FieldError;

/// The credentials that a connector sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpAuth {
    /// `Authorization: Bearer`.
    Bearer {
        /// The token.
        token: SecretText,
    },
    /// `Authorization: Basic`.
    Basic {
        /// The user name.
        username: SecretText,
        /// The password.
        password: SecretText,
    },
    /// A key in a header.
    ApiKey {
        /// Name of the header.
        header: String,
        /// The key.
        key: SecretText,
    },
    /// Access tokens that the service obtains itself.
    OAuth2(Box<OAuth2>),
}

#[derive(Clone, Copy)]
enum Scheme {
    Bearer,
    Basic,
    ApiKey,
    OAuth2,
}

const SCHEMES: [(&str, Scheme); 4] = [
    ("bearer", Scheme::Bearer),
    ("basic", Scheme::Basic),
    ("apikey", Scheme::ApiKey),
    ("oauth2", Scheme::OAuth2),
];

/// Reads the block `auth` and adds its problems to `errors`. Returns `None` if the `type` is still a
/// placeholder or reference.
pub(super) fn read(block: &mut ConfigBlock<'_>, errors: &mut Vec<FieldError>) -> Option<HttpAuth> {
    if is_unresolved(block) {
        return None;
    }
    let mut problems = Vec::new();
    let auth = keep_or_report(block.block("auth", |block| parse(block, &mut problems)), errors).flatten();
    errors.append(&mut problems);
    auth
}

/// Returns true if the `type` of the block `auth` is still a placeholder or reference.
pub(super) fn is_unresolved(block: &mut ConfigBlock<'_>) -> bool {
    let auth = block.map("auth").ok().flatten();
    auth.and_then(|auth| auth.get("type")?.as_str()).is_some_and(unresolved::is_unresolved)
}

fn parse(
    block: &mut ConfigBlock<'_>,
    problems: &mut Vec<FieldError>,
) -> Result<Option<HttpAuth>, FieldError> {
    let scheme = block.choice("type", &SCHEMES)?.ok_or_else(|| block.missing("type"))?;
    let mut text = |read: Result<String, FieldError>| keep_or_report(read.map(Some), problems);
    Ok(match scheme {
        Scheme::Bearer => {
            text(credential(block, "token")).map(|token| HttpAuth::Bearer { token: SecretText::new(token) })
        }
        Scheme::Basic => {
            let (username, password) =
                (text(block.required_string("username")), text(block.required_string("password")));
            username.zip(password).map(|(username, password)| HttpAuth::Basic {
                username: SecretText::new(username),
                password: SecretText::new(password),
            })
        }
        Scheme::ApiKey => {
            let (header, key) = (text(header(block)), text(credential(block, "key")));
            header.zip(key).map(|(header, key)| HttpAuth::ApiKey { header, key: SecretText::new(key) })
        }
        Scheme::OAuth2 => Some(HttpAuth::OAuth2(Box::new(oauth2::parse(block)?))),
    })
}

fn header(block: &mut ConfigBlock<'_>) -> Result<String, FieldError> {
    let header = block.required_string("header")?;
    if !unresolved::is_unresolved(&header)
        && let Err(why) = check_header(&header, "")
    {
        return Err(block.invalid("header", why));
    }
    Ok(header)
}

/// Reads a credential that can be sent in a header.
fn credential(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<String, FieldError> {
    let text = block.required_string(name)?;
    if text.is_empty() {
        return Err(block.invalid(name, "must not be empty"));
    }
    if text.bytes().any(|byte| byte < b' ' && byte != b'\t' || byte == 0x7f) {
        return Err(block.invalid(name, "a header cannot hold control characters"));
    }
    Ok(text)
}
