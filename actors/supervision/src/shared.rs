//! The state that the supervisor, the runners and every handle of a tree share.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::TreeClock;
use crate::directory::NodeDirectory;
use crate::fault::FaultPlan;
use crate::instances::instance_count::InstanceCount;
use crate::observation::recorder::FlightRecorder;

/// The shared state of a tree.
pub(crate) struct TreeContext {
    pub(crate) tree_clock: TreeClock,
    pub(crate) directory: NodeDirectory,
    pub(crate) recorder: FlightRecorder,
    pub(crate) faults: FaultPlan,
    pub(crate) instance_count: InstanceCount,
    pub(crate) log: slog::Logger,
    pub(crate) last_id: AtomicU64,
}

impl TreeContext {
    /// Returns a number that is new in this tree.
    pub(crate) fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }
}
