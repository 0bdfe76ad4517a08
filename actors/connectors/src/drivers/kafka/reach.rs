//! Which brokers a connector leads to, checked.

use std::net::SocketAddr;

use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use svc_outbound::{AddressError, Outbound};

use super::settings::KafkaSettings;
use crate::drivers::failure::Failure;
use crate::handle::{KafkaCluster, Settings};

/// What calls fail with where the server has no Kafka.
const OFF: &str = "Kafka is off on this server; set kafka.enabled";

/// What comes before the properties of the operator. The last two end an outage, and the wait for a topic that does not
/// exist, well before a record is given up.
const PROPERTIES: [(&str, &str); 10] = [
    ("client.id", "svc"),
    ("enable.idempotence", "true"),
    ("acks", "all"),
    ("compression.type", "lz4"),
    ("linger.ms", "5"),
    ("batch.size", "65536"),
    ("message.timeout.ms", "30000"),
    ("socket.connection.setup.timeout.ms", "10000"),
    ("reconnect.backoff.max.ms", "2000"),
    ("topic.metadata.propagation.max.ms", "5000"),
];

/// The brokers of a connector, and how they are spoken to.
#[derive(Clone)]
pub(super) struct Reach {
    brokers: Vec<String>,
    /// Whether brokers may be anywhere.
    trusted: bool,
    properties: Vec<(String, String)>,
    outbound: Outbound,
}

impl Reach {
    /// # Errors
    /// Kafka is off.
    pub(super) fn new(settings: &KafkaSettings, with: &Settings) -> Result<Self, Failure> {
        let cluster = with.kafka.as_ref().ok_or_else(|| Failure::Refused(OFF.to_owned()))?;
        let KafkaCluster { brokers, properties } = cluster.clone();
        let own = !settings.brokers.is_empty();
        Ok(Self {
            brokers: if own { settings.brokers.clone() } else { brokers },
            trusted: !own || settings.allow_private,
            properties,
            outbound: with.outbound.clone(),
        })
    }

    /// The properties of a producer whose brokers are checked.
    ///
    /// # Errors
    /// No broker has an address, or one of them has one that may not be dialled.
    pub(super) async fn config(&self) -> Result<ClientConfig, Failure> {
        let addresses = self.addresses().await?;
        let mut config = ClientConfig::new();
        config.set_log_level(RDKafkaLogLevel::Warning);
        let own = self.properties.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in PROPERTIES.into_iter().chain(own) {
            config.set(name, value);
        }
        let encrypted =
            config.get("security.protocol").is_some_and(|name| name.to_ascii_lowercase().contains("ssl"));
        // Certificates are for names, and prove who answers. Without them only a checked address will do.
        let bootstrap = match self.trusted || encrypted {
            true => self.brokers.join(","),
            false => addresses.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(","),
        };
        config.set("bootstrap.servers", bootstrap);
        Ok(config)
    }

    async fn addresses(&self) -> Result<Vec<SocketAddr>, Failure> {
        if self.trusted {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        let mut unresolved = None;
        for broker in &self.brokers {
            let (host, port) =
                split(broker).ok_or_else(|| Failure::Refused(format!("'{broker}' is no broker")))?;
            match self.outbound.addresses(host, port, false).await {
                Ok(addresses) => found.extend(addresses),
                Err(error @ AddressError::Unresolved { .. }) => unresolved = Some(error),
                Err(refused) => return Err(refused.into()),
            }
        }
        match unresolved {
            Some(error) if found.is_empty() => Err(error.into()),
            _ => Ok(found),
        }
    }

    /// Checks what brokers say about each other.
    ///
    /// # Errors
    /// One of them is where nobody may be led.
    pub(super) async fn check(&self, advertised: &[(String, u16)]) -> Result<(), Failure> {
        if self.trusted {
            return Ok(());
        }
        for (host, port) in advertised {
            match self.outbound.addresses(host, *port, false).await {
                // Of the others there may be enough.
                Ok(_) | Err(AddressError::Unresolved { .. }) => {}
                Err(refused) => return Err(refused.into()),
            }
        }
        Ok(())
    }
}

/// `host:port` and `[v6]:port` in two.
fn split(broker: &str) -> Option<(&str, u16)> {
    let (host, port) = broker.rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    Some((host, port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use svc_outbound::Trust;

    use super::*;

    fn reach(brokers: &[&str], trusted: bool, properties: &[(&str, &str)]) -> Reach {
        Reach {
            brokers: brokers.iter().map(|broker| (*broker).to_owned()).collect(),
            trusted,
            properties: properties
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            outbound: Outbound::new(&Trust::Only(String::new())).unwrap(),
        }
    }

    #[tokio::test]
    async fn a_private_broker_is_refused_whatever_stands_beside_it() {
        let refused = reach(&["8.8.8.8:9092", "[::1]:9092"], false, &[]).config().await.unwrap_err();
        assert!(refused.to_string().starts_with("SSRF protection: "), "{refused}");
        let config = reach(&["8.8.8.8:9092", "[2606:4700::1]:1"], false, &[]).config().await.unwrap();
        assert_eq!(config.get("bootstrap.servers"), Some("8.8.8.8:9092,[2606:4700::1]:1"));
        let config = reach(&["broker.invalid:1"], true, &[]).config().await.unwrap();
        assert_eq!(config.get("bootstrap.servers"), Some("broker.invalid:1"));
    }

    #[tokio::test]
    async fn brokers_that_are_advertised_are_checked_like_those_that_are_written() {
        let advertised = [("8.8.8.8".to_owned(), 9092), ("169.254.169.254".to_owned(), 80)];
        let reached = reach(&["8.8.8.8:9092"], false, &[]);
        assert!(reached.check(&advertised[..1]).await.is_ok());
        assert!(reached.check(&advertised).await.unwrap_err().to_string().starts_with("SSRF protection: "));
        assert!(reach(&["8.8.8.8:9092"], true, &[]).check(&advertised).await.is_ok());
    }

    #[tokio::test]
    async fn properties_of_the_operator_win_but_for_the_brokers() {
        let own =
            [("linger.ms", "0"), ("bootstrap.servers", "elsewhere:1"), ("security.protocol", "sasl_ssl")];
        let config = reach(&["8.8.8.8:9092"], false, &own).config().await.unwrap();
        assert_eq!(config.get("linger.ms"), Some("0"));
        assert_eq!((config.get("acks"), config.get("enable.idempotence")), (Some("all"), Some("true")));
        assert_eq!(config.get("bootstrap.servers"), Some("8.8.8.8:9092"));
    }
}
