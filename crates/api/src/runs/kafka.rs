//! Partitions of topics.

use svc_model::Timestamp;

use crate::api_types::api_types;

api_types! {
    /// A partition that is assigned to this node.
    #[derive(Eq)]
    #[schema(as = KafkaPartition)]
    pub struct AssignedPartition {
        /// The topic.
        pub topic: String,
        /// The number of the partition.
        pub partition: i32,
        /// The consumer group that reads it.
        pub consumer_group: String,
        /// Name of the channel that its records go to; `null` while its topic is about to be given up.
        pub channel: nullable String,
        /// `idle`, `running`, `committing`, `deferred`, `retrying`, `blocked` or `stopping`.
        pub state: String,
        /// Offset of the record at hand, or of the next one.
        pub offset: nullable i64,
        /// The committed offset, as far as this node knows it.
        pub committed_offset: nullable i64,
        /// Records up to the end of the partition, as of the last measurement.
        pub lag: nullable i64,
        /// Number of records that were fetched and wait.
        pub waiting_records: usize,
        /// Bytes of these records.
        pub waiting_bytes: usize,
        /// `true` while no more records are fetched, because enough of them wait.
        pub fetch_paused: bool,
        /// Number of attempts at the record that is held back.
        pub attempts: u32,
        /// The reason why it is held back.
        pub last_error: nullable String,
        /// Time since which it is held back.
        pub retry_since: nullable Timestamp,
    }

    /// A record that a partition held back and that became a dead letter.
    #[derive(Eq)]
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
}
