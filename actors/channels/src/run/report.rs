//! The report of a run, and the parts of it that a trace keeps.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};
use svc_contract::ResponseControl;
use svc_engine::{AuditTrailEntry, ExecutionTrace, RunOutcome, TaskError};
use svc_model::{ErrorReason, RunEnd, Timestamp};
use svc_spans::ActiveSpan;
use svc_traces::{Record, TraceMode};
use uuid::Uuid;

use super::failure;
use crate::compiled_channel::CompiledChannel;
use crate::metrics::MessageOutcome;

/// A run that has ended. Its outcome is large, and moves through several futures.
pub(crate) struct RunReport {
    pub(crate) outcome: Box<RunOutcome>,
}

/// The call of a paused channel that ended a run.
pub(crate) struct PausedCall {
    pub(crate) channel_id: Arc<str>,
    /// The error, for operators.
    pub(crate) message: String,
}

impl RunReport {
    pub(crate) fn end(&self) -> RunEnd {
        self.outcome.end()
    }

    /// Returns `true` for a run without any error.
    pub(crate) fn is_clean(&self) -> bool {
        self.outcome.errors.is_empty()
    }

    /// Returns the reason of the failure for operators; `None` for a run that completed.
    pub(crate) fn failure(&self) -> Option<String> {
        (self.end() != RunEnd::Completed).then(|| failure::describe_failure(&self.outcome))
    }

    /// Returns the same for a run that was given a limit which its message names. `took` is the time since it arrived.
    pub(crate) fn failure_within(&self, limit: Duration, took: Duration) -> Option<String> {
        // A run that used up its processor time ended before its limit.
        if self.end() == RunEnd::TimedOut && took >= limit {
            return Some(format!("timed out after {}ms", limit.as_millis()));
        }
        self.failure()
    }

    /// Returns the code of the error by which the run failed, or of the first one that it went on after.
    pub(crate) fn error_code(&self) -> Option<&'static str> {
        failure::fatal_error(&self.outcome)
            .or_else(|| self.outcome.errors.first())
            .map(|error| error.code.name())
    }

    /// Returns the call of a paused channel by which the run failed. It is to run again once that channel is resumed, and
    /// the attempt does not count.
    pub(crate) fn paused_call(&self) -> Option<PausedCall> {
        let error = failure::fatal_error(&self.outcome)?;
        let channel_id = Arc::clone(&error.paused_channel.as_ref()?.id);
        Some(PausedCall { channel_id, message: error.message.clone() })
    }

    /// Marks the span of a run that failed with the code of its error.
    pub(crate) fn mark_failed(&self, span: &mut ActiveSpan) {
        if let Some(error) = failure::fatal_error(&self.outcome) {
            span.fail(error.code.name());
        }
    }

    /// Returns the data of the run without the control document, which is never returned.
    pub(crate) fn data(&mut self) -> &mut Value {
        ResponseControl::take(&mut self.outcome.message.data);
        &mut self.outcome.message.data
    }

    /// Returns the whole message with the control document, which its readers remove.
    pub(crate) fn message_with_control(&self) -> StoredMessage<'_> {
        StoredMessage::from_outcome(&self.outcome)
    }

    /// Returns the whole message, as the traces of accepted work and of records keep it.
    pub(crate) fn whole_message(&mut self) -> StoredMessage<'_> {
        self.data();
        StoredMessage::from_outcome(&self.outcome)
    }
}

impl From<RunEnd> for MessageOutcome {
    fn from(end: RunEnd) -> Self {
        match end {
            RunEnd::Completed => Self::Ok,
            RunEnd::Failed => Self::Error,
            RunEnd::TimedOut => Self::Timeout,
            RunEnd::Cancelled => Self::Cancelled,
        }
    }
}

/// The reason why a trace keeps no result.
pub(crate) enum ResultError {
    /// The result exceeds the size that may be stored.
    TooLarge {
        /// The message for operators.
        message: String,
    },
    /// The result cannot be written as JSON.
    Unserializable(serde_json::Error),
}

