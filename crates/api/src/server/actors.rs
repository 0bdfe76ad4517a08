//! The supervision tree.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The supervision tree and its last events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ActorTree {
    /// Every node, depth first.
    pub nodes: Vec<ActorNode>,
    /// The last lifecycle events, oldest first.
    pub history: Vec<ActorEvent>,
}

/// A node of the supervision tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActorNode {
    /// The path of the node.
    pub path: String,
    /// `actor` or `group`.
    pub kind: String,
    /// `starting`, `running`, `restarting`, `quarantined`, `draining` or `stopped`.
    pub state: String,
    /// Number of the instance that runs or ran last; 0 before the first.
    pub generation: u64,
    /// Restarts over the life of the node.
    pub restarts: u64,
    /// Calls in flight.
    pub mailbox_depth: usize,
    /// Maximum number of calls in flight.
    pub mailbox_bound: usize,
    /// Greatest number of calls that were ever in flight.
    pub mailbox_high_water: usize,
    /// Messages handled over the life of the node.
    pub handled: u64,
    /// Name of the thread that the node runs on.
    #[schema(required = true)]
    pub thread: Option<String>,
    /// Type name of the message being handled.
    #[schema(required = true)]
    pub handling: Option<String>,
    /// Age of the current message in milliseconds; `null` when idle.
    #[schema(required = true)]
    pub busy_ms: Option<u64>,
    /// The end of the last instance.
    #[schema(required = true)]
    pub last_exit: Option<String>,
    /// The reason of the quarantine.
    #[schema(required = true)]
    pub quarantine_reason: Option<String>,
    /// Rest of the delay before a restart, in milliseconds.
    #[schema(required = true)]
    pub retry_in_ms: Option<u64>,
    /// Paths of the nodes it needs.
    pub needs: Vec<String>,
    /// The fingerprint of its configuration.
    #[schema(required = true)]
    pub fingerprint: Option<String>,
    /// Age of the running instance in milliseconds; 0 when none runs.
    pub uptime_ms: u64,
    /// Name of the connector that the node runs for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub connector: Option<String>,
}

/// A lifecycle event of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ActorEvent {
    /// Sequence number, from 1.
    pub seq: u64,
    /// Time of the event.
    #[schema(format = DateTime)]
    pub at: String,
    /// The path of the node.
    pub path: String,
    /// Number of the instance concerned; 0 for a group.
    pub generation: u64,
    /// `started`, `exited`, `restart_scheduled`, `quarantined`, `released`, `draining`, `stopped`, `replaced` or
    /// `escalated`.
    pub event: String,
    /// The end of the instance, of `exited`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub exit: Option<Value>,
    /// The delay in milliseconds, of `restart_scheduled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub after_ms: Option<u64>,
    /// The reason, of `quarantined` and `escalated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<String>,
    /// Type names of the last messages, oldest first, of `exited`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub recent: Vec<String>,
}
