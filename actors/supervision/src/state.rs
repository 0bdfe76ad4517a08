//! The lifecycle state of a node.

use serde::Serialize;

/// The state of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// Its first instance is being built, or waits for the nodes it needs. Calls queue.
    Starting,
    /// An instance handles messages.
    Running,
    /// The last instance ended and the next one is on its way. Calls queue, or are refused during a backoff.
    Restarting,
    /// It ended too often, or its configuration is wrong. Every call is refused with the reason.
    Quarantined,
    /// It finishes what it admitted. New calls are refused.
    Draining,
    /// It has no instance and gets none without an order.
    Stopped,
}

impl NodeState {
    /// Every state, in the order of the discriminants.
    pub(crate) const ALL: [Self; 6] =
        [Self::Starting, Self::Running, Self::Restarting, Self::Quarantined, Self::Draining, Self::Stopped];

    /// Returns the name that its serialised form has.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Restarting => "restarting",
            Self::Quarantined => "quarantined",
            Self::Draining => "draining",
            Self::Stopped => "stopped",
        }
    }
}
