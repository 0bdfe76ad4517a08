//! The threads that serve channels.

use actix_supervision::Placement;

/// A thread that runs one actor of every channel.
#[derive(Clone, Debug)]
pub(crate) struct WorkerThread {
    /// Its number, also the last segment of the paths of its actors.
    pub(crate) id: usize,
    /// The thread that its actors run on.
    pub(crate) at: Placement,
}

/// Identifies a worker. A request of its thread resolves its actor with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WorkerId(pub(crate) usize);

impl WorkerId {
    /// Its number, from 0, never reused within a process.
    pub const fn number(self) -> usize {
        self.0
    }
}
