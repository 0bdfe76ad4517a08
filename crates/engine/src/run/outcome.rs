//! The result of a run.

use svc_model::{RunEnd, WorkflowVersion};

use crate::error::{RunFailure, TaskError};
use crate::error_code::FailureKind;
use crate::message::Message;
use crate::recording::RecordingResult;
use crate::stubs::StubCall;
use crate::trace::{AuditTrailEntry, ExecutionTrace, Timings};

/// The result of a run.
#[derive(Debug)]
pub struct RunOutcome {
    /// The message as the tasks left it.
    pub message: Message,
    /// True if a workflow admitted the message.
    pub matched: bool,
    /// One entry per task that recorded something.
    pub audit_trail: Vec<AuditTrailEntry>,
    /// Errors in the order they happened.
    pub errors: Vec<TaskError>,
    /// The error that ended the run, if it did not end normally.
    pub failure: Option<RunFailure>,
    /// True if something ended the run after it was to be cancelled.
    pub is_cancelled: bool,
    /// The execution trace, if it was asked for.
    pub trace: Option<ExecutionTrace>,
    /// The calls that stubs answered, in order.
    pub calls: Vec<StubCall>,
    /// The recording of the run, or the report of a run over one. `None` for a run that was not to be recorded, or whose
    /// payload holds secrets.
    pub recorded: Option<RecordingResult>,
    /// The durations of the run and of its tasks.
    pub timings: Timings,
    /// The version of the workflow that the message was given to.
    pub workflow: Option<WorkflowVersion>,
}

impl RunOutcome {
    /// Returns `true` if the run counts as failed accepted work: something ended it, or a task has an error that its
    /// workflow does not tolerate.
    pub fn has_failed(&self) -> bool {
        self.end() != RunEnd::Completed
    }

    /// Returns the end of the run.
    pub fn end(&self) -> RunEnd {
        match &self.failure {
            Some(_) if self.is_cancelled => RunEnd::Cancelled,
            Some(failure) if failure.kind == FailureKind::Timeout => RunEnd::TimedOut,
            Some(_) => RunEnd::Failed,
            None if self.errors.iter().any(|error| !error.is_tolerated) => RunEnd::Failed,
            None => RunEnd::Completed,
        }
    }
}
