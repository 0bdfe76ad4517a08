//! The `config` of a Kafka connector.
//!
//! The credentials in the settings of the server are used only for the brokers in those settings. A connector
//! with other brokers needs its own credentials.

use super::fields::{OperationSwitches, check_host, operation, required_text, split_port};
use super::unresolved::is_unresolved;
use crate::config::SecretText;
use crate::config::block::ConfigBlock;
use crate::config::declare::{Choice, KeyValue, block, choice};
use crate::config::key_reference::{BlockReference, KeyReference, block};
use crate::field::FieldError;

/// Default port of a broker.
const PORT: &str = "9092";

block! {
    reports all;
    /// Settings of a Kafka connector. Without brokers, those of the server settings are used; without credentials,
    /// those of the server settings if the brokers are also from there, otherwise none.
    #[derive(Clone, Debug, PartialEq)]
    pub struct KafkaConfig {
        /// `host:port`; empty, those of the server's settings
        pub brokers: Vec<String> => ["broker:9092"], by(brokers);
        /// for tasks that name none
        pub topic: Option<String> => "orders", by(topic);
        /// transport security and credentials
        pub auth: Option<KafkaSecurity> => {"security_protocol": "ssl"};
        /// the host may have a private address
        pub allow_private_urls: bool = false => true;
        /// operations that tasks may use
        pub operations: OperationSwitches = _ => {}, by(operations);
    }
}

const OPERATIONS: &[KeyReference] = &[operation("publish", "tasks may publish")];

block! {
    /// The keys of `auth`.
    struct KafkaAuthKeys {
        /// the security protocol
        security_protocol: KafkaProtocol => "ssl";
        /// with `sasl_…`
        sasl_mechanism: Option<SaslMechanism> => _, by(sasl_mechanism);
        /// the user name, with `sasl_…`
        sasl_username: Option<String> => _, by(sasl_text);
        /// the password, literal or a reference, with `sasl_…`
        sasl_password: Option<String> => _, by(sasl_text), secret();
    }
}

/// Transport security and credentials of the connection to the brokers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KafkaSecurity {
    /// The security protocol.
    pub protocol: KafkaProtocol,
    /// Credentials; present exactly for the protocols that authenticate.
    pub sasl: Option<KafkaSasl>,
}

choice! {
    /// The security protocol of the connection to a broker.
    pub enum KafkaProtocol {
        /// No encryption and no authentication.
        Plaintext = "plaintext",
        /// TLS.
        Ssl = "ssl",
        /// SASL without TLS.
        SaslPlaintext = "sasl_plaintext",
        /// SASL over TLS.
        SaslSsl = "sasl_ssl",
    }
}

impl KafkaProtocol {
    /// Returns the name in configs and in the properties of the client.
    pub fn name(self) -> &'static str {
        self.word()
    }

    /// Returns true if the connection is encrypted.
    pub const fn is_encrypted(self) -> bool {
        matches!(self, Self::Ssl | Self::SaslSsl)
    }

    const fn authenticates(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslSsl)
    }
}

choice! {
    /// The SASL mechanisms, by their names in the property of the client.
    enum SaslMechanism {
        /// The password as it is.
        Plain = "PLAIN",
        /// RFC 7677.
        ScramSha256 = "SCRAM-SHA-256",
        /// The same with a longer hash.
        ScramSha512 = "SCRAM-SHA-512",
    }
}

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

impl KafkaConfig {
    /// The blocks of the config; the first is the config itself.
    pub(super) const BLOCKS: &'static [BlockReference] =
        &[block("", Self::KEYS), block("auth", KafkaAuthKeys::KEYS), block("operations", OPERATIONS)];
}

type Read<T> = Result<Option<T>, FieldError>;

fn operations(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<OperationSwitches> {
    OperationSwitches::read_declared(block, name, OPERATIONS)
}

fn topic(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    match block.string(name)? {
        Some(topic) if topic.trim().is_empty() => Err(block.invalid(name, "must not be empty")),
        topic => Ok(topic),
    }
}

/// A choice in the block that is still a placeholder or reference makes it count as absent.
impl KeyValue for KafkaSecurity {
    const KIND: &'static str = "block";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Self> {
        let open = block.map(name).ok().flatten().is_some_and(|auth| {
            let choices = ["security_protocol", "sasl_mechanism"].map(|name| auth.get(name)?.as_str());
            choices.into_iter().flatten().any(is_unresolved)
        });
        if open { Ok(None) } else { block.block(name, credentials) }
    }
}

fn authenticates(block: &mut ConfigBlock<'_>) -> Result<bool, FieldError> {
    let protocol: Option<KafkaProtocol> = KeyValue::read(block, "security_protocol")?;
    Ok(protocol.is_some_and(KafkaProtocol::authenticates))
}

/// Refuses a key that only the protocols with SASL have.
fn refuse_sasl<T>(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<T> {
    match block.any(name) {
        Some(_) => Err(block.invalid(name, "needs the security_protocol sasl_plaintext or sasl_ssl")),
        None => Ok(None),
    }
}

fn sasl_mechanism(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<SaslMechanism> {
    let mechanism = KeyValue::read(block, name)?;
    match (authenticates(block)?, mechanism) {
        (true, None) => Err(block.missing(name)),
        (true, mechanism) => Ok(mechanism),
        (false, _) => refuse_sasl(block, name),
    }
}

fn sasl_text(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    if authenticates(block)? { required_text(block, name).map(Some) } else { refuse_sasl(block, name) }
}

fn credentials(block: &mut ConfigBlock<'_>) -> Result<KafkaSecurity, FieldError> {
    let KafkaAuthKeys { security_protocol: protocol, sasl_mechanism, sasl_username, sasl_password } =
        KafkaAuthKeys::read(block)?;
    let sasl = sasl_mechanism.map(|mechanism| KafkaSasl {
        mechanism: mechanism.word(),
        username: sasl_username.unwrap_or_default(),
        password: SecretText::new(sasl_password.unwrap_or_default()),
    });
    Ok(KafkaSecurity { protocol, sasl })
}

fn brokers(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<String>> {
    let brokers = block.strings(name)?.ok_or_else(|| block.missing(name))?;
    for (index, broker) in brokers.iter().enumerate() {
        check_host(broker).map_err(|why| block.invalid(&format!("{name}[{index}]"), why))?;
    }
    let with_port = |broker: String| match split_port(&broker).1 {
        Some(_) => broker,
        None if is_unresolved(&broker) => broker,
        None if broker.contains(':') && !broker.starts_with('[') => format!("[{broker}]:{PORT}"),
        None => format!("{broker}:{PORT}"),
    };
    Ok(Some(brokers.into_iter().map(with_port).collect()))
}
