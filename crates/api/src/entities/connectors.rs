//! Connectors and their circuit breakers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_model::config::connector::mask_connector_config;
use svc_model::{Connector, Timestamp, is_unreadable};
use utoipa::ToSchema;

/// A connector. Secrets of its configuration are masked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Connector)]
pub struct ConnectorResource {
    /// Id of the connector.
    pub id: String,
    /// Unique name; tasks refer to the connector by it.
    pub name: String,
    /// The type of the external system.
    pub connector_type: String,
    /// The configuration as a string that holds JSON; empty if the stored one cannot be read.
    pub config_json: String,
    /// The configuration; `null` if the stored one cannot be read.
    #[schema(value_type = Option<Object>, required = true)]
    pub config: Value,
    /// `true` if the connector is to be loaded.
    pub enabled: bool,
    /// Tags, by which lists are filtered.
    pub tags: Vec<String>,
    /// `sha256:` and the hash of the content with its secrets; empty if the stored configuration cannot be read.
    pub content_hash: String,
    /// Time of creation.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Time of the last change.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// `loaded`, `failed` or `disabled` on this node; absent until the node learns of the connector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub load_status: Option<String>,
    /// Reason of a failed load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub load_error: Option<String>,
    /// Step of the load that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub load_error_stage: Option<String>,
}

impl From<Connector> for ConnectorResource {
    fn from(connector: Connector) -> Self {
        let content = connector.content;
        let is_readable = !is_unreadable(&content.config);
        let config = if is_readable { mask_connector_config(&content.config) } else { Value::Null };
        Self {
            id: connector.id,
            config_json: if is_readable { config.to_string() } else { String::new() },
            config,
            content_hash: if is_readable { content.content_hash() } else { String::new() },
            name: content.name,
            connector_type: content.connector_type,
            enabled: content.enabled,
            tags: content.tags,
            created_at: connector.created_at,
            updated_at: connector.updated_at,
            load_status: None,
            load_error: None,
            load_error_stage: None,
        }
    }
}

/// A connector as an export holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = ConnectorExport)]
pub struct ExportedConnector {
    /// Id of the connector.
    pub id: String,
    /// Unique name.
    pub name: String,
    /// The type of the external system.
    pub connector_type: String,
    /// `sha256:` and the hash of the content with its secrets.
    pub content_hash: String,
    /// The configuration; `null` if the stored one cannot be read.
    #[schema(value_type = Option<Object>, required = true)]
    pub config: Value,
    /// `true` if the connector is to be loaded.
    pub enabled: bool,
    /// Tags, by which lists are filtered.
    pub tags: Vec<String>,
}

impl From<Connector> for ExportedConnector {
    fn from(connector: Connector) -> Self {
        let ConnectorResource { id, name, connector_type, config, enabled, tags, content_hash, .. } =
            ConnectorResource::from(connector);
        Self { id, name, connector_type, content_hash, config, enabled, tags }
    }
}

/// The result of a trial of the system behind a connector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Probe)]
pub struct ConnectorProbeResult {
    /// `true` if the system answered.
    pub reachable: bool,
    /// `true` if this type of connector can be tried.
    pub supported: bool,
    /// The type of the external system.
    pub connector_type: String,
    /// The operation that was tried, or the stage that failed before it.
    pub probe: String,
    /// The reason of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<String>,
}

/// The circuit breakers of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = BreakerMap)]
pub struct CircuitBreakerMap {
    /// `true` if circuit breakers are on.
    pub enabled: bool,
    /// The reach of a breaker: `node`.
    pub scope: String,
    /// The node that answers.
    pub instance_id: String,
    /// The state by `channel:connector`: `closed`, `open` or `half_open`.
    pub breakers: BTreeMap<String, String>,
    /// The breakers of hosts whose addresses messages compute, but for the closed ones. They cannot be reset.
    #[serde(default)]
    pub hosts: Vec<HostBreakerState>,
}

/// A circuit breaker of a host whose address messages compute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HostBreakerState {
    /// Name of the connector over which the host is called.
    pub connector: String,
    /// Host and port.
    pub host: String,
    /// `open` or `half_open`.
    pub state: String,
}

/// The result of the reset of a circuit breaker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = BreakerReset)]
pub struct CircuitBreakerReset {
    /// Always `true`.
    pub reset: bool,
    /// Key of the breaker: `channel:connector`.
    pub key: String,
    /// `true` if this node has the breaker.
    pub found_on_this_node: bool,
}

/// The last calls of a connector on one node, and what the node knows of the system behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectorCalls {
    /// Id of the connector.
    pub id: String,
    /// Name of the connector.
    pub name: String,
    /// Id of the node that answers; its memory has the calls, and each node has its own.
    pub node: String,
    /// The result of the last load on the node: `loaded`, `failed` or `disabled`; `null` for one that it has not seen.
    #[schema(required = true)]
    pub load_status: Option<String>,
    /// The actor that makes the calls; `null` while the connector is not in use.
    #[schema(required = true)]
    pub pool: Option<ConnectorPool>,
    /// The circuit breakers of the connector, one for each channel that called it.
    pub breakers: Vec<ConnectorBreakerState>,
    /// The token that calls are made with; `null` for a connector that uses none.
    #[schema(required = true)]
    pub token: Option<ConnectorTokenState>,
    /// The last 50 calls, the newest first.
    pub calls: Vec<ConnectorCall>,
}

/// The calls in progress of a connector on one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectorPool {
    /// Path of the actor in the supervision tree.
    pub actor: String,
    /// State of the actor.
    pub state: String,
    /// Calls in progress.
    pub in_flight: usize,
    /// Most calls in progress.
    pub bound: usize,
    /// The most that ever were.
    pub high_water: usize,
}

/// A circuit breaker of a connector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectorBreakerState {
    /// Its key, by which it is reset.
    pub key: String,
    /// Name of the channel.
    pub channel: String,
    /// `closed`, `open` or `half_open`.
    pub state: String,
}

/// The token of a connector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectorTokenState {
    /// End of its life; `null` while there is no token, because no call needed one yet or none was obtained.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub expires_at: Option<Timestamp>,
    /// The reason for which the last request got no token.
    #[schema(required = true)]
    pub error: Option<String>,
}

/// A call of a connector. Bodies are not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectorCall {
    /// The time of its end.
    #[schema(value_type = String, format = DateTime)]
    pub ended_at: Timestamp,
    /// The channel whose run made it; `_none` for a trial.
    pub channel: String,
    /// The task function that made it; `guard` for a guard of the channel.
    pub function: String,
    /// The part of the system that was called: method and path without the query, topic or collection.
    #[schema(required = true)]
    pub target: Option<String>,
    /// `true` if it succeeded.
    pub ok: bool,
    /// The code of its error; `dropped` if its run ended first.
    #[schema(required = true)]
    pub code: Option<String>,
    /// The status of an HTTP answer that was an error.
    #[schema(required = true)]
    pub http_status: Option<u16>,
    /// Its duration in milliseconds, with everything it tried again.
    pub ms: u64,
    /// Attempts that were made; 0 if the circuit breaker was open.
    pub attempts: u32,
}