impl CompiledChannel {
    /// Returns the trace of a run without its end.
    pub(crate) fn new_record(
        &self,
        mode: TraceMode,
        trace_id: Uuid,
        started_at: Timestamp,
        took: Duration,
    ) -> Record {
        Record {
            trace_id,
            channel: self.name.clone(),
            channel_id: self.id.clone(),
            mode,
            request_id: None,
            input: None,
            run_key: None,
            result: None,
            error: None,
            error_code: None,
            error_group: None,
            clean: false,
            workflow: None,
            task_trace: None,
            distributed_trace_id: None,
            started_at: started_at.naive(),
            took,
        }
    }

    /// Adds the end of a run to its trace. A run that completed has a `result` of its own; one that failed with an `error`
    /// has its errors, and its steps even if its channel records none.
    pub(crate) fn record_end(
        &self,
        record: &mut Record,
        report: &mut RunReport,
        error: Option<String>,
        result: impl FnOnce(&mut RunReport) -> Option<String>,
    ) {
        record.clean = error.is_none() && report.is_clean();
        record.error_code = report.error_code();
        record.error_group = error.as_deref().map(|error| self.error_group(&report.outcome, error));
        record.workflow = report.outcome.workflow.take();
        if error.is_some() {
            record.result = self.serialize_errors(&report.outcome);
            record.task_trace = self.serialize_steps(&mut report.outcome);
        } else {
            record.task_trace = self.serialize_task_trace(report.outcome.trace.take());
            record.result = result(report);
        }
        record.error = error;
    }

    /// Serializes the result of a run.
    ///
    /// # Errors
    /// The result is larger than what may be stored, or cannot be written as JSON.
    pub(crate) fn serialize_result(&self, result: &impl Serialize) -> Result<String, ResultError> {
        let text = serde_json::to_string(result).map_err(ResultError::Unserializable)?;
        match self.services.settings.check_result(text.len()) {
            Ok(()) => Ok(text),
            Err(message) => Err(ResultError::TooLarge { message }),
        }
    }

    /// Serializes the result of a run whose end does not depend on it: one that is too large is counted and left out.
    pub(crate) fn serialize_result_if_small(&self, result: &impl Serialize) -> Option<String> {
        self.serialize_result(result)
            .inspect_err(|error| {
                if matches!(error, ResultError::TooLarge { .. }) {
                    self.services.metrics.count_error(ErrorReason::ResultSizeExceeded);
                }
            })
            .ok()
    }

    /// Serializes the execution trace; `None` for one that is too large.
    pub(crate) fn serialize_task_trace(&self, trace: Option<ExecutionTrace>) -> Option<String> {
        let text = serde_json::to_string(&trace?).ok()?;
        if self.services.settings.check_result(text.len()).is_err() {
            self.services.metrics.count_error(ErrorReason::TaskTraceSizeExceeded);
            return None;
        }
        Some(text)
    }
}

/// The message of a run as a trace keeps it.
#[derive(Serialize)]
pub(crate) struct StoredMessage<'o> {
    id: String,
    payload: &'o Value,
    context: Context<'o>,
    audit_trail: &'o [AuditTrailEntry],
    errors: &'o [TaskError],
}

#[derive(Serialize)]
struct Context<'o> {
    data: &'o Value,
    metadata: &'o Map<String, Value>,
    temp_data: &'o Value,
}

impl<'o> StoredMessage<'o> {
    fn from_outcome(outcome: &'o RunOutcome) -> Self {
        let message = &outcome.message;
        Self {
            id: message.id.to_string(),
            payload: &message.payload,
            context: Context {
                data: &message.data,
                metadata: &message.metadata,
                temp_data: &message.temp_data,
            },
            audit_trail: &outcome.audit_trail,
            errors: &outcome.errors,
        }
    }
}
