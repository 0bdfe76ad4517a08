//! A producer: opened when brokers answer, ended on a thread that may block.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord, Producer as _};
use rdkafka::util::Timeout;
use slog::Logger;

use super::broker_config::BrokerConfig;
use super::client_log::ClientLog;
use super::messages::Publish;
use crate::drivers::failure::CallFailure;
use crate::probe::PROBE_TIMEOUT;

/// Time that records in flight have when their producer ends.
const FLUSH: Duration = Duration::from_secs(5);

/// Codes of a broker that is not, or no longer, the one to ask. The client asks for the leader anew by itself; if it
/// has not found one within the time of a record, the next call opens another client.
const WRONG_BROKER: [RDKafkaErrorCode; 6] = [
    RDKafkaErrorCode::BrokerNotAvailable,
    RDKafkaErrorCode::FencedLeaderEpoch,
    RDKafkaErrorCode::KafkaStorageError,
    RDKafkaErrorCode::LeaderNotAvailable,
    RDKafkaErrorCode::NotLeaderForPartition,
    RDKafkaErrorCode::UnknownLeaderEpoch,
];

/// The refusal of a record that is too large, with its remedy.
const TOO_LARGE: &str = "the record is larger than its topic takes; raise max.message.bytes of the topic";

/// A producer. Cheap to clone; ends with the last clone.
#[derive(Clone)]
pub(super) struct Producer(Arc<Open>);

struct Open {
    /// `None` once it ends.
    producer: Option<FutureProducer<ClientLog>>,
    /// A broker said that it is the wrong one.
    is_misled: AtomicBool,
}

impl Drop for Open {
    /// Waits for records and threads, so it is done on a thread of its own; here only if none can be had.
    fn drop(&mut self) {
        if let Some(producer) = self.producer.take() {
            let end = move || {
                let _ = producer.flush(FLUSH);
                drop(producer);
            };
            let _ = thread::Builder::new().name("kafka-flush".to_owned()).spawn(end);
        }
    }
}

impl Producer {
    /// Waits until a broker has answered. `topic`: the topic of the records, if that is known.
    ///
    /// # Errors
    /// Brokers that do not answer, or properties that make no producer.
    pub(super) async fn open(
        broker_config: &BrokerConfig,
        topic: Option<String>,
        log: Logger,
    ) -> Result<Self, CallFailure> {
        let producer = Self::create(broker_config, log)?;
        producer.ask_brokers(topic, PROBE_TIMEOUT).await?;
        Ok(producer)
    }

    /// Makes a producer that has not asked any broker yet.
    ///
    /// # Errors
    /// Properties that make no producer.
    pub(super) fn create(broker_config: &BrokerConfig, log: Logger) -> Result<Self, CallFailure> {
        let producer: FutureProducer<ClientLog> = broker_config
            .config()
            .create_with_context(ClientLog { log })
            .map_err(|error| unusable(&error))?;
        Ok(Self(Arc::new(Open { producer: Some(producer), is_misled: AtomicBool::new(false) })))
    }

    /// Fetches the metadata of a topic, or of all.
    ///
    /// # Errors
    /// No broker answers within `limit`.
    pub(super) async fn ask_brokers(
        &self,
        topic: Option<String>,
        limit: Duration,
    ) -> Result<(), CallFailure> {
        let asking = self.clone();
        let fetch = tokio::task::spawn_blocking(move || match &asking.0.producer {
            Some(producer) => producer.client().fetch_metadata(topic.as_deref(), limit).map(drop),
            None => Ok(()),
        });
        let crashed = |error| CallFailure::Refused(format!("the producer crashed ({error})"));
        fetch.await.map_err(crashed)?.map_err(|error| call_failure(&error))
    }

