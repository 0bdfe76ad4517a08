//! The brokers that a connector leads to, and the credentials for them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use svc_model::config::connector::KafkaSecurity;
use svc_outbound::Outbound;
use svc_secrets::mask::looks_secret;

use super::settings::KafkaSettings;
use crate::drivers::failure::CallFailure;
use crate::settings::{KafkaCluster, Settings};

/// The failure of calls if the server has no Kafka.
const OFF: &str = "Kafka is off on this server; set kafka.enabled";
/// The failure of calls of a connector whose brokers cannot be confined to public addresses.
const UNCHECKED: &str = "SSRF protection: the Kafka client resolves the names that brokers announce by itself, so their addresses \
     cannot be checked; a connector with brokers of its own needs allow_private_urls";

/// Defaults below the properties of the operator. The size of a record is bounded by the brokers alone, so that
/// what was read from a topic can be written to another. Metadata is refreshed often enough that a topic is
/// written to soon after that is permitted. The last two end an outage, and the wait for a topic that does not
/// exist, well before a record is given up.
const PROPERTIES: [(&str, &str); 12] = [
    ("client.id", "svc"),
    ("enable.idempotence", "true"),
    ("acks", "all"),
    ("compression.type", "lz4"),
    ("linger.ms", "5"),
    ("batch.size", "65536"),
    ("message.max.bytes", "104857600"),
    ("message.timeout.ms", "30000"),
    ("topic.metadata.refresh.interval.ms", "10000"),
    ("socket.connection.setup.timeout.ms", "10000"),
    ("reconnect.backoff.max.ms", "2000"),
    ("topic.metadata.propagation.max.ms", "5000"),
];

/// The brokers of a connector, and the properties of its client.
#[derive(Clone)]
pub(super) struct BrokerConfig {
    brokers: Vec<String>,
    properties: Vec<(String, String)>,
}

impl BrokerConfig {
    /// The brokers of a connector: the server's, with the credentials of its settings, or others, with those
    /// of the connector.
    ///
    /// # Errors
    /// Kafka is off, or the connector names brokers of its own without `allow_private_urls`.
    pub(super) fn new(settings: &KafkaSettings, with: &Settings) -> Result<Self, CallFailure> {
        let cluster = with.kafka.as_ref().ok_or_else(|| CallFailure::Refused(OFF.to_owned()))?;
        Self::within(settings, cluster, &with.outbound)
    }

    /// The brokers of the server's settings.
    pub(super) fn home(cluster: &KafkaCluster) -> Self {
        Self { brokers: cluster.brokers.clone(), properties: cluster.properties.clone() }
    }

    fn within(
        settings: &KafkaSettings,
        cluster: &KafkaCluster,
        outbound: &Outbound,
    ) -> Result<Self, CallFailure> {
        let own = |broker: &String| cluster.brokers.iter().any(|known| known.eq_ignore_ascii_case(broker));
        let at_home = settings.brokers.iter().all(own);
        if !at_home && !settings.allow_private {
            return Err(CallFailure::Forbidden(UNCHECKED));
        }
        let home = Self::home(cluster);
        let brokers = if settings.brokers.is_empty() { home.brokers } else { settings.brokers.clone() };
        let inherited = home.properties.into_iter().filter(|(name, _)| match (&settings.auth, at_home) {
            (None, true) => true,
            (Some(_), true) => !is_credential(name),
            (_, false) => !is_credential(name) && !is_trust(name),
        });
        let mut properties: Vec<_> = inherited.collect();
        if let Some(auth) = &settings.auth {
            properties.extend(credentials(auth));
            if auth.protocol.is_encrypted() && !at_home {
                properties.push(("ssl.ca.pem".to_owned(), anchors(outbound)));
            }
        }
        Ok(Self { brokers, properties })
    }

    /// The properties of a producer.
    pub(super) fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set_log_level(RDKafkaLogLevel::Warning);
        let own = self.properties.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in PROPERTIES.into_iter().chain(own) {
            config.set(name, value);
        }
        // Another name of the brokers, which would count beside them.
        config.remove("metadata.broker.list");
        config.set("bootstrap.servers", self.brokers.join(","));
        config
    }
}

/// Returns true if a property of the operator proves who this service is.
fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let parts = ["sasl.", "enable.sasl.", "ssl.key", "ssl.certificate", "ssl.keystore", "ssl.engine"];
    name == "security.protocol" || parts.iter().any(|part| name.starts_with(part)) || looks_secret(&name)
}

/// Returns true if a property of the operator says whom to trust at its brokers.
fn is_trust(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("ssl.") || name.starts_with("enable.ssl.")
}

fn credentials(auth: &KafkaSecurity) -> Vec<(String, String)> {
    let mut properties = vec![("security.protocol", auth.protocol.name().to_owned())];
    if let Some(sasl) = &auth.sasl {
        properties.push(("sasl.mechanism", sasl.mechanism.to_owned()));
        properties.push(("sasl.username", sasl.username.clone()));
        properties.push(("sasl.password", sasl.password.expose().to_owned()));
    }
    properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The trust anchors of every outbound connection, as PEM.
fn anchors(outbound: &Outbound) -> String {
    let pem = outbound.anchor_certificates().iter().map(|certificate| {
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(certificate))
    });
    pem.collect()
}

#[cfg(test)]
mod tests;
