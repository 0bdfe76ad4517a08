//! The questions of a measurement, put to the brokers: the ends of partitions, committed offsets, topics and
//! partitions that cannot be read.

use std::sync::Arc;
use std::time::Duration;

use rdkafka::consumer::{Consumer, StreamConsumer};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};
use tokio::task::JoinHandle;

use super::context::GroupContext;
use super::probe::{ProbeResult, probe_partition};
use super::topic_name::is_topic_name;
use crate::partition::handle::PartitionHandle;
use crate::settings::Settings;

/// Longest wait for each answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The questions of a measurement.
pub(super) struct Questions {
    /// Partitions whose ends are asked for.
    pub(super) partitions: Vec<(Arc<str>, i32)>,
    /// Topics that should be readable.
    pub(super) topics: Vec<Arc<str>>,
    /// Partitions that may wait at records that cannot be unpacked, each with the offset of these.
    pub(super) suspects: Vec<(Arc<PartitionHandle>, Option<i64>)>,
    pub(super) settings: Settings,
}

/// The offsets of a partition, if the brokers gave them.
pub(super) struct PartitionOffsets {
    pub(super) topic: Arc<str>,
    pub(super) partition: i32,
    pub(super) committed: Option<i64>,
    pub(super) end: Option<i64>,
}

/// The answers of a measurement.
pub(super) struct Measurement {
    /// The offsets of each partition.
    pub(super) partitions: Vec<PartitionOffsets>,
    /// Topics that cannot be read, with the reason.
    pub(super) unreadable: Vec<(Arc<str>, String)>,
    /// The partitions that were probed.
    pub(super) probed: Vec<(Arc<PartitionHandle>, ProbeResult)>,
    /// True if every question about partitions was answered.
    pub(super) is_complete: bool,
}

/// Asks the brokers. Blocks.
pub(super) fn measure(consumer: &StreamConsumer<GroupContext>, questions: Questions) -> Measurement {
    let Questions { partitions, topics, suspects, settings } = questions;
    let unreadable = topics.into_iter().filter_map(|topic| {
        let reason = unreadable_reason(consumer, &topic)?;
        Some((topic, reason))
    });
    let unreadable = unreadable.collect();
    let probed = suspects.into_iter().map(|(handle, next)| {
        let result = probe_partition(&settings, &handle.group, (&handle.topic, handle.partition), next);
        (handle, result)
    });
    let probed = probed.collect();
    if partitions.is_empty() {
        return Measurement { partitions: Vec::new(), unreadable, probed, is_complete: true };
    }
    let mut ends = TopicPartitionList::with_capacity(partitions.len());
    for (topic, partition) in &partitions {
        // A partition and an end are always accepted.
        let _ = ends.add_partition_offset(topic, *partition, Offset::End);
    }
    let committed = consumer.committed_offsets(ends.clone(), PATIENCE).ok();
    let ends = consumer.offsets_for_times(ends, PATIENCE).ok();
    let is_complete = committed.is_some() && ends.is_some();
    let of = |list: &Option<TopicPartitionList>, topic: &str, partition| match list
        .as_ref()?
        .find_partition(topic, partition)?
        .offset()
    {
        Offset::Offset(offset) => Some(offset),
        _ => None,
    };
    let measured = partitions.into_iter().map(|(topic, partition)| {
        let (committed, end) = (of(&committed, &topic, partition), of(&ends, &topic, partition));
        PartitionOffsets { topic, partition, committed, end }
    });
    Measurement { partitions: measured.collect(), unreadable, probed, is_complete }
}

/// Returns the reason why a topic cannot be read; `None` also if no broker answers, which is another
/// trouble.
fn unreadable_reason(consumer: &StreamConsumer<GroupContext>, topic: &str) -> Option<String> {
    if !is_topic_name(topic) {
        let rule = "no topic can have this name; it has letters, digits, '.', '_' and '-' alone, at most 249";
        return Some(rule.to_owned());
    }
    let metadata = consumer.fetch_metadata(Some(topic), PATIENCE).ok()?;
    let error = metadata.topics().first()?.error()?;
    let code = RDKafkaErrorCode::from(error);
    match code {
        // It is being created, or moves.
        RDKafkaErrorCode::LeaderNotAvailable => None,
        RDKafkaErrorCode::UnknownTopicOrPartition => Some("it does not exist".to_owned()),
        RDKafkaErrorCode::TopicAuthorizationFailed => {
            Some("this service may not read it; grant Read and Describe".to_owned())
        }
        code => Some(code.to_string()),
    }
}

/// Waits for the answers; for ever if none are on their way.
pub(super) async fn join_measurement(measuring: &mut Option<JoinHandle<Measurement>>) -> Option<Measurement> {
    match measuring {
        Some(measuring) => measuring.await.ok(),
        None => std::future::pending().await,
    }
}
