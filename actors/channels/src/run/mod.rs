//! One run of a channel. Every ingress asks for it, and gets its report, in the same terms; what is particular to an
//! ingress is translated where a message comes in and where its answer goes out.

mod channel_recorder;
mod delivery_time;
mod event_batch;
pub(crate) mod failure;
mod job;
mod record_batch;
mod record_run;
mod recorded_run;
mod replayed_run;
mod report;
mod scheduled_run;
mod synchronous_run;
mod work_queue;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::Either;
use serde_json::{Map, Value};
use svc_engine::{FailureKind, Flow, Message, Redaction, RunOptions, RunOutcome, Stubs, TraceOptions};
use svc_model::{Cancellation, Code, ErrorReason, Timestamp};
use svc_spans::TraceContext;
use tokio::time::Instant;
use uuid::Uuid;

use crate::compiled_channel::CompiledChannel;
use crate::ended_runs::{EndedRun, RunSource};

pub(crate) use channel_recorder::ChannelRecorder;
pub(crate) use delivery_time::read_delivery_time;
pub use failure::CRASHED;
pub use record_batch::{BatchProgress, RecordBatch};
pub use record_run::{RecordOutcome, RecordResult, RecordRun, RecordSettlement};
pub(crate) use replayed_run::ReplayedDelivery;
use report::RunReport;
pub use scheduled_run::{ScheduledRun, ScheduledRunOutcome, ScheduledRunResult};
pub(crate) use synchronous_run::{AnsweredRun, RunOrigin};
pub(crate) use work_queue::{WaitRequest, WorkQueue};

/// A run, as an ingress asks for it. Its message has passed the guards.
pub(crate) struct Run {
    /// The id of the run, of its message, and of the trace that it leaves.
    pub(crate) id: Uuid,
    /// The way in which it begins.
    pub(crate) source: RunSource,
    pub(crate) payload: Value,
    pub(crate) metadata: Map<String, Value>,
    /// The rollout bucket, 0 to 99; drawn from the id without one.
    pub(crate) bucket: Option<u8>,
    /// The time that the run may take.
    pub(crate) limit: Option<Duration>,
    /// The place in a distributed trace at which the spans of the tasks begin.
    pub(crate) trace_context: TraceContext,
    pub(crate) recording: Recording,
    /// The run whose task calls this channel; `None` at every other ingress.
    pub(crate) caller: Option<CallingRun>,
    /// The version of the workflow, in place of the one that the bucket has.
    pub(crate) pinned: Option<PinnedVersion>,
    /// The cancellation of the run; `None` for one that cannot be cancelled.
    pub(crate) cancellation: Option<Arc<dyn Cancellation>>,
}

/// Returns the id of a distributed trace as its user interfaces show it.
fn to_hexadecimal(id: [u8; 16]) -> String {
    Uuid::from_bytes(id).simple().to_string()
}

/// A version of the workflow that a run takes, whatever the shares of the traffic are.
#[derive(Clone, Debug)]
pub struct PinnedVersion {
    /// Its number.
    pub version: i64,
    /// The version itself, if it does not serve.
    pub flow: Option<Arc<Flow>>,
}

/// The parts of a run that are recorded while it goes on, for its trace.
#[derive(Clone, Copy, Default)]
pub(crate) struct Recording {
    /// Every step of the workflow.
    pub(crate) steps: bool,
    /// The writes of every task.
    pub(crate) changes: bool,
    /// The metadata of the message, although the workflow does not look at it.
    pub(crate) metadata: bool,
}

/// The part of a run that a run which it calls inherits.
pub(crate) struct CallingRun {
    /// The channels that led here, the called one the last.
    pub(crate) chain: Arc<[Arc<str>]>,
    /// The redaction of the secrets in the payload.
    pub(crate) redaction: Redaction,
    /// Deadline of the caller, which the called run must not pass.
    pub(crate) until: Option<Instant>,
}

