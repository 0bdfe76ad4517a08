//! `auth` of an http connector.

use super::oauth2::{self, OAuth2};
use crate::config::SecretText;
use crate::config::block::Block;
use crate::config::guards::is_token;
use crate::field::FieldError;

/// Who a connector says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpAuth {
    /// `Authorization: Bearer`.
    Bearer {
        /// The credential.
        token: SecretText,
    },
    /// `Authorization: Basic`.
    Basic {
        /// Who.
        username: SecretText,
        /// The credential.
        password: SecretText,
    },
    /// A key in a header.
    ApiKey {
        /// Name of the header.
        header: String,
        /// The credential.
        key: SecretText,
    },
    /// Tokens that the service gets by itself.
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

/// The block `auth`, unless it is still open which it is.
pub(super) fn read(block: &mut Block<'_>) -> Result<Option<HttpAuth>, FieldError> {
    if is_open(block) { Ok(None) } else { block.block("auth", parse) }
}

/// Whether the `type` of the block `auth` is not yet what will be used.
pub(super) fn is_open(block: &mut Block<'_>) -> bool {
    let auth = block.map("auth").ok().flatten();
    auth.and_then(|auth| auth.get("type")?.as_str()).is_some_and(super::is_open)
}

fn parse(block: &mut Block<'_>) -> Result<HttpAuth, FieldError> {
    let scheme = block.choice("type", &SCHEMES)?.ok_or_else(|| block.missing("type"))?;
    Ok(match scheme {
        Scheme::Bearer => HttpAuth::Bearer { token: credential(block, "token")? },
        Scheme::Basic => HttpAuth::Basic {
            username: SecretText::new(block.required_string("username")?),
            password: SecretText::new(block.required_string("password")?),
        },
        Scheme::ApiKey => {
            let header = block.required_string("header")?;
            if !super::is_open(&header) && !is_token(&header) {
                return Err(block.invalid("header", "this is no header name"));
            }
            HttpAuth::ApiKey { header, key: credential(block, "key")? }
        }
        Scheme::OAuth2 => HttpAuth::OAuth2(Box::new(oauth2::parse(block)?)),
    })
}

/// A text that can stand in a header.
fn credential(block: &mut Block<'_>, name: &'static str) -> Result<SecretText, FieldError> {
    let text = block.required_string(name)?;
    if text.is_empty() {
        return Err(block.invalid(name, "must not be empty"));
    }
    if text.bytes().any(|byte| byte < b' ' && byte != b'\t' || byte == 0x7f) {
        return Err(block.invalid(name, "a header cannot hold control characters"));
    }
    Ok(SecretText::new(text))
}
