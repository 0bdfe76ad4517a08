//! The called channel: its guards, its run, and the result for the caller.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use svc_engine::{ErrorCode, Redaction, RunOutcome, TaskError};
use svc_model::{Cancellation, Code, ServiceError};
use svc_spans::TraceContext;
use tokio::time::Instant;
use uuid::Uuid;

use crate::compiled_channel::CompiledChannel;
use crate::ended_runs::RunSource;
use crate::guards::{AdmittedMessage, MessageSource};
use crate::metrics::{MessageOutcome, TraceIds};
use crate::run::failure::describe;
use crate::run::{CallingRun, Recording, Run};
use crate::serve::OutcomeRecorder;

/// A call as the called channel receives it.
pub(super) struct IncomingCall {
    pub(super) payload: Value,
    pub(super) metadata: Map<String, Value>,
    /// The channel that calls; empty for a trial run, which no channel makes.
    pub(super) caller: Arc<str>,
    /// The channels that led here, this one the last.
    pub(super) chain: Arc<[Arc<str>]>,
    /// The redaction of the secrets in the payload.
    pub(super) redaction: Redaction,
    /// Time limit of the call.
    pub(super) limit: Duration,
    /// Deadline of the caller's run, which the call must not pass.
    pub(super) until: Option<Instant>,
    /// The place in a distributed trace of the task that calls.
    pub(super) trace_context: TraceContext,
    /// The cancellation of the caller's run, which ends this one too.
    pub(super) cancellation: Option<Arc<dyn Cancellation>>,
}

impl CompiledChannel {
    /// Returns `true` if a call may look at the metadata that it inherits.
    pub(super) fn reads_metadata_of_calls(&self) -> bool {
        self.reads_metadata || self.guards.limit_rate_of_calls()
    }

    /// Runs the workflow for another channel and returns its data. Nothing of the run is recorded, and secrets in
    /// its payload are redacted from the result.
    ///
    /// # Errors
    /// The error that the caller's task fails with: a refusal of a guard, or the error that ended the run. A
    /// run that ended with errors has failed, even if the called workflow tolerated them.
    pub(super) async fn run_call(&self, call: IncomingCall) -> Result<Value, TaskError> {
        let mut recorder = OutcomeRecorder::start(&self.meters);
        let IncomingCall {
            payload,
            metadata,
            caller,
            chain,
            redaction,
            limit,
            until,
            trace_context,
            cancellation,
        } = call;
        recorder.cancellation.clone_from(&cancellation);
        recorder.trace = TraceIds::new(trace_context.exported_trace_id(), None);
        let admitted = self.admit(MessageSource::Call(&caller), payload, metadata).await;
        let AdmittedMessage { payload, metadata, permit: _permit, .. } =
            admitted.map_err(|refusal| refusal_error(&self.name, &refusal.error))?;
        let run = Run {
            id: Uuid::now_v7(),
            source: RunSource::Call,
            payload,
            metadata,
            bucket: None,
            limit: Some(limit),
            trace_context,
            recording: Recording::default(),
            caller: Some(CallingRun { chain, redaction: redaction.clone(), until }),
            pinned: None,
            cancellation,
        };
        // Apart from the future of the call, which a chain nests on the stack of the thread as often as it
        // has links.
        let mut report = Box::pin(self.execute(run)).await;
        if let Some(error) = failure(&self.name, &report.outcome) {
            if error.is_deadline {
                recorder.outcome = Some(MessageOutcome::Timeout);
            }
            return Err(error);
        }
        recorder.outcome = Some(MessageOutcome::Ok);
        let mut data = std::mem::take(report.data());
        redaction.mask(&mut data);
        Ok(data)
    }
}

/// Converts the refusal of a call to the error of the calling task.
fn refusal_error(channel: &str, refusal: &ServiceError) -> TaskError {
    let code = match refusal.code() {
        Code::RateLimited => ErrorCode::ChannelRateLimited,
        Code::Forbidden => ErrorCode::ChannelForbidden,
        Code::Conflict => ErrorCode::ChannelConflict,
        Code::ServiceUnavailable => ErrorCode::ChannelUnavailable,
        Code::ValidationError => ErrorCode::Validation,
        _ => ErrorCode::Function,
    };
    TaskError::new(code, format!("channel '{channel}' refused the call: {}", refusal.message()))
}

/// Converts the first error of a run to the error of the calling task; `None` if the run has none. The code stays: the
/// answer to a message does not depend on the number of channels that it went through.
fn failure(channel: &str, outcome: &RunOutcome) -> Option<TaskError> {
    let cause = match &outcome.failure {
        Some(failure) => &failure.error,
        None => outcome.errors.first()?,
    };
    let place = cause.task_id.as_deref().map(|task| format!(", task '{task}'")).unwrap_or_default();
    // Errors of tasks; one of the workflow only sums them up.
    let has_several = outcome.errors.iter().filter(|error| error.code != ErrorCode::Workflow).count() > 1;
    let detail =
        cause.detail.clone().or_else(|| has_several.then(|| Box::new(describe(outcome.errors.iter()))));
    Some(TaskError {
        detail,
        http_status: cause.http_status,
        body: cause.body.clone(),
        is_deadline: cause.is_deadline,
        healing: cause.healing,
        paused_channel: cause.paused_channel.clone(),
        retry_after_secs: cause.retry_after_secs,
        ..TaskError::new(cause.code, format!("channel '{channel}'{place}: {}", cause.message))
    })
}
