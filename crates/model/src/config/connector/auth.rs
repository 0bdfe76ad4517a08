//! The `auth` block of an http connector.

use super::headers::check_header;
use super::oauth2::{self, OAuth2, OAuth2Keys};
use super::unresolved;
use crate::config::SecretText;
use crate::config::block::ConfigBlock;
use crate::config::declare::{KeyValue, block};
use crate::config::key_reference::{BlockReference, form};
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

block! {
    reports all;
    form "type" = "bearer", "`Authorization: Bearer`";
    /// The keys of type `bearer`.
    struct BearerKeys {
        /// the token, literal or a reference
        token: SecretText => "env://API_TOKEN", by(credential), secret();
    }
}

block! {
    reports all;
    form "type" = "basic", "`Authorization: Basic`";
    /// The keys of type `basic`.
    pub(super) struct BasicKeys {
        /// the user name
        pub(super) username: SecretText => "svc";
        /// the password, literal or a reference
        pub(super) password: SecretText => "env://API_PASSWORD", secret();
    }
}

block! {
    reports all;
    form "type" = "apikey", "a key in a header";
    /// The keys of type `apikey`.
    struct HeaderKeys {
        /// the header
        header: String => "x-api-key", by(header);
        /// the key, literal or a reference
        key: SecretText => "env://API_KEY", by(credential), secret();
    }
}

/// The form of type `bearer`.
pub(super) const BEARER: BlockReference = form("auth", BearerKeys::FORM, BearerKeys::KEYS);
/// The form of type `basic`.
pub(super) const BASIC: BlockReference = form("auth", BasicKeys::FORM, BasicKeys::KEYS);
/// The form of type `apikey`.
pub(super) const API_KEY: BlockReference = form("auth", HeaderKeys::FORM, HeaderKeys::KEYS);
/// The form of type `oauth2`.
pub(super) const OAUTH2: BlockReference = form("auth", OAuth2Keys::FORM, OAuth2Keys::KEYS);

/// Reports the problem of an unknown key before those of the known ones. A `type` that is still a placeholder or
/// reference counts as absent.
impl KeyValue for HttpAuth {
    const KIND: &'static str = "block";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Option<Self>, FieldError> {
        if is_unresolved(block) {
            return Ok(None);
        }
        let mut problems = Vec::new();
        let auth = block.block(name, |block| {
            let auth = parse(block);
            problems = block.take_problems();
            auth
        });
        let auth = match auth {
            Ok(auth) => auth.flatten(),
            Err(error) if problems.is_empty() => return Err(error),
            Err(error) => {
                block.report(error);
                None
            }
        };
        problems.into_iter().for_each(|problem| block.report(problem));
        Ok(auth)
    }
}

/// Returns true if the `type` of the block `auth` is still a placeholder or reference.
pub(super) fn is_unresolved(block: &mut ConfigBlock<'_>) -> bool {
    let auth = block.map("auth").ok().flatten();
    auth.and_then(|auth| auth.get("type")?.as_str()).is_some_and(unresolved::is_unresolved)
}

fn parse(block: &mut ConfigBlock<'_>) -> Result<Option<HttpAuth>, FieldError> {
    let scheme = block.choice("type", &SCHEMES)?.ok_or_else(|| block.missing("type"))?;
    Ok(match scheme {
        Scheme::Bearer => BearerKeys::read(block).map(|keys| HttpAuth::Bearer { token: keys.token }),
        Scheme::Basic => BasicKeys::read(block)
            .map(|BasicKeys { username, password }| HttpAuth::Basic { username, password }),
        Scheme::ApiKey => {
            HeaderKeys::read(block).map(|HeaderKeys { header, key }| HttpAuth::ApiKey { header, key })
        }
        Scheme::OAuth2 => Some(HttpAuth::OAuth2(Box::new(oauth2::parse(block)?))),
    })
}

fn header(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Option<String>, FieldError> {
    let header = block.required_string(name)?;
    if !unresolved::is_unresolved(&header)
        && let Err(why) = check_header(&header, "")
    {
        return Err(block.invalid(name, why));
    }
    Ok(Some(header))
}

/// Reads a credential that can be sent in a header.
fn credential(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Option<SecretText>, FieldError> {
    let text = block.required_string(name)?;
    if text.is_empty() {
        return Err(block.invalid(name, "must not be empty"));
    }
    if text.bytes().any(|byte| byte < b' ' && byte != b'\t' || byte == 0x7f) {
        return Err(block.invalid(name, "a header cannot hold control characters"));
    }
    Ok(Some(SecretText::new(text)))
}
