//! Probes and health.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::names::component_state;

/// The response of a process that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Liveness)]
pub struct LivenessReport {
    /// `ok`.
    pub status: String,
}

/// The readiness of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Readiness)]
pub struct ReadinessReport {
    /// `ready` or `not_ready`.
    pub status: String,
    /// The components.
    pub components: ReadinessComponents,
}

/// The components that decide about the readiness of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReadinessComponents {
    /// The database.
    #[schema(schema_with = component_state)]
    pub database: String,
    /// The engine.
    #[schema(schema_with = component_state)]
    pub engine: String,
    /// `true` from the end of the start to the beginning of the shutdown.
    pub initialized: bool,
    /// The brokers; absent where Kafka is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = component_state, required = false)]
    pub kafka: Option<String>,
}

/// The health of a node. The members after `components` are for admins only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Health)]
pub struct HealthReport {
    /// `ok` or `degraded`.
    pub status: String,
    /// Version of the service.
    pub version: String,
    /// Seconds since its start.
    pub uptime_seconds: u64,
    /// The state of each component: `ok`, `degraded` or `error`.
    pub components: HealthComponents,
    /// Commit of the build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub git_hash: Option<String>,
    /// Time of the build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub build_timestamp: Option<String>,
    /// Number of workflows that serve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub workflows_loaded: Option<usize>,
    /// The reason why the database is away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub database: Option<Value>,
    /// Circuit breakers, and the connectors that could not be loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub connectors: Option<ConnectorsHealth>,
    /// The channels in quarantine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub channels: Option<Value>,
    /// The schedules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub cron: Option<Value>,
    /// The supervision tree; of a large one only the nodes that do not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub actors: Option<Value>,
    /// Hints about settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub notes: Option<Vec<String>>,
    /// The brokers and the ingress of topics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub kafka: Option<Value>,
    /// The reason of a lack of file descriptors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub descriptors: Option<Value>,
}

/// The state of each component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HealthComponents {
    /// The database; `error` makes the response a 503.
    #[schema(schema_with = component_state)]
    pub database: String,
    /// The engine.
    #[schema(schema_with = component_state)]
    pub engine: String,
    /// Loading of connectors.
    #[schema(schema_with = component_state)]
    pub connectors: String,
    /// Quarantine of channels.
    #[schema(schema_with = component_state)]
    pub channels: String,
    /// The last reload.
    #[schema(schema_with = component_state)]
    pub engine_reload: String,
    /// The supervision tree.
    #[schema(schema_with = component_state)]
    pub actors: String,
    /// File descriptors.
    #[schema(schema_with = component_state)]
    pub descriptors: String,
    /// The schedules; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = component_state, required = false)]
    pub cron: Option<String>,
    /// The brokers; absent where Kafka is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = component_state, required = false)]
    pub kafka: Option<String>,
}

/// The circuit breakers of a node, and the connectors that could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectorsHealth {
    /// The reach of a breaker: `node`.
    pub circuit_breaker_scope: String,
    /// The state by `channel:connector`.
    pub circuit_breakers: BTreeMap<String, String>,
    /// The connectors that could not be loaded.
    pub failed_to_load: Vec<FailedConnector>,
}

/// A connector that could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailedConnector {
    /// Name of the connector.
    pub connector: String,
    /// Id of the connector.
    pub connector_id: String,
    /// Step of the load that failed.
    pub stage: String,
    /// The reason.
    pub reason: String,
}
