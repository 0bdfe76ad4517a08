//! The `config` of a Kafka connector.
//!
//! The credentials in the settings of the server are used only for the brokers in those settings. A connector
//! with other brokers needs its own credentials.

use super::fields::{ConnectorFields, OperationSwitches, check_host, required_text, split_port};
use super::unresolved::is_unresolved;
use crate::config::SecretText;
use crate::config::block::ConfigBlock;
use crate::field::FieldError;

/// Default port of a broker.
const PORT: &str = "9092";

/// Settings of a Kafka connector.
#[derive(Clone, Debug, PartialEq)]
pub struct KafkaConfig {
    /// Brokers as `host:port`; empty uses the brokers of the server settings.
    pub brokers: Vec<String>,
    /// Default topic for tasks that name none.
    pub topic: Option<String>,
    /// Credentials; `None` uses those of the server settings if the brokers are also from there, otherwise
    /// none.
    pub auth: Option<KafkaSecurity>,
    /// True if brokers may have private addresses.
    pub allow_private_urls: bool,
    /// Operations that tasks may use.
    pub operations: OperationSwitches,
}

/// Transport security and credentials of the connection to the brokers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KafkaSecurity {
    /// The security protocol.
    pub protocol: KafkaProtocol,
    /// Credentials; present exactly for the protocols that authenticate.
    pub sasl: Option<KafkaSasl>,
}

/// The security protocol of the connection to a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KafkaProtocol {
    /// No encryption and no authentication.
    Plaintext,
    /// TLS.
    Ssl,
    /// SASL without TLS.
    SaslPlaintext,
    /// SASL over TLS.
    SaslSsl,
}

impl KafkaProtocol {
    /// Returns the name in configs and in the properties of the client.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plaintext => "plaintext",
            Self::Ssl => "ssl",
            Self::SaslPlaintext => "sasl_plaintext",
            Self::SaslSsl => "sasl_ssl",
        }
    }

    /// Returns true if the connection is encrypted.
    pub const fn is_encrypted(self) -> bool {
        matches!(self, Self::Ssl | Self::SaslSsl)
    }

    const fn authenticates(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslSsl)
    }
}

const PROTOCOLS: [(&str, KafkaProtocol); 4] = [
    (KafkaProtocol::Plaintext.name(), KafkaProtocol::Plaintext),
    (KafkaProtocol::Ssl.name(), KafkaProtocol::Ssl),
    (KafkaProtocol::SaslPlaintext.name(), KafkaProtocol::SaslPlaintext),
    (KafkaProtocol::SaslSsl.name(), KafkaProtocol::SaslSsl),
];

/// The SASL mechanisms, by their names in the property of the client.
const MECHANISMS: [(&str, &str); 3] =
    [("PLAIN", "PLAIN"), ("SCRAM-SHA-256", "SCRAM-SHA-256"), ("SCRAM-SHA-512", "SCRAM-SHA-512")];

/// SASL credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KafkaSasl {
    /// Name of the mechanism.
    pub mechanism: &'static str,
    /// User name.
    pub username: String,
    /// Password.
    pub password: SecretText,
}

pub(super) fn parse(block: &mut ConfigBlock<'_>) -> Result<KafkaConfig, Vec<FieldError>> {
    let mut fields = ConnectorFields::new(block);
    let config = KafkaConfig {
        brokers: fields.require(brokers),
        topic: fields.read(topic),
        auth: fields.read(auth).flatten(),
        allow_private_urls: fields.flag("allow_private_urls"),
        operations: OperationSwitches::read(&mut fields, &["publish"]),
    };
    fields.finish(config)
}

fn topic(block: &mut ConfigBlock<'_>) -> Result<Option<String>, FieldError> {
    match block.string("topic")? {
        Some(topic) if topic.trim().is_empty() => Err(block.invalid("topic", "must not be empty")),
        topic => Ok(topic),
    }
}

/// Reads the block `auth`; returns `None` if a choice in it is still a placeholder or reference.
fn auth(block: &mut ConfigBlock<'_>) -> Result<Option<Option<KafkaSecurity>>, FieldError> {
    let open = block.map("auth").ok().flatten().is_some_and(|auth| {
        let choices = ["security_protocol", "sasl_mechanism"].map(|name| auth.get(name)?.as_str());
        choices.into_iter().flatten().any(is_unresolved)
    });
    if open { Ok(None) } else { block.block("auth", |block| credentials(block).map(Some)) }
}

fn credentials(block: &mut ConfigBlock<'_>) -> Result<KafkaSecurity, FieldError> {
    let protocol = block.choice("security_protocol", &PROTOCOLS)?;
    let protocol = protocol.ok_or_else(|| block.missing("security_protocol"))?;
    let mechanism = block.choice("sasl_mechanism", &MECHANISMS)?;
    if protocol.authenticates() {
        let mechanism = mechanism.ok_or_else(|| block.missing("sasl_mechanism"))?;
        let username = required_text(block, "sasl_username")?;
        let password = SecretText::new(required_text(block, "sasl_password")?);
        return Ok(KafkaSecurity { protocol, sasl: Some(KafkaSasl { mechanism, username, password }) });
    }
    for name in ["sasl_mechanism", "sasl_username", "sasl_password"] {
        if block.any(name).is_some() {
            return Err(block.invalid(name, "needs the security_protocol sasl_plaintext or sasl_ssl"));
        }
    }
    Ok(KafkaSecurity { protocol, sasl: None })
}

fn brokers(block: &mut ConfigBlock<'_>) -> Result<Vec<String>, FieldError> {
    let brokers = block.strings("brokers")?.ok_or_else(|| block.missing("brokers"))?;
    for (index, broker) in brokers.iter().enumerate() {
        check_host(broker).map_err(|why| block.invalid(&format!("brokers[{index}]"), why))?;
    }
    let with_port = |broker: String| match split_port(&broker).1 {
        Some(_) => broker,
        None if is_unresolved(&broker) => broker,
        None if broker.contains(':') && !broker.starts_with('[') => format!("[{broker}]:{PORT}"),
        None => format!("{broker}:{PORT}"),
    };
    Ok(brokers.into_iter().map(with_port).collect())
}
