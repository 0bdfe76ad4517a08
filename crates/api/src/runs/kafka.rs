//! Partitions of topics.

use serde::{Deserialize, Serialize};
use svc_model::Timestamp;
use utoipa::ToSchema;

/// A partition that is assigned to this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = KafkaPartition)]
pub struct AssignedPartition {
    /// The topic.
    pub topic: String,
    /// The number of the partition.
    pub partition: i32,
    /// The consumer group that reads it.
    pub consumer_group: String,
    /// Name of the channel that its records go to; `null` while its topic is about to be given up.
    #[schema(required = true)]
    pub channel: Option<String>,
    /// `idle`, `running`, `committing`, `deferred`, `retrying`, `blocked` or `stopping`.
    pub state: String,
    /// Offset of the record at hand, or of the next one.
    #[schema(required = true)]
    pub offset: Option<i64>,
    /// The committed offset, as far as this node knows it.
    #[schema(required = true)]
    pub committed_offset: Option<i64>,
    /// Records up to the end of the partition, as of the last measurement.
    #[schema(required = true)]
    pub lag: Option<i64>,
    /// Number of records that were fetched and wait.
    pub waiting_records: usize,
    /// Bytes of these records.
    pub waiting_bytes: usize,
    /// `true` while no more records are fetched, because enough of them wait.
    pub fetch_paused: bool,
    /// Number of attempts at the record that is held back.
    pub attempts: u32,
    /// The reason why it is held back.
    #[schema(required = true)]
    pub last_error: Option<String>,
    /// Time since which it is held back.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub retry_since: Option<Timestamp>,
}

/// A record that a partition held back and that became a dead letter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkippedRecord {
    /// The topic.
    pub topic: String,
    /// The number of the partition.
    pub partition: i32,
    /// The offset of the record, or the first offset of those that cannot be unpacked.
    pub skipped_offset: i64,
    /// The offset that the partition goes on at.
    pub next_offset: i64,
    /// Number of dead letters that were written; only of a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_letters: Option<u32>,
}
