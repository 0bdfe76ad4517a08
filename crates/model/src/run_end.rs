//! The end of a run.

/// The end of a run, from the engine to traces, the ledger and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunEnd {
    /// No task failed, or its workflow tolerates the errors.
    Completed,
    /// An error ended it, or a task has one that its workflow does not tolerate.
    Failed,
    /// The time of the run was used up.
    TimedOut,
    /// An operator cancelled it.
    Cancelled,
}
