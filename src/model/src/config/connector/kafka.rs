//! `config` of a Kafka connector. The credentials of the server's settings are for the brokers of the server's settings; a
//! connector that names others brings its own.

use super::fields::{ConnectorFields, OperationSwitches, check_host, filled, split_port};
use super::is_open;
use crate::config::SecretText;
use crate::config::block::ConfigBlock;
use crate::field::FieldError;

/// Where a broker listens, unless it says otherwise.
const PORT: &str = "9092";

/// How brokers are reached.
#[derive(Clone, Debug, PartialEq)]
pub struct KafkaConfig {
    /// `host:port` each; empty for those of the server's settings.
    pub brokers: Vec<String>,
    /// Where tasks publish that name no topic.
    pub topic: Option<String>,
    /// Credentials at the brokers; `None` for none, but at the brokers of the server's settings for those of its settings.
    pub auth: Option<KafkaSecurity>,
    /// Whether brokers may be private.
    pub allow_private_urls: bool,
    /// Operations that tasks may not use.
    pub operations: OperationSwitches,
}

/// Protection of the connection, and credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KafkaSecurity {
    /// Protocol of the connection.
    pub protocol: KafkaProtocol,
    /// Credentials; present with a protocol that authenticates, absent with another.
    pub sasl: Option<KafkaSasl>,
}

/// Protocol of the connection to a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KafkaProtocol {
    /// Neither encrypted nor authenticated.
    Plaintext,
    /// TLS.
    Ssl,
    /// SASL without TLS.
    SaslPlaintext,
    /// SASL over TLS.
    SaslSsl,
}

impl KafkaProtocol {
    /// The name in configs, and in the properties of the client.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plaintext => "plaintext",
            Self::Ssl => "ssl",
            Self::SaslPlaintext => "sasl_plaintext",
            Self::SaslSsl => "sasl_ssl",
        }
    }

    /// Tells whether the connection is encrypted.
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

/// SASL mechanisms, by the names of the client's property.
const MECHANISMS: [(&str, &str); 3] =
    [("PLAIN", "PLAIN"), ("SCRAM-SHA-256", "SCRAM-SHA-256"), ("SCRAM-SHA-512", "SCRAM-SHA-512")];

/// User and password at the brokers.
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
    let mut fields = ConnectorFields::of(block);
    let made = KafkaConfig {
        brokers: fields.require(brokers),
        topic: fields.read(topic),
        auth: fields.read(auth).flatten(),
        allow_private_urls: fields.flag("allow_private_urls"),
        operations: OperationSwitches::read(&mut fields, &["publish"]),
    };
    fields.finish(made)
}

fn topic(block: &mut ConfigBlock<'_>) -> Result<Option<String>, FieldError> {
    match block.string("topic")? {
        Some(topic) if topic.trim().is_empty() => Err(block.invalid("topic", "must not be empty")),
        topic => Ok(topic),
    }
}

/// The block `auth`, unless a choice in it is still open.
fn auth(block: &mut ConfigBlock<'_>) -> Result<Option<Option<KafkaSecurity>>, FieldError> {
    let open = block.map("auth").ok().flatten().is_some_and(|auth| {
        let choices = ["security_protocol", "sasl_mechanism"].map(|name| auth.get(name)?.as_str());
        choices.into_iter().flatten().any(is_open)
    });
    if open { Ok(None) } else { block.block("auth", |block| credentials(block).map(Some)) }
}

fn credentials(block: &mut ConfigBlock<'_>) -> Result<KafkaSecurity, FieldError> {
    let protocol = block.choice("security_protocol", &PROTOCOLS)?;
    let protocol = protocol.ok_or_else(|| block.missing("security_protocol"))?;
    let mechanism = block.choice("sasl_mechanism", &MECHANISMS)?;
    if protocol.authenticates() {
        let mechanism = mechanism.ok_or_else(|| block.missing("sasl_mechanism"))?;
        let username = filled(block, "sasl_username")?;
        let password = SecretText::new(filled(block, "sasl_password")?);
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
        None if is_open(&broker) => broker,
        None if broker.contains(':') && !broker.starts_with('[') => format!("[{broker}]:{PORT}"),
        None => format!("{broker}:{PORT}"),
    };
    Ok(brokers.into_iter().map(with_port).collect())
}
