//! The settings of a Kafka connector, ready for use.

use svc_model::config::connector::{KafkaConfig, KafkaSecurity, OperationSwitches};

/// How records are published.
pub(crate) struct KafkaSettings {
    /// `host:port` each; empty for the server's own.
    pub(super) brokers: Vec<String>,
    /// For tasks that name none.
    pub(crate) topic: Option<String>,
    /// Credentials of its own.
    pub(super) auth: Option<KafkaSecurity>,
    pub(super) allow_private: bool,
    /// Operations that tasks may use.
    pub(crate) operations: OperationSwitches,
}

impl KafkaSettings {
    pub(crate) fn new(config: KafkaConfig) -> Self {
        let KafkaConfig { brokers, topic, auth, allow_private_urls: allow_private, operations } = config;
        Self { brokers, topic, auth, allow_private, operations }
    }
}
