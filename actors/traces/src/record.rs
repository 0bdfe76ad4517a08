//! The trace of a run that was not accepted before: a synchronous one, or that of a record.

use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDateTime;
use svc_model::{ErrorGroup, WorkflowVersion};
use svc_store::{NewTrace, TraceMode, TraceStatus};
use uuid::Uuid;

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct Record {
    /// Id of the trace and of the message.
    pub trace_id: Uuid,
    /// Name of the channel.
    pub channel: Arc<str>,
    pub channel_id: Arc<str>,
    /// Origin of the run.
    pub mode: TraceMode,
    /// The correlation id of the request; `None` if there was none.
    pub request_id: Option<String>,
    /// The input, as JSON, if it is kept.
    pub input: Option<String>,
    /// The key of the run; `None` for one that is the id of the trace.
    pub run_key: Option<String>,
    /// The whole answer as JSON; the errors of the tasks if the run failed.
    pub result: Option<String>,
    /// Reason of the failure; `None` for a run that was answered.
    pub error: Option<String>,
    /// Code of the error that ended the run, or of the first one that it went on after.
    pub error_code: Option<&'static str>,
    /// Group of the failure.
    pub error_group: Option<Arc<ErrorGroup>>,
    /// True if no task failed.
    pub clean: bool,
    /// The workflow version that was chosen for the run.
    pub workflow: Option<WorkflowVersion>,
    /// The execution trace as JSON, if the channel keeps one.
    pub task_trace: Option<String>,
    /// The id of its distributed trace, in hexadecimal; `None` if the spans of that trace are not exported.
    pub distributed_trace_id: Option<String>,
    /// Start of the run, in UTC.
    pub started_at: NaiveDateTime,
    /// Duration of the run.
    pub took: Duration,
}

impl Record {
    /// Returns the bytes of its texts.
    pub fn bytes(&self) -> usize {
        [&self.input, &self.result, &self.error, &self.task_trace]
            .into_iter()
            .flatten()
            .map(String::len)
            .sum()
    }

    /// Returns the row of the run.
    pub(crate) fn into_row(self) -> NewTrace {
        let took = chrono::Duration::from_std(self.took).unwrap_or_default();
        let status = if self.error.is_some() { TraceStatus::Failed } else { TraceStatus::Completed };
        NewTrace {
            channel_id: Some(self.channel_id),
            request_id: self.request_id,
            input_json: self.input,
            run_key: self.run_key,
            result_json: self.result,
            error_message: self.error,
            error_code: self.error_code,
            error_group: self.error_group,
            workflow: self.workflow,
            distributed_trace_id: self.distributed_trace_id,
            duration_ms: Some(self.took.as_secs_f64() * 1000.0),
            started_at: Some(self.started_at),
            completed_at: self.started_at.checked_add_signed(took),
            task_trace_json: self.task_trace,
            ..NewTrace::new(self.trace_id, self.channel, self.mode, status)
        }
    }
}
