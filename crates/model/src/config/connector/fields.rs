//! Readers of settings that several connector types share.

use super::unresolved::is_unresolved;
use crate::config::block::{ConfigBlock, keep_or_report};
use crate::field::FieldError;

/// Default maximum size of a response, in bytes.
pub(super) const MAX_RESPONSE_SIZE: u64 = 10 * 1024 * 1024;

/// Largest port number.
const MAX_PORT: u64 = 65_535;

/// A block that is being read, with the problems found so far.
pub(super) struct ConnectorFields<'b, 'a> {
    pub(super) block: &'b mut ConfigBlock<'a>,
    pub(super) errors: Vec<FieldError>,
}

impl<'b, 'a> ConnectorFields<'b, 'a> {
    pub(super) fn new(block: &'b mut ConfigBlock<'a>) -> Self {
        Self { block, errors: Vec::new() }
    }

    /// Reads an optional field.
    pub(super) fn read<T>(
        &mut self,
        read: impl FnOnce(&mut ConfigBlock<'a>) -> Result<Option<T>, FieldError>,
    ) -> Option<T> {
        keep_or_report(read(self.block), &mut self.errors)
    }

    /// Reads a required field; returns the default value after a problem.
    pub(super) fn require<T: Default>(
        &mut self,
        read: impl FnOnce(&mut ConfigBlock<'a>) -> Result<T, FieldError>,
    ) -> T {
        self.read(|block| read(block).map(Some)).unwrap_or_default()
    }

    pub(super) fn flag(&mut self, name: &'static str) -> bool {
        self.read(|block| block.boolean(name)).unwrap_or(false)
    }

    /// Reads an integer that is at least 1.
    pub(super) fn positive(&mut self, name: &'static str, default: u64) -> u64 {
        self.read(|block| block.positive(name)).unwrap_or(default)
    }

    /// Reads one of a set of names. For a placeholder or reference, returns the first of them.
    pub(super) fn choice<T: Copy>(&mut self, name: &'static str, choices: &[(&str, T)]) -> Option<T> {
        let open =
            |block: &mut ConfigBlock<'a>| Ok(block.string(name)?.is_some_and(|text| is_unresolved(&text)));
        match keep_or_report(open(self.block).map(Some), &mut self.errors) {
            Some(true) => choices.first().map(|(_, value)| *value),
            Some(false) => self.read(|block| block.choice(name, choices)),
            None => None,
        }
    }

    pub(super) fn refuse(&mut self, error: FieldError) {
        self.errors.push(error);
    }

    pub(super) fn finish<T>(self, made: T) -> Result<T, Vec<FieldError>> {
        if self.errors.is_empty() { Ok(made) } else { Err(self.errors) }
    }
}

/// The operations of a connector that tasks may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationSwitches {
    denied: Vec<&'static str>,
}

impl OperationSwitches {
    /// Returns true if tasks may use the operation.
    pub fn allow(&self, operation: &str) -> bool {
        !self.denied.contains(&operation)
    }

    pub(super) fn read(fields: &mut ConnectorFields<'_, '_>, operations: &[&'static str]) -> Self {
        let switches = fields.read(|block| {
            block.block("operations", |block| {
                let mut denied = Vec::new();
                for &operation in operations {
                    if block.boolean(operation)? == Some(false) {
                        denied.push(operation);
                    }
                }
                Ok(Self { denied })
            })
        });
        switches.unwrap_or_default()
    }
}

/// Restrictions of the portable dialect on a connector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DialectConfig {
    /// True if a document must declare its entities in a schema.
    pub require_schema: bool,
    /// Entities that documents may access; empty allows all.
    pub allowed_entities: Vec<String>,
}

impl DialectConfig {
    pub(super) fn read(fields: &mut ConnectorFields<'_, '_>) -> Self {
        let dialect = fields.read(|block| {
            block.block("dialect", |block| {
                Ok(Self {
                    require_schema: block.boolean("require_schema")?.unwrap_or(false),
                    allowed_entities: block.strings("allowed_entities")?.unwrap_or_default(),
                })
            })
        });
        dialect.unwrap_or_default()
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

/// Reads a port number.
pub(super) fn port(fields: &mut ConnectorFields<'_, '_>, default: u16) -> u16 {
    let read = fields.read(|block| match block.positive("port")? {
        Some(port) => match u16::try_from(port) {
            Ok(port) => Ok(Some(port)),
            Err(_) => Err(block.invalid("port", format!("must be {MAX_PORT} or less"))),
        },
        None => Ok(None),
    });
    read.unwrap_or(default)
}
