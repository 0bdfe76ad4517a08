//! Probes of partitions: a client reports that records cannot be unpacked, but not their offsets.
//!
//! A probe reads one partition with a client of its own, which belongs to no group and commits nothing.

use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::{Offset, TopicPartitionList};
use tokio::time::Instant;

use super::config::consumer_config;
use super::error_scope::{ErrorScope, scope_of};
use crate::error::SkipError;
use crate::settings::Settings;

/// Longest wait for an answer of the brokers.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest search for the next record that can be unpacked.
const SEARCH: Duration = Duration::from_secs(20);
/// Properties of the client: it reports the end of a partition, and neither waits nor reads ahead.
const PROPERTIES: [(&str, &str); 4] = [
    ("enable.partition.eof", "true"),
    ("fetch.error.backoff.ms", "0"),
    ("fetch.wait.max.ms", "10"),
    ("queued.min.messages", "1"),
];

/// The records at an offset, as far as a probe sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProbeResult {
    /// They can be unpacked, or there are none.
    Readable,
    /// They cannot be unpacked, for this reason.
    Unreadable { offset: i64, reason: String },
    /// The brokers do not answer.
    Unknown(String),
}

/// Probes a partition from `next` on; without it from the offset that its group has, or the first one. Blocks.
pub(super) fn probe_partition(
    settings: &Settings,
    group: &str,
    (topic, partition): (&str, i32),
    next: Option<i64>,
) -> ProbeResult {
    let probe = Probe::open(settings, group, (topic, partition));
    let probed = probe.and_then(|probe| {
        let offset = next.map_or_else(|| probe.start_offset(), Ok)?;
        probe.assign(offset)?;
        Ok(probe.read(offset))
    });
    probed.unwrap_or_else(|error| ProbeResult::Unknown(error.to_string()))
}

/// Searches the first offset after `offset`, whose records cannot be unpacked, with records that can. A batch
/// does not show its end, so that every offset is tried: none is passed over that could be read. A search
/// that takes too long ends at the offset that it has reached. Blocks.
///
/// # Errors
/// [`SkipError::NotRead`] if the brokers do not answer, and [`SkipError::NothingHeld`] if the records
/// can be unpacked.
pub(crate) fn find_readable(
    settings: &Settings,
    group: &str,
    place: (&str, i32),
    offset: i64,
) -> Result<i64, SkipError> {
    let silent = |error: KafkaError| SkipError::NotRead(error.to_string());
    let probe = Probe::open(settings, group, place).map_err(silent)?;
    probe.assign(offset).map_err(silent)?;
    let deadline = Instant::now() + SEARCH;
    let mut next = offset;
    loop {
        match probe.read(next) {
            ProbeResult::Readable if next == offset => return Err(SkipError::NothingHeld),
            ProbeResult::Readable => return Ok(next),
            ProbeResult::Unreadable { .. } => next += 1,
            ProbeResult::Unknown(reason) => return Err(SkipError::NotRead(reason)),
        }
        if Instant::now() > deadline {
            return Ok(next);
        }
        probe.seek(next).map_err(silent)?;
    }
}

struct Probe<'p> {
    consumer: BaseConsumer,
    topic: &'p str,
    partition: i32,
}

impl<'p> Probe<'p> {
    fn open(settings: &Settings, group: &str, (topic, partition): (&'p str, i32)) -> KafkaResult<Self> {
        let mut config = consumer_config(settings, group);
        // The name is that of the consumer.
        config.remove("group.instance.id");
        for (name, value) in PROPERTIES {
            config.set(name, value);
        }
        Ok(Self { consumer: config.create()?, topic, partition })
    }

    /// Returns the offset that a consumer of the group would begin with.
    fn start_offset(&self) -> KafkaResult<i64> {
        let mut list = TopicPartitionList::new();
        list.add_partition(self.topic, self.partition);
        let committed = self.consumer.committed_offsets(list, PATIENCE)?;
        match committed.find_partition(self.topic, self.partition).map(|element| element.offset()) {
            Some(Offset::Offset(offset)) => Ok(offset),
            _ => Ok(self.consumer.fetch_watermarks(self.topic, self.partition, PATIENCE)?.0),
        }
    }

    fn assign(&self, offset: i64) -> KafkaResult<()> {
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(self.topic, self.partition, Offset::Offset(offset))?;
        self.consumer.assign(&list)
    }

    fn seek(&self, offset: i64) -> KafkaResult<()> {
        self.consumer.seek(self.topic, self.partition, Offset::Offset(offset), PATIENCE)
    }

    /// Reads the records at the offset of the client.
    fn read(&self, offset: i64) -> ProbeResult {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let error = match self.consumer.poll(left) {
                Some(Ok(_) | Err(KafkaError::PartitionEOF(_))) => return ProbeResult::Readable,
                Some(Err(error)) => error,
                None if left.is_zero() => {
                    return ProbeResult::Unknown("the brokers do not answer".to_owned());
                }
                None => continue,
            };
            match scope_of(&error) {
                ErrorScope::Partition => {
                    return ProbeResult::Unreadable { offset, reason: error.to_string() };
                }
                // The client connects by itself.
                ErrorScope::Brokers => {}
                ErrorScope::Topic | ErrorScope::Client | ErrorScope::Fatal => {
                    return ProbeResult::Unknown(error.to_string());
                }
            }
        }
    }
}