impl CompiledChannel {
    /// Runs the workflow, and counts its duration and its failure.
    ///
    /// An `async fn` would hold the message twice, and the future is moved for every message.
    pub(crate) fn execute(&self, run: Run) -> impl Future<Output = RunReport> + '_ {
        let Run {
            id,
            source,
            payload,
            metadata,
            bucket,
            limit,
            trace_context,
            recording,
            caller,
            pinned,
            cancellation,
        } = run;
        let (chain, redaction, until) = match caller {
            Some(CallingRun { chain, redaction, until }) => (chain, redaction, until),
            None => (Arc::clone(&self.chain), Redaction::default(), None),
        };
        let recorded = self.recorder.as_deref().and_then(|recorder| recorder.begin(id, source, &metadata));
        let followed = match &self.shadow {
            Some(shadow) if pinned.is_none() => self.begin_followed(shadow, id, bucket),
            _ => None,
        };
        let mode = match &followed {
            None => recorded.as_ref().and_then(|_| Some(self.recorder.as_deref()?.mode())),
            Some(followed) => {
                let record = recorded.as_ref().and_then(|_| Some(self.recorder.as_deref()?.options()));
                Some(followed.mode(record))
            }
        };
        // Every field by name: a default would be allocated only to be dropped.
        let options = RunOptions {
            bucket,
            deadline: limit,
            until,
            trace: self.trace_options(recording.steps),
            capture_changes: recording.changes,
            chain,
            redaction,
            stubs: Stubs::default(),
            trace_context,
            ignores_metadata: !recording.metadata,
            version: pinned.as_ref().map(|pinned| pinned.version),
            cancellation,
            recording: mode,
        };
        let message = Message::with_id(id, payload, metadata);
        let (serves, engine) =
            (pinned.as_ref().is_none_or(|pinned| pinned.flow.is_none()), &self.services.engine);
        let executed = match pinned.and_then(|pinned| pinned.flow) {
            None => Either::Left(engine.run(&self.flow, message, options)),
            Some(flow) => Either::Right(Box::pin(async move { engine.run(&flow, message, options).await })),
        };
        let watched = self.services.metrics.ended_runs().begin();
        executed.map(move |mut outcome| {
            if let Some(followed) = followed {
                self.end_followed(*followed, &mut outcome);
            }
            if let Some(recorded) = recorded {
                self.keep_recording(*recorded, &mut outcome);
            }
            self.count_run(&outcome, serves);
            if let Some(started) = watched {
                self.record_ended(&outcome, source, started);
            }
            RunReport { outcome: Box::new(outcome) }
        })
    }

    /// Counts a run; the series of workflows are those of the versions that serve.
    fn count_run(&self, outcome: &RunOutcome, serves: bool) {
        if serves {
            self.flow_meters.count(&self.flow, outcome);
        }
        if outcome.is_cancelled {
            return;
        }
        match outcome.failure.as_ref().map(|failure| failure.kind) {
            Some(FailureKind::Timeout) => self.count_error(Code::Timeout),
            Some(FailureKind::Engine) => self.count_error(Code::EngineError),
            _ => {}
        }
    }

    /// Hands the end of a run to those who watch.
    fn record_ended(&self, outcome: &RunOutcome, source: RunSource, started: Instant) {
        let end = outcome.end();
        self.services.metrics.ended_runs().record(end, || EndedRun {
            id: outcome.message.id,
            ended_at: Timestamp::now(),
            channel: Arc::clone(&self.name),
            source,
            workflow: outcome.workflow.clone(),
            end,
            error_code: failure::fatal_error(outcome).map(|error| error.code.name()),
            took: started.elapsed(),
        });
    }

    /// Counts an error by its code, if it is one that is counted by a reason.
    pub(crate) fn count_error(&self, code: Code) {
        match code {
            Code::Timeout => self.services.metrics.count_error(ErrorReason::Timeout),
            Code::ResponseTooLarge => self.services.metrics.count_error(ErrorReason::ResultSizeExceeded),
            Code::EngineError => self.services.metrics.count_error(ErrorReason::Engine),
            _ => {}
        }
    }

    /// Returns the options for recording the steps of a run; `None` if they are not wanted.
    fn trace_options(&self, wanted: bool) -> Option<TraceOptions> {
        let snapshot_bytes = self.services.settings.max_result_bytes.unwrap_or(usize::MAX);
        wanted.then_some(TraceOptions { snapshot_bytes, input: true })
    }

    /// Returns `true` if the policy of the channel asks for the steps of the runs that it traces.
    pub(crate) fn records_steps(&self) -> bool {
        self.tracing.as_ref().is_some_and(|policy| policy.task_details)
    }

    /// Returns the shorter of the channel's own deadline and `limit`.
    pub(crate) fn deadline(&self, limit: Duration) -> Duration {
        self.timeout.map_or(limit, |own| own.min(limit))
    }
}
