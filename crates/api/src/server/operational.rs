//! Probes and health.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use svc_model::Timestamp;
use utoipa::ToSchema;

use crate::names::{component_state, packages_state};
use crate::server::actors::ActorNode;

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
    /// The Redis server of the cluster; absent if cluster mode is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = component_state, required = false)]
    pub cluster_redis: Option<String>,
    /// The brokers; absent if Kafka is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = component_state, required = false)]
    pub kafka: Option<String>,
    /// The packages that the node applies at its start: `applying` until they serve; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = packages_state, required = false)]
    pub packages: Option<String>,
    /// `compiling` while the components of plugins keep the node from being ready; else absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub plugins: Option<String>,
}

/// The health of a node. The members after `components` are for admins only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
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
    #[schema(nullable = false)]
    pub database: Option<DatabaseOutage>,
    /// Circuit breakers, and the connectors that could not be loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub connectors: Option<ConnectorsHealth>,
    /// The channels in quarantine and the paused ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub channels: Option<ChannelsHealth>,
    /// The epoch of the configuration that serves, and that of the stored one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub epoch: Option<EpochHealth>,
    /// The schedules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cron: Option<SchedulesHealth>,
    /// The supervision tree; of a large one only the nodes that do not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub actors: Option<ActorsHealth>,
    /// Hints about settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub notes: Option<Vec<String>>,
    /// The brokers and the ingress of topics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub kafka: Option<KafkaHealth>,
    /// The problem of the certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tls: Option<TlsHealth>,
    /// The reason of a lack of file descriptors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub descriptors: Option<DescriptorsHealth>,
    /// The dead letters without a retry left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub dead_letters: Option<DeadLettersHealth>,
    /// The components of the active plugins; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub plugins: Option<PluginsHealth>,
    /// The reason why the Redis server of the cluster takes no writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cluster_redis: Option<ClusterRedisHealth>,
}

/// The state of each component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
    /// The changes of other processes on the database.
    #[schema(schema_with = component_state)]
    pub config_propagation: String,
    /// The supervision tree.
    #[schema(schema_with = component_state)]
    pub actors: String,
    /// File descriptors.
    #[schema(schema_with = component_state)]
    pub descriptors: String,
    /// Dead letters without a retry left; absent if `trace_queue.dlq_exhausted_threshold` is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = component_state, required = false)]
    pub dead_letters: Option<String>,
    /// The schedules; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = component_state, required = false)]
    pub cron: Option<String>,
    /// The brokers; absent if Kafka is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = component_state, required = false)]
    pub kafka: Option<String>,
    /// The certificate; absent if TLS is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = component_state, required = false)]
    pub tls: Option<String>,
    /// The deliveries of webhooks by the node; absent while there are no endpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = component_state, required = false)]
    pub webhooks: Option<String>,
    /// The active plugins: `degraded` if the node cannot use one of them; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = component_state, required = false)]
    pub plugins: Option<String>,
    /// The Redis server of the cluster; absent if cluster mode is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = component_state, required = false)]
    pub cluster_redis: Option<String>,
}

impl HealthComponents {
    /// Returns `true` if every component is `ok`; an absent one is. Names each field, so that none is left out.
    pub fn are_ok(&self) -> bool {
        let Self {
            database,
            engine,
            connectors,
            channels,
            engine_reload,
            config_propagation,
            actors,
            descriptors,
            dead_letters,
            cron,
            kafka,
            tls,
            webhooks,
            plugins,
            cluster_redis,
        } = self;
        let always =
            [database, engine, connectors, channels, engine_reload, config_propagation, actors, descriptors];
        let optional = [dead_letters, cron, kafka, tls, webhooks, plugins, cluster_redis];
        always.into_iter().chain(optional.into_iter().flatten()).all(|state| state == "ok")
    }
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

/// A database that is away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DatabaseOutage {
    /// The time since which it is away.
    #[schema(format = DateTime)]
    pub since: String,
    /// The reason.
    pub reason: String,
}

/// The channels that do not serve as usual.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelsHealth {
    /// The channels in quarantine.
    pub quarantined: Vec<QuarantinedName>,
    /// The paused channels. A pause is an order, and degrades nothing.
    #[serde(default)]
    pub paused: Vec<PausedName>,
}

/// A paused channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PausedName {
    /// Name of the channel.
    pub channel: String,
    /// Time since which it is paused.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// Time at which it resumes by itself; `null` if an operator must resume it.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub until: Option<Timestamp>,
    /// The principal that paused it, or `on_repeated_failure`.
    pub by: String,
    /// The reason.
    pub reason: String,
}

/// A channel in quarantine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuarantinedName {
    /// Name of the channel.
    pub channel: String,
    /// The reason.
    pub reason: String,
}

/// The schedules of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SchedulesHealth {
    /// Unix time of the last pass over all schedules.
    #[schema(required = true)]
    pub last_reconcile_at: Option<i64>,
    /// Seconds since that pass.
    #[schema(required = true)]
    pub reconcile_age_secs: Option<u64>,
    /// Seconds for which the oldest pending occurrence has been due.
    #[schema(required = true)]
    pub oldest_pending_age_secs: Option<i64>,
    /// Number of leases that could not be renewed.
    pub lease_renewal_failures: u64,
    /// Number of channels with a schedule.
    pub scheduled_channels: usize,
    /// The reason why the component is degraded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<String>,
}

/// The supervision tree, or the part of a large one that does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActorsHealth {
    /// The nodes.
    pub nodes: Vec<ActorNode>,
    /// `true` if nodes were left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub truncated: Option<bool>,
    /// Number of all nodes, if some were left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub total: Option<usize>,
    /// Number of the nodes that run, if some were left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub running: Option<usize>,
}

/// The brokers and the ingress of topics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KafkaHealth {
    /// The reason why the brokers cannot be used.
    #[schema(required = true)]
    pub problem: Option<String>,
    /// The problems of consumers and partitions.
    pub ingest: Vec<String>,
    /// Number of partitions assigned to this node.
    pub assigned_partitions: usize,
}

/// A Redis server of the cluster that takes no writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClusterRedisHealth {
    /// The reason.
    pub reason: String,
}

/// A lack of file descriptors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DescriptorsHealth {
    /// The reason.
    pub reason: String,
}

/// The dead letters without a retry left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeadLettersHealth {
    /// Their number, as counted at most one `trace_queue.dlq_poll_interval_secs` ago.
    pub exhausted: u64,
    /// The reason why the component is degraded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<String>,
}

/// The components of the active plugins on this node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PluginsHealth {
    /// The ids of the plugins whose components are compiled.
    pub ready: Vec<String>,
    /// The ids of those that are still compiled; calls of them are answered with 503.
    pub compiling: Vec<String>,
    /// Those that cannot be used; the workflows that call them are quarantined.
    pub failed: Vec<FailedPlugin>,
}

/// A plugin that cannot be used on this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailedPlugin {
    /// Its id.
    pub plugin_id: String,
    /// The reason.
    pub reason: String,
}

/// A certificate that could not be replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TlsHealth {
    /// The reason.
    pub reason: String,
}

/// The epoch of the configuration that a process serves, and that of the stored one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EpochHealth {
    /// The epoch that this process serves.
    pub applied: i64,
    /// The epoch of the database, as last read.
    pub current: i64,
    /// The reason why the last read of the stored epoch failed.
    #[schema(required = true)]
    pub problem: Option<String>,
}
