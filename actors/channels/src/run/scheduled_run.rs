//! A scheduled run: due now, without a caller, dropped when it is aborted.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{AbortRegistration, Abortable};
use serde_json::{Map, Value};
use svc_ledger::Settlement;
use svc_model::{Cancellation, WorkflowVersion};
use svc_spans::SpanDraft;
use tokio::time::Instant;
use uuid::Uuid;

use super::report::RunReport;
use super::{PinnedVersion, Recording, Run};
use crate::compiled_channel::CompiledChannel;
use crate::ended_runs::RunSource;
use crate::guards::{AdmittedMessage, GuardRefusal, MessageSource, RefusalKind};
use crate::metadata;
use crate::metrics::{MessageOutcome, TraceIds};
use crate::refusal;
use crate::serve::OutcomeRecorder;

/// The request for a scheduled run.
#[derive(Debug)]
pub struct ScheduledRun {
    /// The payload of the run.
    pub payload: Value,
    /// The facts about the occurrence that triggers the run; `metadata.trigger`.
    pub trigger: Map<String, Value>,
    /// Identifies the occurrence, the same at every attempt; `metadata.run.key`.
    pub key: String,
    /// The rollout bucket of the run, 0 to 99: the same at every attempt.
    pub bucket: u8,
    /// Time limit of the run if the channel sets none.
    pub default_limit: Duration,
    /// Id of the trace; every scheduled run leaves one.
    pub trace_id: Uuid,
    /// Aborts the run: it is dropped at its current step.
    pub abort: AbortRegistration,
    /// The version of the workflow, in place of the one that serves the occurrence.
    pub pinned: Option<PinnedVersion>,
    /// The cancellation of the run; `None` for one that cannot be cancelled.
    pub cancellation: Option<Arc<dyn Cancellation>>,
}

/// The result of a scheduled run.
#[derive(Debug)]
pub struct ScheduledRunResult {
    pub outcome: ScheduledRunOutcome,
    /// The data document as the tasks left it, JSON, if a trace keeps it, with the errors that the run went on after; of
    /// a run that failed its errors.
    pub result: Option<String>,
    /// The execution trace, JSON, if the channel keeps one.
    pub task_trace: Option<String>,
    /// The code of the error of the run, if it had one.
    pub error_code: Option<&'static str>,
    /// The version of the workflow that it was given to, if one was.
    pub workflow: Option<WorkflowVersion>,
    /// Duration of the run; `None` if nothing ran.
    pub took: Option<Duration>,
}

/// The outcome of a scheduled run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduledRunOutcome {
    /// The run ended, or a guard refused it.
    Ended(Settlement),
    /// The channel has no capacity for it now, and nothing was run. The attempt does not count.
    Busy,
    /// A channel that it called, with this id, is paused. The attempt does not count.
    Paused(Arc<str>),
    /// The run was aborted; no part of it goes on.
    Aborted,
}

impl ScheduledRunOutcome {
    /// Returns the outcome of a run that failed, or could not begin. The message is for operators.
    pub fn failed(message: String) -> Self {
        Self::Ended(Settlement::failed(message))
    }

    /// Builds the result of an attempt in which nothing ran.
    pub fn without_run(self) -> ScheduledRunResult {
        ScheduledRunResult {
            outcome: self,
            result: None,
            task_trace: None,
            error_code: None,
            workflow: None,
            took: None,
        }
    }
}

impl CompiledChannel {
    /// Passes a scheduled run through its guards and runs it.
    pub(crate) async fn run_scheduled(&self, run: ScheduledRun) -> ScheduledRunResult {
        let ScheduledRun {
            payload,
            trigger,
            key: occurrence,
            bucket,
            default_limit,
            trace_id,
            abort,
            pinned,
            cancellation,
        } = run;
        let mut recorder = OutcomeRecorder::start(&self.meters);
        recorder.cancellation.clone_from(&cancellation);
        let mut metadata =
            metadata::for_scheduled_run(&self.name, self.services.settings.vars.as_ref(), trigger);
        metadata::set_run_key(&mut metadata, occurrence.clone());
        let admitted = self.admit(MessageSource::Occurrence, payload, metadata).await;
        let AdmittedMessage { payload, metadata, permit: _permit, .. } = match admitted {
            Ok(admitted) => admitted,
            Err(refused) => return refuse_occurrence(&refused, &mut recorder),
        };
        let place = self.services.spans.new_trace();
        let mut span = place.begin(|| SpanDraft::occurrence(&self.name, &occurrence, trace_id));
        recorder.trace = TraceIds::new(span.context().exported_trace_id(), Some(trace_id));
        let limit = self.timeout.unwrap_or(default_limit);
        let run = Run {
            id: trace_id,
            source: RunSource::Cron,
            payload,
            metadata,
            bucket: Some(bucket),
            limit: Some(limit),
            trace_context: span.context().clone(),
            recording: Recording {
                steps: self.records_steps(),
                changes: self.tracing.is_some(),
                metadata: true,
            },
            caller: None,
            pinned,
            cancellation,
        };
        let Ok(report) = Abortable::new(self.execute(run), abort).await else {
            // Counted only if it was cancelled: otherwise another node runs it.
            let is_cancelled = recorder.cancellation.as_ref().is_some_and(|order| order.is_requested());
            recorder.outcome = is_cancelled.then_some(MessageOutcome::Cancelled);
            span.fail("aborted");
            return ScheduledRunOutcome::Aborted.without_run();
        };
        report.mark_failed(&mut span);
        if let Some(call) = report.paused_call() {
            recorder.outcome = None;
            return ScheduledRunOutcome::Paused(call.channel_id).without_run();
        }
        recorder.outcome = Some(report.end().into());
        self.build_scheduled_result(report, limit, recorder.started)
    }

    /// Returns the result of an attempt that ran.
    fn build_scheduled_result(
        &self,
        mut report: RunReport,
        limit: Duration,
        started: Instant,
    ) -> ScheduledRunResult {
        let failure = report.failure_within(limit, started.elapsed());
        let policy = self.tracing.as_ref();
        let is_kept = policy.is_some_and(|policy| !(policy.errors_only && report.is_clean()));
        let error_group = failure.as_deref().map(|failure| self.error_group(&report.outcome, failure));
        let task_trace = report.outcome.trace.take().filter(|_| is_kept);
        ScheduledRunResult {
            result: match (is_kept, &failure) {
                (false, _) => None,
                (true, None) if report.is_clean() => self.serialize_result_if_small(report.data()),
                (true, None) => {
                    report.data();
                    self.serialize_with_errors(&report.outcome)
                }
                (true, Some(_)) => self.serialize_errors(&report.outcome),
            },
            task_trace: self.serialize_task_trace(task_trace),
            error_code: report.error_code(),
            workflow: report.outcome.workflow.take(),
            outcome: ScheduledRunOutcome::Ended(Settlement {
                end: report.end(),
                message: failure,
                error_group,
            }),
            took: Some(started.elapsed()),
        }
    }
}

/// Returns the result of an attempt that a guard refused. One that it put off does not count.
fn refuse_occurrence(refused: &GuardRefusal, recorder: &mut OutcomeRecorder<'_>) -> ScheduledRunResult {
    if refused.kind == RefusalKind::Deferred {
        recorder.outcome = None;
        return ScheduledRunOutcome::Busy.without_run();
    }
    ScheduledRunOutcome::failed(refusal::describe_guard_refusal(&refused.error)).without_run()
}
