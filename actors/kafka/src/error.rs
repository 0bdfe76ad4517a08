//! The errors of this crate.

/// The reason why a record was not skipped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkipError {
    /// The partition is not assigned to this node.
    #[error(
        "this node does not read the partition; ask the node that does, see GET /api/v1/admin/kafka/partitions"
    )]
    NotAssigned,
    /// The node has no topic of dead letters.
    #[error("a skipped record goes to the topic of dead letters; set kafka.dlq.enabled")]
    NoDeadLetterTopic,
    /// The partition is one of the topic of dead letters: a skipped record would come back.
    #[error(
        "a skipped record goes to the topic of dead letters, and this is one of it; change the workflow, or move the \
         offset of the consumer group"
    )]
    DeadLetter,
    /// No record of the partition waits for another attempt, and all can be unpacked.
    #[error("the partition holds no record back")]
    NothingHeld,
    /// The partition holds another record than the one that is meant.
    #[error("the partition holds the record at offset {held} back, not the one that was named")]
    OtherOffset {
        /// Offset of the record that it holds.
        held: i64,
    },
    /// The range of offsets is empty or too long.
    #[error(
        "until_offset must be above {held}, the offset of the record that is held, and at most {most} above it"
    )]
    Range {
        /// Offset of the record that is held.
        held: i64,
        /// Longest range.
        most: i64,
    },
    /// Another request for the partition is on its way.
    #[error("the partition skips a record already")]
    Busy,
    /// The brokers did not acknowledge the dead letter; the record stays.
    #[error("the dead letter was not written: {0}")]
    NotWritten(String),
    /// The brokers do not show which record can be unpacked again.
    #[error("the partition cannot be read: {0}")]
    NotRead(String),
    /// The worker did not answer in time, or a record before those that cannot be unpacked is not done.
    #[error("an attempt at a record of the partition is in progress; try again")]
    InProgress,
}
