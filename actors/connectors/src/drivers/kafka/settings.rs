//! The settings of a Kafka connector, ready for use.

use svc_model::config::connector::{KafkaConfig, KafkaSecurity, OperationSwitches};

/// The settings of a Kafka connector.
pub(crate) struct KafkaSettings {
    /// `host:port` each; empty for the server's own.
    pub(super) brokers: Vec<String>,
    /// The topic of tasks that name none.
    pub(crate) topic: Option<String>,
    /// Credentials of its own.
    pub(super) auth: Option<KafkaSecurity>,
    pub(super) allow_private: bool,
    /// Operations that tasks may use.
    pub(crate) operations: OperationSwitches,
}

impl KafkaSettings {
    /// Makes the settings of a config whose placeholders and references are replaced.
    ///
    /// # Errors
    /// None: every valid config can be used.
    pub(crate) fn new(config: &KafkaConfig) -> Result<Self, String> {
        let KafkaConfig { brokers, topic, auth, allow_private_urls: allow_private, operations } =
            config.clone();
        Ok(Self { brokers, topic, auth, allow_private, operations })
    }
}
