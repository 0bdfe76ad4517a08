//! An asynchronous run: accepted now, run later.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use svc_model::{Code, RunEnd, ServiceError};
use svc_spans::{SpanDraft, TraceContext};
use svc_traces::{FAILURE_OF, Job, JobFailure, JobHold, JobOutcome, JobResult, JobTerms, RERUN, SubmitError};
use tokio::time::Instant;
use uuid::Uuid;

use super::failure;
use super::report::{PausedCall, ResultError, RunReport};
use super::{PinnedVersion, Recording, Run};
use crate::answer::response::ChannelResponse;
use crate::compiled_channel::CompiledChannel;
use crate::ended_runs::RunSource;
use crate::guards::{AdmittedMessage, GuardRefusal, IdempotencyClaim, NoPermit};
use crate::metadata;
use crate::metrics::{MessageOutcome, TraceIds};
use crate::serve::OutcomeRecorder;

impl CompiledChannel {
    /// Hands an admitted message to the queue. It keeps its permit until it has run; one that waits in the database has
    /// none. An idempotency key is given back when the queue shed the message, and when nothing was written. After any
    /// other error the message may have been stored: the key is given back only if the next delivery learns that the first
    /// one arrived.
    ///
    /// An `async fn` would hold the message twice.
    pub(crate) fn enqueue<'r>(
        &'r self,
        admitted: AdmittedMessage,
        (request_id, trace_context): (&'r str, &'r TraceContext),
        is_paused: bool,
    ) -> impl Future<Output = Result<ChannelResponse, ServiceError>> + 'r {
        let PreparedJob { job, terms, claim } = self.prepare_job(admitted, trace_context, is_paused);
        async move {
            let request_id = Some(request_id).filter(|id| !id.is_empty());
            let accepted = match (&self.services.traces, terms) {
                (Some(traces), None) if self.starts_early() => traces.submit_early(job, request_id).await,
                (Some(traces), None) => traces.submit(job, request_id).await,
                // By value it would make the future of every submission larger.
                (Some(traces), Some(terms)) => Box::pin(traces.submit_waiting(job, terms, request_id)).await,
                (None, _) => {
                    let what = "This service accepts no asynchronous submissions";
                    Err(SubmitError::Shed(ServiceError::unavailable(what)))
                }
            };
            let is_given_back = accepted.as_ref().err().is_some_and(|error| self.gives_key_back(error));
            if let Some(claim) = claim.filter(|_| is_given_back) {
                claim.release(&self.services).await;
            }
            let accepted = accepted?;
            let body = serde_json::to_string(&AcceptedBody {
                trace_id: accepted.trace_id.hyphenated().encode_lower(&mut Uuid::encode_buffer()),
                trace_token: &accepted.trace_token,
            });
            let body =
                body.map_err(|error| ServiceError::from_code(Code::SerializationError).with_internal(error))?;
            let mut answer = ChannelResponse::json(202, body);
            answer.set_trace_id(accepted.trace_id);
            Ok(answer)
        }
    }

    /// Makes the job of an admitted message.
    pub(super) fn prepare_job(
        &self,
        admitted: AdmittedMessage,
        trace_context: &TraceContext,
        is_paused: bool,
    ) -> PreparedJob {
        let AdmittedMessage { payload, mut metadata, bucket, run_key, claim, permit, wait, .. } = admitted;
        let terms = self.queue.terms(wait, is_paused);
        // What waits takes its permit when it begins.
        let permit = permit.filter(|_| terms.is_none());
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
        PreparedJob { job, terms, claim }
    }

    /// Returns `true` if the idempotency key of a message that the queue refused is given back.
    pub(super) fn gives_key_back(&self, error: &SubmitError) -> bool {
        match error {
            SubmitError::Uncertain(_) => false,
            // Nothing ran and nothing will: a key that stays claimed would have every repeat answered as done.
            SubmitError::Shed(_) | SubmitError::Unwritten(_) => true,
            SubmitError::Failed(_) => self.guards.accept_repeats(),
        }
    }

    /// Returns `true` if a submission may begin before its row is on disk. If the channel answers repeats as accepted it
    /// may not: after a refused row its key would stay claimed, and nothing would be left that runs.
    fn starts_early(&self) -> bool {
        self.queue.starts_early() && !self.guards.accept_repeats()
    }

    /// Runs an accepted job, no longer than `limit`, with the version of the workflow that is `pinned`. It passed its guards
    /// when it was accepted; only a job without a permit acquires one.
    ///
    /// An `async fn` would hold the job twice.
    pub(crate) fn run_job(
        &self,
        mut job: Job,
        limit: Duration,
        pinned: Option<PinnedVersion>,
    ) -> impl Future<Output = JobResult> + '_ {
        let cancellation = job.attempt.as_ref().map(|attempt| Arc::clone(attempt.cancellation()));
        async move {
            if self.hold_permit(&mut job).is_err() {
                return JobResult::bare(JobOutcome::Busy(Box::new(job)), Duration::ZERO);
            }
            let mut recorder = OutcomeRecorder::start(&self.meters);
            recorder.cancellation.clone_from(&cancellation);
            // Rare: by value it would make the future of every job larger.
            if let Some(kind) = UnguardedJob::find(&job)
                && let Err(refused) = Box::pin(self.admit_unguarded(&mut job, kind)).await
            {
                return JobResult::bare(JobOutcome::Failed(refused), recorder.started.elapsed());
            }
            let spans = &self.services.spans;
            let submission = job.trace_headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
            let mut span = spans
                .new_trace()
                .begin_linked(&spans.extract(submission), || SpanDraft::job(&self.name, job.trace_id));
            recorder.trace = TraceIds::new(span.context().exported_trace_id(), Some(job.trace_id));
            if metadata::read_run_key(&job.metadata).is_none() {
                // It was accepted before runs had keys.
                metadata::set_run_key(&mut job.metadata, job.trace_id.to_string());
            }
            let run = Run {
                id: job.trace_id,
                source: RunSource::Async,
                payload: job.payload,
                metadata: job.metadata,
                bucket: job.bucket,
                limit: Some(self.deadline(limit)),
                trace_context: span.context().clone(),
                recording: Recording { steps: self.records_steps(), changes: true, metadata: true },
                caller: None,
                pinned,
                cancellation,
            };
            let mut report = self.execute(run).await;
            drop(job.hold);
            report.mark_failed(&mut span);
            let errors_only = self.tracing.as_ref().is_some_and(|policy| policy.errors_only);
            let ended = self.conclude(&mut report, errors_only);
            recorder.outcome = match ended {
                JobOutcome::Paused { .. } => None,
                JobOutcome::Completed { .. } => Some(MessageOutcome::Ok),
                _ if report.end() == RunEnd::TimedOut => Some(MessageOutcome::Timeout),
                _ => Some(MessageOutcome::Error),
            };
            self.build_job_result(ended, report, errors_only, recorder.started)
        }
    }

    /// Takes a permit for a job that has none.
    fn hold_permit(&self, job: &mut Job) -> Result<(), NoPermit> {
        if job.hold.is_none() {
            job.hold = self.guards.permit()?.map(JobHold::new);
        }
        Ok(())
    }

    /// Returns the result of a job that ran.
    fn build_job_result(
        &self,
        ended: JobOutcome,
        mut report: RunReport,
        errors_only: bool,
        started: Instant,
    ) -> JobResult {
        let is_kept = !(errors_only && report.is_clean());
        let task_trace = report.outcome.trace.take().filter(|_| is_kept);
        let error_group = match &ended {
            JobOutcome::Failed(failure) => Some(self.error_group(&report.outcome, &failure.message)),
            JobOutcome::TooLarge { message } => Some(self.message_group(message)),
            _ => None,
        };
        let took = started.elapsed();
        self.queue.record_run(took);
        JobResult {
            ended,
            task_trace: self.serialize_task_trace(task_trace),
            workflow: report.outcome.workflow.take(),
            error_group,
            took,
        }
    }

    /// Applies the guards of a call to a job that was accepted without any: the report of a failure, whose caller is the
    /// channel that failed, and a rerun, whose caller is this one.
    async fn admit_unguarded(&self, job: &mut Job, kind: UnguardedJob) -> Result<(), JobFailure> {
        let (what, caller) = match kind {
            UnguardedJob::Report => {
                ("report", job.payload.get("channel").and_then(Value::as_str).unwrap_or_default().to_owned())
            }
            UnguardedJob::Rerun => ("rerun", self.name.to_string()),
        };
        let (payload, metadata) = (std::mem::take(&mut job.payload), std::mem::take(&mut job.metadata));
        let admitted = self.admit_accepted(&caller, payload, metadata).await;
        let admitted = admitted.map_err(|GuardRefusal { error, .. }| {
            let message = format!("channel '{}' refused the {what}: {}", self.name, error.message());
            match error.code() {
                Code::RateLimited | Code::ServiceUnavailable => JobFailure::transient(message),
                _ => JobFailure::permanent(message),
            }
        })?;
        (job.payload, job.metadata) = (admitted.payload, admitted.metadata);
        Ok(())
    }

    /// Translates the report of a run to the outcome of its job.
    fn conclude(&self, report: &mut RunReport, errors_only: bool) -> JobOutcome {
        if report.end() == RunEnd::Cancelled {
            return JobOutcome::Cancelled;
        }
        if let Some(PausedCall { channel_id, message }) = report.paused_call() {
            return JobOutcome::Paused { message, channel_id };
        }
        if let Some(message) = report.failure() {
            return JobOutcome::Failed(JobFailure {
                message,
                code: report.error_code(),
                errors: self.serialize_errors(&report.outcome),
                is_transient: failure::is_transient(&report.outcome.errors),
                retry_after: failure::retry_after(&report.outcome.errors),
            });
        }
        if errors_only && report.is_clean() {
            return JobOutcome::Completed { result: None };
        }
        // The control document of a shaped answer decides what the token of the work shows.
        let message = match self.shapes_answers() {
            true => report.message_with_control(),
            false => report.whole_message(),
        };
        match self.serialize_result(&message) {
            Ok(result) => JobOutcome::Completed { result: Some(result) },
            Err(ResultError::TooLarge { message }) => JobOutcome::TooLarge { message },
            Err(ResultError::Unserializable(error)) => {
                JobOutcome::Failed(JobFailure::permanent(error.to_string()))
            }
        }
    }
}

/// A job to be accepted, with the key that its message claimed.
pub(super) struct PreparedJob {
    pub(super) job: Job,
    /// The terms on which it waits; `None` for one that may run at once.
    pub(super) terms: Option<JobTerms>,
    pub(super) claim: Option<IdempotencyClaim>,
}

/// The body of a 202.
#[derive(Serialize)]
struct AcceptedBody<'a> {
    trace_id: &'a str,
    trace_token: &'a str,
}

/// A kind of job that was accepted without guards.
#[derive(Clone, Copy)]
enum UnguardedJob {
    /// The report of a failure.
    Report,
    Rerun,
}

impl UnguardedJob {
    /// Finds the kind of a job; `None` for one that passed its guards.
    fn find(job: &Job) -> Option<Self> {
        let kinds = [(FAILURE_OF, Self::Report), (RERUN, Self::Rerun)];
        kinds.into_iter().find(|(mark, _)| job.metadata.contains_key(*mark)).map(|(_, kind)| kind)
    }
}

/// Returns the headers of a trace context, as a job keeps them until it runs.
fn owned_headers(trace_context: &TraceContext) -> BTreeMap<String, String> {
    trace_context.headers().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
