//! Kafka brokers, to publish to.
//!
//! The actor of a connector owns one producer, opened with its first record. Message in: [`Publish`], read-only; it is answered
//! when the brokers have acknowledged the record. A record whose caller has left may still be written. When the actor or its
//! connector goes, records on their way are given some seconds, on a thread of their own.
//!
//! The client resolves the names of brokers, also of those that brokers announce, by itself: no address can be checked before it
//! is dialled. So a connector that names brokers other than the server's needs `allow_private_urls`. The credentials of the
//! server's settings go to the server's brokers alone.

mod actor;
mod broker_config;
mod client_log;
mod home_producer;
mod messages;
mod monitor;
mod probe;
mod producer;
mod settings;

use svc_model::config::connector::KafkaConfig;

use crate::driver::{ResolveResult, erase_type};

pub(crate) use actor::KafkaDriver;
pub use client_log::ClientLog;
pub use home_producer::KafkaProducer;
pub(crate) use messages::Publish;
pub(crate) use monitor::{ask_once, supervise_monitor};
pub use producer::describe_unusable_client;
pub(crate) use settings::KafkaSettings;

/// Resolves the config of Kafka brokers.
///
/// # Errors
/// A text that names the unusable field without its value.
pub(crate) fn resolve(config: &KafkaConfig) -> ResolveResult {
    KafkaSettings::new(config).map(erase_type)
}
