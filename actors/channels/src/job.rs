//! An asynchronous run: accepted now, run later.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};
use svc_engine::{AuditTrailEntry, FailureKind, Message, RunOptions, RunOutcome, TaskError};
use svc_model::{Code, ServiceError};
use svc_spans::{SpanDraft, TraceContext};
use svc_traces::{FAILURE_OF, Job, JobFailure, JobHold, JobOutcome, JobResult, SubmitError};
use uuid::Uuid;

use crate::compiled_channel::CompiledChannel;
use crate::failure::{self, mark_failed};
use crate::guards::{AdmittedMessage, NoPermit};
use crate::metadata;
use crate::metrics::MessageOutcome;
use crate::response::ChannelResponse;
use crate::response_shape::ResponseControl;
use crate::serve::OutcomeRecorder;

impl CompiledChannel {
    /// Hands an admitted message to the queue. It keeps its permit until it has run. An idempotency key is given
    /// back when the queue shed the message; after any other error the message may have been stored, so that the
    /// key is given back only if the next delivery learns that the first one arrived.
    pub(crate) async fn enqueue(
        &self,
        admitted: AdmittedMessage,
        (request_id, trace_context): (&str, &TraceContext),
    ) -> Result<ChannelResponse, ServiceError> {
        let AdmittedMessage {
            payload, mut metadata, bucket, run_key, claim, releases_on_error, permit, ..
        } = admitted;
        let trace_id = Uuid::now_v7();
        // It stays with the job: a retry of its dead letter leaves another trace and has the same key.
        metadata::set_run_key(&mut metadata, run_key.unwrap_or_else(|| trace_id.to_string()));
        let job = Job {
            trace_id,
            channel_id: Some(self.id.clone()),
            channel: self.name.clone(),
            payload,
            metadata,
            bucket,
            hold: permit.map(JobHold::new),
            attempt: None,
            trace_headers: owned_headers(trace_context),
        };
        let accepted = match &self.services.traces {
            Some(traces) => traces.submit(job, Some(request_id).filter(|id| !id.is_empty())).await,
            None => {
                let what = "This service accepts no asynchronous submissions";
                Err(SubmitError::Shed(ServiceError::unavailable(what)))
            }
        };
        let is_given_back = match &accepted {
            Ok(_) => false,
            Err(SubmitError::Shed(_)) => true,
            Err(SubmitError::Failed(_)) => releases_on_error,
        };
        if let Some(claim) = claim.filter(|_| is_given_back) {
            claim.release(&self.services).await;
        }
        let accepted = accepted?;
        let body = serde_json::to_string(&Accepted {
            trace_id: accepted.trace_id.hyphenated().encode_lower(&mut Uuid::encode_buffer()),
            trace_token: &accepted.trace_token,
        });
        let body =
            body.map_err(|error| ServiceError::from_code(Code::SerializationError).with_internal(error))?;
        let mut answer = ChannelResponse::json(202, body);
        answer.set_trace_id(accepted.trace_id);
        Ok(answer)
    }

