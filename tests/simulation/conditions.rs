//! The conditions and the figures of a simulation.

use std::time::Duration;

/// The conditions of a simulation.
#[derive(Clone, Debug)]
pub(super) struct Conditions {
    pub(super) nodes: usize,
    pub(super) seed: u64,
    pub(super) schedules: usize,
    /// Time between two jobs of one node.
    pub(super) jobs: Option<Duration>,
    /// Time between two changes of the configuration.
    pub(super) changes: Option<Duration>,
    /// Time between two faults.
    pub(super) faults: Option<Duration>,
    /// True if the database announces changes.
    pub(super) announces: bool,
    /// True if one load in ten fails.
    pub(super) loads_fail: bool,
    pub(super) is_fenced: bool,
}

/// The figures of a simulation.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    pub(super) accepted: u64,
    pub(super) taken_over: u64,
    pub(super) crashes: u64,
    pub(super) pauses: u64,
    pub(super) restarts: u64,
    pub(super) changes: u64,
    /// The longest time from the loss of a node to the takeover of its work.
    pub(super) slowest_takeover: Duration,
    /// The longest time for which work of a dead node waited although a worker was free.
    pub(super) longest_wait: Duration,
    /// The longest time from the commit of a change until an undisturbed node served it.
    pub(super) slowest_change: Duration,
}
