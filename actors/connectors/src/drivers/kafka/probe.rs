//! Whether brokers answer.

use slog::{Discard, Logger, o};

use super::producer::Producer;
use super::reach::Reach;
use super::settings::KafkaSettings;
use crate::drivers::failure::Failure;
use crate::handle::Settings;
use crate::probe::Probe;

/// The reason why no broker of a connector is ever asked.
pub(crate) fn refusal(kafka: &KafkaSettings, with: &Settings) -> Option<String> {
    let refused = Reach::new(kafka, with).err().filter(|failure| matches!(failure, Failure::Forbidden(_)));
    refused.map(|failure| failure.to_string())
}

/// Asks for the brokers and the topic of the connector, over connections of its own. Nothing is published.
pub(crate) async fn probe(kafka: &KafkaSettings, with: &Settings) -> Probe {
    let what = "metadata fetch";
    let opened = match Reach::new(kafka, with) {
        Ok(reach) => Producer::open(&reach, kafka.topic.clone(), Logger::root(Discard, o!())).await,
        Err(off) => Err(off),
    };
    match opened {
        Ok(_) => Probe { reachable: true, supported: true, probe: what, error: None },
        Err(failure) => Probe::failed(true, what, failure.to_string()),
    }
}