    /// Publishes a record and waits until the brokers have it.
    ///
    /// # Errors
    /// [`CallFailure`] if the brokers may not have it.
    pub(super) async fn publish(&self, record: &Publish) -> Result<(), CallFailure> {
        let Some(producer) = &self.0.producer else {
            return Err(CallFailure::Unreachable("the producer has ended".into()));
        };
        let mut sent = FutureRecord::to(&record.topic);
        sent.payload = record.value.as_ref();
        sent.key = record.key.as_ref();
        if !record.headers.is_empty() {
            let headers = OwnedHeaders::new_with_capacity(record.headers.len());
            sent.headers =
                Some(record.headers.iter().fold(headers, |headers, (key, value)| {
                    headers.insert(Header { key, value: Some(value) })
                }));
        }
        let delivered = producer.send(sent, Timeout::After(Duration::ZERO)).await;
        delivered.map(drop).map_err(|(error, _)| {
            if error.rdkafka_error_code().is_some_and(|code| WRONG_BROKER.contains(&code)) {
                self.0.is_misled.store(true, Ordering::Relaxed);
            }
            call_failure(&error)
        })
    }

    /// Returns `true` if the producer must not be used again: it has failed for good, as an idempotent one does rather
    /// than write twice, or it has asked a wrong broker.
    pub(super) fn is_broken(&self) -> bool {
        let is_fatal = |producer: &FutureProducer<ClientLog>| producer.client().fatal_error().is_some();
        self.0.is_misled.load(Ordering::Relaxed) || self.0.producer.as_ref().is_none_or(is_fatal)
    }
}

/// Converts an error of making a producer.
fn unusable(error: &KafkaError) -> CallFailure {
    CallFailure::Refused(describe_unusable_client(error, "producer"))
}

/// Describes an error of making a client, such as a `producer`. Values of properties are not shown.
pub fn describe_unusable_client(error: &KafkaError, client: &str) -> String {
    match error {
        KafkaError::ClientConfig(_, _, name, _) => {
            format!("the property '{name}' of kafka.extra_config or kafka.auth cannot be used")
        }
        KafkaError::ClientCreation(why) => format!("there can be no {client} ({why})"),
        other => format!("there can be no {client} ({other})"),
    }
}

/// Converts an error of librdkafka, which has already retried what may be retried.
fn call_failure(error: &KafkaError) -> CallFailure {
    use RDKafkaErrorCode as Code;
    let Some(code) = error.rdkafka_error_code() else { return CallFailure::Refused(error.to_string()) };
    match code {
        Code::MessageTimedOut | Code::OperationTimedOut | Code::TimedOutQueue | Code::RequestTimedOut => {
            CallFailure::Timeout("the brokers did not acknowledge in time".to_owned())
        }
        Code::BrokerTransportFailure | Code::AllBrokersDown | Code::Resolve => {
            CallFailure::Unreachable(format!("no broker can be reached ({code})"))
        }
        code if WRONG_BROKER.contains(&code) => {
            CallFailure::Unreachable(format!("the broker is not the one to ask ({code})"))
        }
        Code::QueueFull => CallFailure::Unreachable("too many records wait for the brokers".to_owned()),
        Code::PurgeQueue | Code::PurgeInflight | Code::Fatal => {
            CallFailure::Unreachable(format!("the producer has ended ({code})"))
        }
        Code::MessageSizeTooLarge => CallFailure::Refused(TOO_LARGE.to_owned()),
        code => CallFailure::Refused(format!("the brokers refused ({code})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broker_refusals_differ_from_unreachable_brokers() {
        let of = |code| call_failure(&KafkaError::MessageProduction(code)).to_task_error("k").code.name();
        use RDKafkaErrorCode as Code;
        assert_eq!(of(Code::MessageTimedOut), "TIMEOUT_ERROR");
        let away = [Code::BrokerTransportFailure, Code::AllBrokersDown, Code::QueueFull, Code::Fatal];
        for code in away.into_iter().chain(WRONG_BROKER) {
            assert_eq!(of(code), "IO_ERROR", "{code:?}");
        }
        for code in [Code::MessageSizeTooLarge, Code::TopicAuthorizationFailed, Code::UnknownTopicOrPartition]
        {
            assert_eq!(of(code), "FUNCTION_ERROR", "{code:?}");
        }
    }

    #[test]
    fn unusable_property_is_named_without_its_value() {
        let mut config = rdkafka::ClientConfig::new();
        config.set("security.protocol", "swordfish");
        let log = Logger::root(slog::Discard, slog::o!());
        let made = config.create_with_context::<_, FutureProducer<ClientLog>>(ClientLog { log });
        let refused = unusable(&made.err().unwrap()).to_string();
        assert!(refused.contains("security.protocol") && !refused.contains("swordfish"), "{refused}");
    }
}
