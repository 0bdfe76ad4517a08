//! The end of a run.

/// The end of a run, as traces, the ledger and metrics tell it. New ends are added here first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunEnd {
    /// No task failed, or its workflow tolerates the errors.
    Completed,
    /// An error ended it, or a task has one that its workflow does not tolerate.
    Failed,
    /// Its time was used up.
    TimedOut,
}
