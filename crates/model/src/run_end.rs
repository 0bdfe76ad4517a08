//! The end of a run, and its cancellation.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// Error of accepted work that was cancelled, in its dead letter and in its report.
pub const CANCELLED_WORK: &str = "the work was cancelled";

/// Error of the report of a cancelled occurrence.
pub const CANCELLED_OCCURRENCE: &str = "the occurrence was cancelled";

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

/// A call of a task that had left when its run was cancelled. Whether the called system has carried it out is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InFlightCall {
    /// Id of the task.
    pub task_id: Arc<str>,
    /// The function that the task calls.
    pub function: Arc<str>,
    /// The connector that the task calls it through, if its input names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connector: Option<Arc<str>>,
}

/// The cancellation of a run, as the run sees it. The runs that it calls share it.
pub trait Cancellation: fmt::Debug + Send + Sync {
    /// Returns `true` once the run is to end. A run that computes asks every few milliseconds.
    fn is_requested(&self) -> bool;

    /// Records a call that had left when the run was dropped.
    fn record_in_flight(&self, call: InFlightCall);
}
