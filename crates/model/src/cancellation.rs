//! The cancellation of a run.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

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
