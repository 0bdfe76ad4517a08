//! The probe of Kafka brokers.

use slog::{Discard, Logger, o};

use super::broker_config::BrokerConfig;
use super::producer::Producer;
use super::settings::KafkaSettings;
use crate::drivers::failure::CallFailure;
use crate::probe::ConnectorProbe;
use crate::settings::Settings;

/// The reason why no broker of a connector is ever asked.
pub(crate) fn refusal(kafka: &KafkaSettings, settings: &Settings) -> Option<String> {
    let refused = BrokerConfig::new(kafka, settings)
        .err()
        .filter(|failure| matches!(failure, CallFailure::Forbidden(_)));
    refused.map(|failure| failure.to_string())
}

/// The operation that a probe tries.
const OPERATION: &str = "metadata fetch";

/// Fetches the metadata of the brokers and the topic, over connections of its own. Publishes nothing.
pub(crate) async fn probe(kafka: &KafkaSettings, settings: &Settings) -> ConnectorProbe {
    let opened = match BrokerConfig::new(kafka, settings) {
        Ok(broker_config) => {
            Producer::open(&broker_config, kafka.topic.clone(), Logger::root(Discard, o!())).await
        }
        Err(off) => Err(off),
    };
    match opened {
        Ok(_) => ConnectorProbe::reached(OPERATION),
        Err(failure) => ConnectorProbe::failed(OPERATION, failure.to_string()),
    }
}
