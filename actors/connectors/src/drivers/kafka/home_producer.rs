//! A producer for what the service itself publishes, at the brokers of the server's settings.

use std::fmt;

use parking_lot::Mutex;
use slog::Logger;

use super::broker_config::BrokerConfig;
use super::messages::Publish;
use super::producer::Producer;
use crate::settings::KafkaCluster;

/// An idempotent producer at the brokers of the server's settings, which no connector shares. Opened with its
/// first record, and anew after it failed for good.
pub struct KafkaProducer {
    brokers: BrokerConfig,
    open: Mutex<Option<Producer>>,
    log: Logger,
}

impl KafkaProducer {
    /// Creates a producer that is not open yet.
    pub fn new(cluster: &KafkaCluster, log: Logger) -> Self {
        Self { brokers: BrokerConfig::home(cluster), open: Mutex::default(), log }
    }

    /// Opens the producer. Asks no broker.
    ///
    /// # Errors
    /// The property that makes no producer, without its value.
    pub fn open(&self) -> Result<(), String> {
        self.producer().map(drop)
    }

    /// Publishes a record and waits until the brokers have acknowledged it.
    ///
    /// # Errors
    /// The reason why the brokers may not have it.
    pub async fn publish(
        &self,
        topic: &str,
        key: &str,
        value: String,
        headers: Vec<(String, String)>,
    ) -> Result<(), String> {
        let record =
            Publish { topic: topic.to_owned(), key: Some(key.to_owned()), value: Some(value), headers };
        self.producer()?.publish(&record).await.map_err(|failure| failure.to_string())
    }

    fn producer(&self) -> Result<Producer, String> {
        let mut open = self.open.lock();
        if open.as_ref().is_some_and(Producer::is_broken) {
            *open = None;
        }
        if let Some(producer) = &*open {
            return Ok(producer.clone());
        }
        let producer =
            Producer::create(&self.brokers, self.log.clone()).map_err(|failure| failure.to_string())?;
        Ok(open.insert(producer).clone())
    }
}

impl fmt::Debug for KafkaProducer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaProducer").finish_non_exhaustive()
    }
}
