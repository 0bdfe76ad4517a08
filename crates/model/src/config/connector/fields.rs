//! Readers of settings that several connector types share.

use serde_json::Value;

use super::unresolved::is_unresolved;
use crate::config::SecretText;
use crate::config::block::ConfigBlock;
use crate::config::declare::{Choice, KeyValue, block};
use crate::config::key_reference::{BlockReference, KeyReference, block, key};
use crate::field::FieldError;

/// Largest port number.
const MAX_PORT: u64 = 65_535;

type Read<T> = Result<Option<T>, FieldError>;

/// The operations of a connector that tasks may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationSwitches {
    denied: Vec<&'static str>,
}

/// Declares the switch of an operation.
pub(super) const fn operation(name: &'static str, description: &'static str) -> KeyReference {
    key(name, bool::KIND, "false", description).default("true")
}

/// The switches of a system that the portable dialect addresses.
const DATA_OPERATIONS: &[KeyReference] = &[
    operation("read", "tasks may read"),
    operation("insert", "tasks may insert"),
    operation("update", "tasks may update"),
    operation("delete", "tasks may delete"),
    operation("upsert", "tasks may upsert"),
    operation("raw_write", "tasks may write with statements of their own"),
];

/// The block with these switches.
pub(super) const OPERATIONS: BlockReference = block("operations", DATA_OPERATIONS);
/// The block with the restrictions of the portable dialect.
pub(super) const DIALECT: BlockReference = block("dialect", DialectConfig::KEYS);

impl OperationSwitches {
    /// Returns true if tasks may use the operation.
    pub fn allow(&self, operation: &str) -> bool {
        !self.denied.contains(&operation)
    }

    /// Reads the switches of these operations.
    pub(super) fn read_declared(
        block: &mut ConfigBlock<'_>,
        name: &'static str,
        operations: &'static [KeyReference],
    ) -> Read<Self> {
        block.block(name, |block| {
            let mut denied = Vec::new();
            for operation in operations {
                if block.boolean(operation.name)? == Some(false) {
                    denied.push(operation.name);
                }
            }
            Ok(Self { denied })
        })
    }
}

/// Reads those of the portable dialect.
impl KeyValue for OperationSwitches {
    const KIND: &'static str = "block";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Self> {
        Self::read_declared(block, name, DATA_OPERATIONS)
    }
}

block! {
    /// Restrictions of the portable dialect on a connector. Without entities, all are allowed.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct DialectConfig: Default {
        /// a task must declare its entities in `schema`
        pub require_schema: bool = false => true;
        /// entities that tasks may access; absent, all
        pub allowed_entities: Vec<String> = _ => ["orders"];
    }
}

/// An object of texts or other scalars, by name.
impl KeyValue for Vec<(String, SecretText)> {
    const KIND: &'static str = "object of scalars";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Self> {
        scalars(block, name, |_| Ok(()))
    }
}

/// Reads a URL with one of `schemes`, which are in lower case.
pub(super) fn url(
    block: &mut ConfigBlock<'_>,
    name: &'static str,
    schemes: &[&str],
) -> Result<String, FieldError> {
    let url = block.required_string(name)?;
    let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    if is_unresolved(&url) || scheme.is_some_and(|scheme| schemes.contains(&scheme.as_str())) {
        return Ok(url);
    }
    Err(block.invalid(name, format!("use a URL of the scheme {}", schemes.join(" or "))))
}

/// Reads a URL of the scheme http or https.
pub(super) fn http_url(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    url(block, name, &["http", "https"]).map(Some)
}

/// Reads a text that is not blank, for a declaration.
pub(super) fn text(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    required_text(block, name).map(Some)
}

/// Reads a secret that is not blank, for a declaration.
pub(super) fn secret_text(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<SecretText> {
    Ok(text(block, name)?.map(SecretText::new))
}

/// Reads one of a set of words. A placeholder or reference counts as the first of them.
pub(super) fn open_choice<T: Choice>(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<T> {
    if block.string(name)?.is_some_and(|text| is_unresolved(&text)) {
        return Ok(T::WORDS.first().map(|(_, value)| *value));
    }
    block.choice(name, T::WORDS)
}

/// Reads an object of texts, numbers and booleans as texts, after a check of each name.
pub(super) fn scalars(
    block: &mut ConfigBlock<'_>,
    name: &'static str,
    check: impl Fn(&str) -> Result<(), &'static str>,
) -> Read<Vec<(String, SecretText)>> {
    let mut scalars = Vec::new();
    for (key, value) in block.map(name)?.into_iter().flatten() {
        let field = format!("{name}.{key}");
        check(key).map_err(|why| block.invalid(&field, why))?;
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            other => return Err(FieldError::type_mismatch(block.field(&field), "scalar", other)),
        };
        scalars.push((key.clone(), SecretText::new(text)));
    }
    Ok(Some(scalars))
}

/// Reads a string that is not blank.
pub(super) fn required_text(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<String, FieldError> {
    let text = block.required_string(name)?;
    if text.trim().is_empty() { Err(block.invalid(name, "must not be empty")) } else { Ok(text) }
}

/// Checks a host, optionally with a port, without a scheme.
pub(super) fn check_host(text: &str) -> Result<(), &'static str> {
    if is_unresolved(text) {
        return Ok(());
    }
    if text.contains("://") {
        return Err("a host has no scheme");
    }
    let (host, port) = split_port(text);
    let named =
        !host.is_empty() && !host.contains(['/', '@', '?', '#', ',']) && !host.contains(char::is_whitespace);
    let port = port.is_none_or(|port| port.parse().is_ok_and(|port: u64| (1..=MAX_PORT).contains(&port)));
    if named && port { Ok(()) } else { Err("use a host, or a host and a port") }
}

/// Splits `host:port` or `[v6]:port`; the brackets are kept.
pub(super) fn split_port(text: &str) -> (&str, Option<&str>) {
    let end = text.rfind(']').unwrap_or(0);
    match text[end..].split_once(':') {
        // More than one colon outside brackets is an IPv6 address without a port.
        Some((_, port)) if end > 0 || !port.contains(':') => {
            (&text[..text.len() - port.len() - 1], Some(port))
        }
        _ => (text, None),
    }
}

/// Returns the authority of a URL: the part between scheme and path.
fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// Returns true if the URL contains a user name or password.
pub(super) fn has_credentials(url: &str) -> bool {
    !is_unresolved(url) && authority(url).contains('@')
}

/// Returns the hosts of a URL, which may be a comma-separated list.
pub(super) fn hosts(url: &str) -> impl Iterator<Item = &str> {
    let authority = authority(url);
    let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    hosts.split(',').map(|host| split_port(host).0).filter(|host| !host.is_empty())
}

/// A port.
impl KeyValue for u16 {
    const KIND: &'static str = "integer";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Self> {
        match block.positive(name)? {
            Some(port) => match Self::try_from(port) {
                Ok(port) => Ok(Some(port)),
                Err(_) => Err(block.invalid(name, format!("must be {MAX_PORT} or less"))),
            },
            None => Ok(None),
        }
    }
}
