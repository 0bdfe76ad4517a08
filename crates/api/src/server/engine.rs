//! The engine: its status, and the result of a reload.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::entities::validation::ValidationIssue;
use crate::server::operational::FailedConnector;

/// The state of the engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EngineStatus {
    /// Version of the service.
    pub version: String,
    /// Seconds since the start of the process.
    pub uptime_seconds: u64,
    /// Number of workflows that serve.
    pub workflows_count: usize,
    /// Number of workflows that serve; the same as `workflows_count`.
    pub active_workflows: usize,
    /// Names of the channels that serve, sorted.
    pub channels: Vec<String>,
    /// The channels that could not be built.
    pub quarantined: Vec<QuarantinedChannel>,
    /// The connectors that could not be loaded.
    pub failed_connectors: Vec<FailedConnector>,
}

/// The result of a reload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EngineReloaded {
    /// Always `true`.
    pub reloaded: bool,
    /// Number of workflows that serve.
    pub workflows_count: usize,
    /// The channels that could not be built.
    pub quarantined: Vec<QuarantinedChannel>,
    /// The connectors that could not be loaded.
    pub failed_connectors: Vec<FailedConnector>,
    /// The channels that serve despite a problem; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<QuestionableChannel>,
    /// The settings that have changed since they were last read.
    pub settings: ReloadedSettings,
}

/// The settings of a file that was read again, by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReloadedSettings {
    /// Settings whose new value is in effect on this node.
    pub taken: Vec<String>,
    /// Settings whose new value needs a restart.
    pub needs_restart: Vec<String>,
}

/// A channel that could not be built and serves nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuarantinedChannel {
    /// Id of the channel.
    pub channel_id: String,
    /// Name of the channel.
    pub channel: String,
    /// Reason of the quarantine.
    pub reason: String,
}

/// A channel that serves despite a problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QuestionableChannel {
    /// Id of the channel.
    pub channel_id: String,
    /// Name of the channel.
    pub channel: String,
    /// The problems.
    pub warnings: Vec<ValidationIssue>,
}