    /// Runs an accepted job, no longer than `limit`. It passed its guards when it was accepted; only a job without a permit
    /// acquires one.
    pub(crate) async fn run_job(&self, mut job: Job, limit: Duration) -> JobResult {
        if job.hold.is_none() {
            match self.guards.permit() {
                Ok(permit) => job.hold = permit.map(JobHold::new),
                Err(NoPermit) => {
                    let ended = JobOutcome::Busy(Box::new(job));
                    return JobResult::bare(ended, Duration::ZERO);
                }
            }
        }
        let mut recorder = OutcomeRecorder::start(&self.meters);
        if let Err(refused) = self.admit_report(&mut job).await {
            return JobResult::bare(JobOutcome::Failed(refused), recorder.started.elapsed());
        }
        let spans = &self.services.spans;
        let submission = job.trace_headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let mut span = spans
            .new_trace()
            .begin_linked(&spans.extract(submission), || SpanDraft::job(&self.name, job.trace_id));
        let policy = self.tracing.as_ref();
        let options = RunOptions {
            bucket: job.bucket,
            deadline: Some(self.deadline(limit)),
            trace: self.trace_options(policy.is_some_and(|policy| policy.task_details)),
            capture_changes: true,
            chain: self.chain.clone(),
            trace_context: span.context().clone(),
            ..RunOptions::default()
        };
        if !metadata::has_run_key(&job.metadata) {
            // It was accepted before runs had keys.
            metadata::set_run_key(&mut job.metadata, job.trace_id.to_string());
        }
        let message = Message::with_id(job.trace_id, job.payload, job.metadata);
        let mut outcome = self.execute(message, options).await;
        drop(job.hold);
        mark_failed(&mut span, &outcome);
        let errors_only = policy.is_some_and(|policy| policy.errors_only);
        let (ending, ended) = self.conclude(&mut outcome, errors_only);
        recorder.outcome = Some(ending);
        let is_kept = !(errors_only && outcome.errors.is_empty());
        let task_trace = outcome.trace.take().filter(|_| is_kept);
        JobResult {
            ended,
            task_trace: self.task_trace(task_trace),
            workflow: outcome.workflow.take(),
            took: recorder.started.elapsed(),
        }
    }

    /// Applies the guards of a call to the report of a failure; other jobs passed them when they were accepted.
    async fn admit_report(&self, job: &mut Job) -> Result<(), JobFailure> {
        if !job.metadata.contains_key(FAILURE_OF) {
            return Ok(());
        }
        let caller = job.payload.get("channel").and_then(Value::as_str).unwrap_or_default();
        let checked = self.check_call(caller, &job.payload, std::mem::take(&mut job.metadata)).await;
        let metadata = checked.map_err(|refusal| {
            let message = format!("channel '{}' refused the report: {}", self.name, refusal.message());
            match refusal.code() {
                Code::RateLimited | Code::ServiceUnavailable => JobFailure::transient(message),
                _ => JobFailure::permanent(message),
            }
        })?;
        job.metadata = metadata;
        Ok(())
    }

    fn conclude(&self, outcome: &mut RunOutcome, errors_only: bool) -> (MessageOutcome, JobOutcome) {
        if outcome.has_failed() {
            let expired =
                outcome.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Timeout);
            let ending = if expired { MessageOutcome::Timeout } else { MessageOutcome::Error };
            let failure = JobFailure {
                message: failure::describe_failure(outcome),
                code: failure::error_code(outcome),
                errors: self.serialize_errors(outcome),
                is_transient: failure::is_transient(&outcome.errors),
                retry_after: failure::retry_after(&outcome.errors),
            };
            return (ending, JobOutcome::Failed(failure));
        }
        if errors_only && outcome.errors.is_empty() {
            return (MessageOutcome::Ok, JobOutcome::Completed { result: None });
        }
        ResponseControl::take(&mut outcome.message.data);
        let result = match serialize_run(outcome) {
            Ok(result) => result,
            Err(error) => {
                return (MessageOutcome::Error, JobOutcome::Failed(JobFailure::permanent(error.to_string())));
            }
        };
        if let Some(limit) = self.services.settings.max_result_bytes.filter(|limit| result.len() > *limit) {
            let message = format!(
                "The result has {} bytes, trace_queue.max_result_size_bytes allows {limit}",
                result.len()
            );
            return (MessageOutcome::Error, JobOutcome::TooLarge { message });
        }
        (MessageOutcome::Ok, JobOutcome::Completed { result: Some(result) })
    }
}

/// The body of a 202.
#[derive(Serialize)]
struct Accepted<'a> {
    trace_id: &'a str,
    trace_token: &'a str,
}

/// Returns the headers of a trace context, as a job keeps them until it runs.
fn owned_headers(trace_context: &TraceContext) -> BTreeMap<String, String> {
    trace_context.headers().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The message of a run as its trace keeps it.
#[derive(Serialize)]
struct StoredRun<'o> {
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

impl<'o> StoredRun<'o> {
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

/// The message of a run as its trace keeps it, JSON.
pub(crate) fn serialize_run(outcome: &RunOutcome) -> serde_json::Result<String> {
    serde_json::to_string(&StoredRun::from_outcome(outcome))
}
