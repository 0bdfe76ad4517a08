//! The settings of Kafka ingress.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use svc_connectors::KafkaCluster;
use svc_model::ErrorReason;

/// The settings of a node.
#[derive(Clone)]
pub struct Settings {
    /// Brokers and client properties; the last property of a name wins.
    pub cluster: KafkaCluster,
    /// The consumer group of topics whose channel names none.
    pub group_id: String,
    /// Topics and the channels that they feed, from the configuration. They go before the topics that
    /// channels name.
    pub topics: Vec<(String, String)>,
    /// Time limit of one attempt at a record.
    pub processing_timeout: Duration,
    /// Time between two measurements of the lag; `None` to measure none.
    pub lag_interval: Option<Duration>,
    /// Time after which the group gives up a silent member.
    pub session_timeout: Duration,
    /// The topic of dead letters; `None` to retry a failed record until it succeeds.
    pub dead_letter_topic: Option<String>,
    /// Name of this process in its groups, if it keeps its partitions over a restart.
    pub instance_id: Option<String>,
    /// Maximum number of partitions whose records run at the same time.
    pub max_parallel_partitions: usize,
    /// Maximum random delay of a change of the subscription that every node of a cluster makes at the same
    /// time.
    pub rejoin_jitter: Duration,
    /// Time that records in progress get at shutdown.
    pub shutdown_timeout: Duration,
    /// Counts a failure in `svc_errors_total`.
    pub errors: Arc<dyn Fn(ErrorReason) + Send + Sync>,
    /// Notes the success of a recurring job: `kafka_lag`, after each measurement.
    pub jobs: Arc<dyn Fn(&'static str) + Send + Sync>,
}

/// Leaves out the properties of the client: there are passwords among them.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("group_id", &self.group_id).finish_non_exhaustive()
    }
}
