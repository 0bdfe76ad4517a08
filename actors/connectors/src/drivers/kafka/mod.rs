//! Kafka brokers, to publish to.
//!
//! The actor of a connector owns one producer, opened with its first record. Message in: [`Publish`], read-only; it is answered
//! when the brokers have acknowledged the record. A record whose caller has left may still be written. When the actor or its
//! connector goes, records on their way are given some seconds, on a thread of their own.
//!
//! Brokers of a connector are resolved and checked when the producer is opened, and so are those that they name in turn;
//! later on librdkafka resolves the names of brokers itself. The brokers of the server's settings are not checked: an operator
//! chose them.

mod actor;
mod probe;
mod producer;
mod reach;
mod settings;

pub(crate) use actor::{KafkaDriver, Publish};
pub(crate) use probe::probe;
pub(crate) use settings::KafkaSettings;
