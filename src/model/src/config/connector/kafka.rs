//! `config` of a Kafka connector. Credentials of brokers are settings of the server.

use super::fields::{Fields, Gates, check_host, split_port};
use crate::config::block::Block;
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
    /// Whether brokers may be private.
    pub allow_private_urls: bool,
    /// Operations that tasks may not use.
    pub operations: Gates,
}

pub(super) fn parse(block: &mut Block<'_>) -> Result<KafkaConfig, Vec<FieldError>> {
    let mut fields = Fields::of(block);
    let made = KafkaConfig {
        brokers: fields.require(brokers),
        topic: fields.read(topic),
        allow_private_urls: fields.flag("allow_private_urls"),
        operations: Gates::read(&mut fields, &["publish"]),
    };
    fields.finish(made)
}

fn topic(block: &mut Block<'_>) -> Result<Option<String>, FieldError> {
    match block.string("topic")? {
        Some(topic) if topic.trim().is_empty() => Err(block.invalid("topic", "must not be empty")),
        topic => Ok(topic),
    }
}

fn brokers(block: &mut Block<'_>) -> Result<Vec<String>, FieldError> {
    let brokers = block.strings("brokers")?.ok_or_else(|| block.missing("brokers"))?;
    for (index, broker) in brokers.iter().enumerate() {
        check_host(broker).map_err(|why| block.invalid(&format!("brokers[{index}]"), why))?;
    }
    let with_port = |broker: String| match split_port(&broker).1 {
        Some(_) => broker,
        None if super::is_open(&broker) => broker,
        None if broker.contains(':') && !broker.starts_with('[') => format!("[{broker}]:{PORT}"),
        None => format!("{broker}:{PORT}"),
    };
    Ok(brokers.into_iter().map(with_port).collect())
}
