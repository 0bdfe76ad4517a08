//! A partition as operators see it.

use serde::Serialize;
use svc_model::Timestamp;

use crate::partition::PartitionPhase;
use crate::partition::handle::PartitionHandle;
use crate::topic_map::TopicRoute;

/// The state of a partition whose channel is paused.
const PAUSED: &str = "paused";

/// The state of an assigned partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartitionView {
    pub topic: String,
    /// The number of the partition.
    pub partition: i32,
    /// The consumer group that reads it.
    pub consumer_group: String,
    /// Name of the channel that its records go to; `None` while its topic is about to be given up.
    pub channel: Option<String>,
    /// The phase: `idle`, `running`, `committing`, `deferred`, `retrying`, `blocked` or `stopping`; `paused` while no record
    /// runs because the channel is paused.
    pub state: &'static str,
    /// Offset of the record at hand, or of the next one; `None` before the first record of a group without a
    /// committed offset.
    pub offset: Option<i64>,
    /// The committed offset, as far as this node knows it.
    pub committed_offset: Option<i64>,
    /// Records up to the end of the partition, as of the last measurement.
    pub lag: Option<i64>,
    /// Number of records that were fetched and wait.
    pub waiting_records: usize,
    /// Bytes of these records.
    pub waiting_bytes: usize,
    /// True while no more records are fetched, because enough of them wait.
    pub fetch_paused: bool,
    /// Number of attempts at the record that is held back.
    pub attempts: u32,
    /// The reason why it is held back.
    pub last_error: Option<String>,
    /// Time since which it is held back.
    pub retry_since: Option<Timestamp>,
    /// True if its failure is in a trace.
    #[serde(skip)]
    pub is_failure_traced: bool,
}

impl PartitionView {
    pub(crate) fn new(handle: &PartitionHandle, route: Option<&TopicRoute>, is_paused: bool) -> Self {
        let lag = handle.lag();
        let unreadable = handle.unreadable_records();
        handle.read(|state, queue| {
            let held_record = state.held_record();
            Self {
                topic: handle.topic.to_string(),
                partition: handle.partition,
                consumer_group: handle.group.to_string(),
                channel: route.map(|route| route.channel.to_string()),
                state: match (state.phase(), &unreadable) {
                    (phase @ (PartitionPhase::Running | PartitionPhase::Stopping), _) => phase.name(),
                    _ if is_paused => PAUSED,
                    (PartitionPhase::Idle, Some(_)) => PartitionPhase::Blocked.name(),
                    (phase, _) => phase.name(),
                },
                offset: unreadable.as_ref().map(|records| records.offset).or_else(|| state.position()),
                committed_offset: state.committed_offset(),
                lag,
                waiting_records: queue.len(),
                waiting_bytes: queue.bytes(),
                fetch_paused: queue.is_paused(),
                attempts: held_record.map_or(0, |held| held.attempts),
                is_failure_traced: held_record.is_some_and(|held| held.is_failure_traced),
                retry_since: held_record
                    .map(|held| held.since)
                    .or(unreadable.as_ref().map(|records| records.since)),
                last_error: held_record
                    .map(|held| held.last_error.clone())
                    .or_else(|| unreadable.map(|records| records.reason)),
            }
        })
    }
}
