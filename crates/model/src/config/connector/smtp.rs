//! The `config` of a mail connector.

use super::auth::{BASIC, BasicKeys, is_unresolved as is_open};
use super::fields::{check_host, open_choice, required_text, split_port};
use super::unresolved::is_unresolved;
use crate::config::SecretText;
use crate::config::block::ConfigBlock;
use crate::config::declare::{KeyValue, block, choice, positive};
use crate::config::key_reference::{BlockReference, KeyReference, block, form, key};
use crate::field::FieldError;

choice! {
    /// The transport security of the connection to a mail server.
    pub enum SmtpTls {
        /// TLS after `STARTTLS`, which the server must offer.
        StartTls = "starttls",
        /// TLS from the first byte.
        Implicit = "implicit",
        /// No encryption.
        None = "none",
    }
}

block! {
    reports all;
    /// Settings of a mail connector. Without credentials, mail is sent without authentication.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SmtpConfig {
        /// the mail server
        pub host: String => "mail.example", by(host);
        /// its port
        pub port: u16 = 587 => 465;
        /// the transport security
        pub tls: SmtpTls = "starttls" => "implicit", by(open_choice);
        /// credentials
        pub auth: Option<(SecretText, SecretText)> => {"type": "none"};
        /// the sender
        pub from: String => "svc@example.com", by(from);
        /// a task may name another sender
        pub allow_from_override: bool = false => true;
        /// the host may have a private address
        pub allow_private_urls: bool = false => true;
        /// milliseconds for each step
        pub timeout_ms: u64 = 10000 => 5000, by(positive);
    }
}

/// The key of `auth` without credentials.
const NO_AUTH: &[KeyReference] = &[key("type", "`none`", "\"none\"", "no credentials").default("\"none\"")];

impl SmtpConfig {
    /// The blocks of the config; the first is the config itself.
    pub(super) const BLOCKS: &'static [BlockReference] =
        &[block("", Self::KEYS), form("auth", r#"{"type": "none"}"#, NO_AUTH), BASIC];
}

type Read<T> = Result<Option<T>, FieldError>;

fn host(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    let host = required_text(block, name)?;
    check_host(&host).map_err(|why| block.invalid(name, why))?;
    if !is_unresolved(&host) && split_port(&host).1.is_some() {
        return Err(block.invalid(name, "the port has a field of its own"));
    }
    Ok(Some(host))
}

/// User name and password. A `type` that is still a placeholder or reference counts as absent.
impl KeyValue for (SecretText, SecretText) {
    const KIND: &'static str = "block";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Self> {
        if is_open(block) { Ok(None) } else { Ok(block.block(name, credentials)?.flatten()) }
    }
}

/// Stops at the first problem.
fn credentials(block: &mut ConfigBlock<'_>) -> Read<(SecretText, SecretText)> {
    match block.choice("type", &[("none", false), ("basic", true)])? {
        None | Some(false) => Ok(None),
        Some(true) => {
            let keys = BasicKeys::read(block);
            let problem = block.take_problems().into_iter().next();
            problem.map_or(Ok(keys.map(|keys| (keys.username, keys.password))), Err)
        }
    }
}

/// Reads a mailbox, `user@host` or `Name <user@host>`. The mail library validates it fully when a mail is
/// sent.
fn from(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    let text = required_text(block, name)?;
    let address = match text.split_once('<') {
        Some((_, rest)) => rest.strip_suffix('>').unwrap_or_default(),
        None => text.as_str(),
    };
    let complete = address.split_once('@').is_some_and(|(user, host)| {
        !user.is_empty() && !host.is_empty() && !address.contains(char::is_whitespace)
    });
    if is_unresolved(&text) || (complete && !text.contains(char::is_control)) {
        return Ok(Some(text));
    }
    Err(block.invalid(name, "use a mailbox like svc@example.com"))
}
