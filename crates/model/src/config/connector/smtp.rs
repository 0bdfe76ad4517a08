//! The `config` of a mail connector.

use super::fields::{ConnectorFields, check_host, port, required_text, split_port};
use super::unresolved::is_unresolved;
use crate::config::SecretText;
use crate::config::block::ConfigBlock;
use crate::field::FieldError;

const SUBMISSION: u16 = 587;
const TIMEOUT_MS: u64 = 10_000;

/// The transport security of the connection to a mail server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmtpTls {
    /// TLS after `STARTTLS`, which the server must offer.
    StartTls,
    /// TLS from the first byte.
    Implicit,
    /// No encryption.
    None,
}

const TLS: [(&str, SmtpTls); 3] =
    [("starttls", SmtpTls::StartTls), ("implicit", SmtpTls::Implicit), ("none", SmtpTls::None)];

/// Settings of a mail connector.
#[derive(Clone, Debug, PartialEq)]
pub struct SmtpConfig {
    /// Host of the mail server.
    pub host: String,
    /// Port of the mail server.
    pub port: u16,
    /// Transport security.
    pub tls: SmtpTls,
    /// User name and password; `None` sends without authentication.
    pub auth: Option<(SecretText, SecretText)>,
    /// The sender.
    pub from: String,
    /// True if a task may name another sender.
    pub allow_from_override: bool,
    /// True if the host may have a private address.
    pub allow_private_urls: bool,
    /// Timeout for each step, in milliseconds.
    pub timeout_ms: u64,
}

pub(super) fn parse(block: &mut ConfigBlock<'_>) -> Result<SmtpConfig, Vec<FieldError>> {
    let mut fields = ConnectorFields::new(block);
    let config = SmtpConfig {
        host: fields.require(host),
        port: port(&mut fields, SUBMISSION),
        tls: fields.choice("tls", &TLS).unwrap_or(SmtpTls::StartTls),
        auth: fields.read(auth).flatten(),
        from: fields.require(from),
        allow_from_override: fields.flag("allow_from_override"),
        allow_private_urls: fields.flag("allow_private_urls"),
        timeout_ms: fields.positive("timeout_ms", TIMEOUT_MS),
    };
    fields.finish(config)
}

fn host(block: &mut ConfigBlock<'_>) -> Result<String, FieldError> {
    let host = required_text(block, "host")?;
    check_host(&host).map_err(|why| block.invalid("host", why))?;
    if !is_unresolved(&host) && split_port(&host).1.is_some() {
        return Err(block.invalid("host", "the port has a field of its own"));
    }
    Ok(host)
}

/// Reads the block `auth`; returns `None` if its `type` is still a placeholder or reference.
fn auth(block: &mut ConfigBlock<'_>) -> Result<Option<Option<(SecretText, SecretText)>>, FieldError> {
    if super::auth::is_unresolved(block) { Ok(None) } else { block.block("auth", credentials) }
}

fn credentials(block: &mut ConfigBlock<'_>) -> Result<Option<(SecretText, SecretText)>, FieldError> {
    match block.choice("type", &[("none", false), ("basic", true)])? {
        None | Some(false) => Ok(None),
        Some(true) => Ok(Some((
            SecretText::new(block.required_string("username")?),
            SecretText::new(block.required_string("password")?),
        ))),
    }
}

/// Reads a mailbox, `user@host` or `Name <user@host>`. The mail library validates it fully when a mail is
/// sent.
fn from(block: &mut ConfigBlock<'_>) -> Result<String, FieldError> {
    let text = required_text(block, "from")?;
    let address = match text.split_once('<') {
        Some((_, rest)) => rest.strip_suffix('>').unwrap_or_default(),
        None => text.as_str(),
    };
    let complete = address.split_once('@').is_some_and(|(user, host)| {
        !user.is_empty() && !host.is_empty() && !address.contains(char::is_whitespace)
    });
    if is_unresolved(&text) || (complete && !text.contains(char::is_control)) {
        return Ok(text);
    }
    Err(block.invalid("from", "use a mailbox like svc@example.com"))
}
