//! Snapshots of a tree: plain, serialisable values.

use std::time::Duration;

use serde::Serialize;

use crate::path::NodePath;
use crate::state::NodeState;

/// A tree at one instant.
#[derive(Debug, Clone, Serialize)]
pub struct TreeView {
    /// Every node below the root, depth first.
    pub nodes: Vec<NodeView>,
}

impl TreeView {
    /// The node at `path`.
    pub fn node(&self, path: &str) -> Option<&NodeView> {
        self.nodes.iter().find(|node| node.path == path)
    }
}

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// A supervised actor.
    Actor,
    /// A group of nodes.
    Group,
}

/// A node at one instant.
#[derive(Debug, Clone, Serialize)]
pub struct NodeView {
    /// The path of the node.
    pub path: NodePath,
    /// The kind of the node.
    pub kind: NodeKind,
    /// The lifecycle state. A group is running when none of its actors is starting, restarting or waiting.
    pub state: NodeState,
    /// Generation of the instance that runs or ran last; 0 before the first.
    pub generation: u64,
    /// Restarts over the node's life, ordered ones included.
    pub restarts: u64,
    /// Calls in flight: queued, or handled and not yet answered.
    pub mailbox_depth: usize,
    /// Maximum number of calls admitted at the same time.
    pub mailbox_bound: usize,
    /// Greatest number of calls that were ever in flight.
    pub mailbox_high_water: usize,
    /// Messages handled over the node's life.
    pub handled: u64,
    /// Name of the thread that the node runs on.
    pub thread: Option<String>,
    /// Type name of the message being handled, or whose future is being polled.
    pub handling: Option<&'static str>,
    /// Age of the current message or poll in milliseconds; `None` when idle.
    pub busy_ms: Option<u64>,
    /// The end of the last instance.
    pub last_exit: Option<String>,
    /// The reason of the quarantine.
    pub quarantine_reason: Option<String>,
    /// Rest of the backoff in milliseconds.
    pub retry_in_ms: Option<u64>,
    /// Paths of the nodes it needs.
    pub needs: Vec<NodePath>,
    /// `true` for an actor without which the tree ends.
    #[serde(skip)]
    pub essential: bool,
    /// The time that an instance gets to drain.
    #[serde(skip)]
    pub drain_deadline: Duration,
    /// The fingerprint of its configuration.
    pub fingerprint: Option<String>,
    /// Age of the running instance in milliseconds; 0 when none runs.
    pub uptime_ms: u64,
}

/// The counters of a node at one instant, borrowed: those of a large tree are read without an allocation for each node.
#[derive(Debug, Clone, Copy)]
pub struct NodeGauges<'n> {
    /// The path of the node.
    pub path: &'n NodePath,
    /// The kind of the node.
    pub kind: NodeKind,
    /// The lifecycle state.
    pub state: NodeState,
    /// Generation of the instance that runs or ran last; 0 before the first.
    pub generation: u64,
    /// Restarts over the node's life, ordered ones included.
    pub restarts: u64,
    /// Calls in flight: queued, or handled and not yet answered.
    pub mailbox_depth: usize,
    /// Maximum number of calls admitted at the same time.
    pub mailbox_bound: usize,
}
