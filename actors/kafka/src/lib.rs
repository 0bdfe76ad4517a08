//! Kafka ingress: the records of topics, run through channels.
//!
//! A record is done only when its work is done: its offset is committed after its run, its trace and its
//! idempotency key are accounted for, or its dead letter is acknowledged. Delivery is at least once; the
//! records of a partition run strictly in order, partitions in parallel.
//!
//! ```text
//! kafka
//! ├ reconciler                   keeps consumers in line with the topic map of the registry's snapshot
//! └ groups/{group}
//!   ├ consumer                   owns the client: polls, commits, carries out rebalances
//!   └ {topic}.{partition}        runs the records of an assigned partition, one at a time
//! ```
//!
//! A record that fails is retried, written to the topic of dead letters, or blocks its partition visibly,
//! until an operator skips it; a blocked partition blocks no other. Brokers that are away are waited out and
//! end nothing. Nothing here survives the process but what the brokers have.

mod consumer;
mod dead_letter;
mod error;
mod handle;
mod metrics;
mod partition;
mod reconciler;
mod settings;
mod shared;
mod topic_map;
mod view;

pub use error::SkipError;
pub use handle::{KafkaHandle, KafkaServices};
pub use metrics::KafkaMetrics;
pub use partition::PartitionPhase;
pub use partition::handle::{SkipTarget, SkippedOffsets};
pub use settings::Settings;
pub use view::PartitionView;
