//! The run of a record: no caller waits for its answer, and its record is done only when the run is accounted
//! for.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use svc_model::config::TombstonePolicy;
use svc_model::{ServiceError, Timestamp, rollout};
use svc_spans::{ActiveSpan, TraceContext};
use svc_traces::{FailureReport, Record, TraceMode, Untraced};
use tokio::time::Instant;
use uuid::Uuid;

use super::report::{PausedCall, RunReport};
use super::{Recording, Run, to_hexadecimal};
use crate::compiled_channel::CompiledChannel;
use crate::ended_runs::RunSource;
use crate::guards::{AdmittedMessage, GuardRefusal, IdempotencyClaim, MessageSource, RefusalKind};
use crate::metadata;
use crate::metrics::{MessageOutcome, TraceIds};
use crate::record::{RecordPayload, TopicRecord};
use crate::refusal;

/// The request to run a record.
#[derive(Debug)]
pub struct RecordRun {
    pub record: Arc<TopicRecord>,
    /// Upper bound of the duration of the run; the channel may set a lower one.
    pub limit: Duration,
    /// True for another attempt at a record whose failure is in its trace already: a record has one trace for
    /// each outcome.
    pub is_failure_traced: bool,
    /// The place in a distributed trace at which the spans of the run begin.
    pub trace_context: TraceContext,
}

/// The outcome of an attempt at a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordOutcome {
    /// No task failed.
    Completed,
    /// Its idempotency key was seen: nothing was run, and nothing is to be run.
    Duplicate,
    /// It has no value, and the channel passes such records over: nothing was run, and nothing is to be run.
    Tombstone,
    /// The channel cannot take it now, and nothing was run; or a channel that it called is paused.
    Deferred {
        /// The reason for operators.
        reason: String,
        /// Id of the paused channel that it called: another attempt is of no use before that one is resumed.
        paused_channel: Option<Arc<str>>,
    },
    /// It is no payload, a guard refused it, or its run failed.
    Failed {
        /// The message for operators.
        message: String,
    },
}

/// The result of an attempt at a record.
#[derive(Debug)]
pub struct RecordResult {
    pub outcome: RecordOutcome,
    /// The work that is left once it is known what becomes of the record; `None` if the record met no
    /// channel, or is deferred.
    pub settlement: Option<RecordSettlement>,
    /// The place of the attempt in a distributed trace.
    pub trace_context: TraceContext,
}

impl RecordResult {
    fn new(outcome: RecordOutcome, settlement: Option<RecordSettlement>) -> Self {
        Self { outcome, settlement, trace_context: TraceContext::default() }
    }

    /// Builds the result of a record that the channel cannot take now.
    pub fn deferred(reason: impl Into<String>) -> Self {
        Self::new(RecordOutcome::Deferred { reason: reason.into(), paused_channel: None }, None)
    }

    /// Builds the result of a record whose run called a paused channel.
    fn paused(call: PausedCall) -> Self {
        let PausedCall { channel_id, message } = call;
        let paused_channel = Some(channel_id);
        Self::new(RecordOutcome::Deferred { reason: message, paused_channel }, None)
    }

    /// Builds the result of a record that could not be run.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(RecordOutcome::Failed { message: message.into() }, None)
    }

    /// Returns `true` if the record is done: it ran, or need not run.
    pub fn is_done(&self) -> bool {
        match self.outcome {
            RecordOutcome::Completed | RecordOutcome::Duplicate | RecordOutcome::Tombstone => true,
            RecordOutcome::Deferred { .. } | RecordOutcome::Failed { .. } => false,
        }
    }

    /// Ends the span of the attempt, as failed if the attempt did not settle the record.
    pub fn with_span(mut self, mut span: ActiveSpan) -> Self {
        match &self.outcome {
            RecordOutcome::Completed | RecordOutcome::Duplicate | RecordOutcome::Tombstone => {}
            RecordOutcome::Deferred { .. } => span.fail("deferred"),
            RecordOutcome::Failed { .. } => span.fail("failed"),
        }
        self.trace_context = span.context().clone();
        self
    }
}

/// The work that is left after an attempt: the trace, the idempotency key, the count of the message.
pub struct RecordSettlement {
    channel: Arc<CompiledChannel>,
    outcome: MessageOutcome,
    took: Duration,
    trace_id: Uuid,
    /// Set if a trace can be looked up.
    lookup: Option<TraceIds>,
    trace: Option<Record>,
    /// The reason why the record leaves no trace.
    untraced: Option<Untraced>,
    claim: Option<IdempotencyClaim>,
    /// The payload of a run that failed.
    failed_payload: Option<Value>,
    /// Name of the channel that receives the report of the failure.
    report_target: Option<Arc<str>>,
}

impl RecordSettlement {
    /// Returns the id of the run, and of its trace if it has one.
    pub fn trace_id(&self) -> Uuid {
        self.trace_id
    }

    /// Returns the bytes of the trace, if the attempt left one that is not stored yet.
    pub fn trace_bytes(&self) -> Option<usize> {
        self.trace.as_ref().map(Record::bytes)
    }

    /// Stores the trace as the channel's policy says: in mode `sync` the row is on disk when this returns. A
    /// trace that is not stored is kept for another call.
    ///
    /// # Errors
    /// The error of the database; it is counted and logged.
    pub async fn store_trace(&mut self) -> Result<(), ServiceError> {
        let channel = &self.channel;
        let (Some(traces), Some(policy)) = (&channel.services.traces, &channel.tracing) else {
            return Ok(());
        };
        let Some(record) = self.trace.take() else { return Ok(()) };
        let stored = traces.record(policy, record.clone()).await;
        if let Err(error) = &stored {
            slog::warn!(channel.services.log, "the trace of a record was not stored";
                "channel" => &*channel.name, "error" => error.internal().unwrap_or_default());
            self.trace = Some(record);
        }
        stored.map(drop)
    }

    /// Sets the channel that receives the report of a failed run.
    pub(crate) fn set_report_target(&mut self, target: Option<Arc<str>>) {
        self.report_target = target;
    }

    /// Reports a failed run to the channel that receives its reports, if there is one. The report is accepted
    /// work of its own; one that is not accepted is logged, and does not hold the record up.
    pub async fn report_failure(&mut self, error: &str) {
        let channel = &self.channel;
        let (Some(traces), Some(target)) = (&channel.services.traces, self.report_target.take()) else {
            return;
        };
        let Some(data) = self.failed_payload.take() else { return };
        let report =
            FailureReport { target, trace_id: Some(self.trace_id), channel: channel.name.clone(), data };
        if let Err(error) = traces.submit_report(report, error).await {
            slog::warn!(channel.services.log, "the failure of a record was not reported";
                "channel" => &*channel.name, "error" => error.to_string());
        }
    }

    /// Returns `true` if a trace or an idempotency key has to be stored before the record is done.
    pub fn has_to_store(&self) -> bool {
        self.trace.is_some() || self.claim.is_some()
    }

    /// Counts the message of a record that is done.
    pub fn count(&self) {
        self.channel.meters.count(self.outcome, self.took.as_secs_f64(), self.lookup);
        if let (Some(traces), Some(reason)) = (&self.channel.services.traces, self.untraced) {
            traces.count_untraced(reason);
        }
    }

    /// Settles the idempotency key. The offset of the record may be committed then.
    pub async fn confirm(self) {
        if let Some(claim) = self.claim {
            claim.confirm(&self.channel.services).await;
        }
    }

    /// Gives the idempotency key back: the record will be tried again.
    pub async fn release(self) {
        if let Some(claim) = self.claim {
            claim.release(&self.channel.services).await;
        }
    }
}

impl fmt::Debug for RecordSettlement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordSettlement").field("trace_id", &self.trace_id).finish_non_exhaustive()
    }
}

/// An attempt at a record, from its arrival to its outcome.
struct RecordAttempt {
    trace_id: Uuid,
    started_at: Timestamp,
    started: Instant,
    is_traced: bool,
    /// The key of the run, if it is traced.
    run_key: Option<String>,
    /// The id of the distributed trace, if its spans are exported.
    distributed_trace: Option<[u8; 16]>,
    /// The reason why it is not traced, if the channel has a trace policy.
    untraced: Option<Untraced>,
}

/// A record with its payload.
struct ParsedRecord {
    run: RecordRun,
    attempt: RecordAttempt,
    payload: RecordPayload,
}

impl CompiledChannel {
    /// Parses a record, passes it through its guards and runs it.
    pub(crate) async fn run_record(self: &Arc<Self>, run: RecordRun) -> RecordResult {
        match self.parse_record(run).await {
            Ok(parsed) => self.run_parsed(parsed).await,
            Err(refused) => *refused,
        }
    }

    /// Does the same for a large record, in turns with other large messages. It is parsed in a turn of its own:
    /// waiting for that within a turn could last for ever.
    pub(crate) async fn run_large_record(self: &Arc<Self>, run: RecordRun) -> RecordResult {
        match self.parse_record(run).await {
            Ok(parsed) => self.services.compute_gate.run(self.run_parsed(parsed)).await,
            Err(refused) => *refused,
        }
    }

    async fn parse_record(self: &Arc<Self>, run: RecordRun) -> Result<ParsedRecord, Box<RecordResult>> {
        if self.tombstones == TombstonePolicy::Skip && run.record.is_tombstone() {
            return Err(Box::new(RecordResult::new(RecordOutcome::Tombstone, None)));
        }
        let draw = self.draw_trace(&run.record);
        let is_traced = draw == Some(Ok(()));
        let attempt = RecordAttempt {
            trace_id: Uuid::now_v7(),
            started_at: Timestamp::now(),
            started: Instant::now(),
            is_traced,
            run_key: is_traced.then(|| run.record.run_key()),
            distributed_trace: run.trace_context.exported_trace_id(),
            untraced: draw.and_then(Result::err),
        };
        match run.record.parse_value(self.record_format, &self.services.compute_gate).await {
            Ok(payload) => Ok(ParsedRecord { run, attempt, payload }),
            Err(message) => Err(Box::new(self.refuse_record(&attempt, message, run.is_failure_traced))),
        }
    }

    /// Decides whether a record is traced: alike for every attempt at it. `None` without a trace policy.
    fn draw_trace(&self, record: &TopicRecord) -> Option<Result<(), Untraced>> {
        let (traces, policy) = (self.services.traces.as_ref()?, self.tracing.as_ref()?);
        Some(traces.draw_by_key(policy, &(&*record.topic, record.partition, record.offset)))
    }

    async fn run_parsed(self: &Arc<Self>, parsed: ParsedRecord) -> RecordResult {
        let ParsedRecord { run, attempt, payload } = parsed;
        let RecordRun { record, limit, is_failure_traced, trace_context } = run;
        let RecordPayload { value: payload, encoding, event } = payload;
        let mut metadata = Map::new();
        if self.reads_metadata || attempt.is_traced {
            metadata = record.metadata(&self.name, encoding, self.services.settings.vars.as_ref());
            metadata.extend(event.map(|attributes| ("cloudevent".to_owned(), Value::Object(attributes))));
            metadata::set_run_key(&mut metadata, record.run_key());
        }
        let admitted = self.admit(MessageSource::Record(&record), payload, metadata).await;
        let AdmittedMessage { payload, metadata, claim, permit, .. } = match admitted {
            Ok(admitted) => admitted,
            Err(GuardRefusal { kind, error, .. }) => {
                return match kind {
                    RefusalKind::Duplicate => self.drop_duplicate(&attempt),
                    RefusalKind::Deferred => RecordResult::deferred(error.message()),
                    RefusalKind::Final => {
                        let message = refusal::describe_guard_refusal(&error);
                        self.refuse_record(&attempt, message, is_failure_traced)
                    }
                };
            }
        };
        let limit = self.deadline(limit);
        let is_traced = attempt.is_traced;
        let run = Run {
            id: attempt.trace_id,
            source: RunSource::Kafka,
            payload,
            metadata,
            bucket: match self.flow.versions.as_slice() {
                [(_, 100)] => None,
                _ => Some(rollout::bucket(&record.run_key())),
            },
            limit: Some(limit),
            trace_context,
            recording: Recording {
                steps: is_traced && self.records_steps(),
                changes: is_traced,
                metadata: is_traced,
            },
            caller: None,
            pinned: None,
            cancellation: None,
        };
        let report = self.execute(run).await;
        drop(permit);
        if let Some(call) = report.paused_call() {
            if let Some(claim) = claim {
                claim.release(&self.services).await;
            }
            return RecordResult::paused(call);
        }
        let failure = report.failure_within(limit, attempt.started.elapsed());
        let is_kept = is_traced && !(failure.is_some() && is_failure_traced);
        self.end_record(&attempt, report, failure, claim, is_kept)
    }

    /// Ends an attempt at a record that ran. `is_kept`: it leaves a trace.
    fn end_record(
        self: &Arc<Self>,
        attempt: &RecordAttempt,
        mut report: RunReport,
        failure: Option<String>,
        claim: Option<IdempotencyClaim>,
        is_kept: bool,
    ) -> RecordResult {
        let trace = is_kept.then(|| {
            let mut trace = self.record_trace(attempt);
            self.record_end(&mut trace, &mut report, failure.clone(), |report| {
                self.serialize_result_if_small(&report.whole_message())
            });
            trace
        });
        let mut settlement = self.settlement(attempt, report.end().into(), trace, claim);
        match failure {
            None => RecordResult::new(RecordOutcome::Completed, Some(settlement)),
            Some(message) => {
                settlement.failed_payload = Some(report.outcome.message.payload);
                RecordResult::new(RecordOutcome::Failed { message }, Some(settlement))
            }
        }
    }

    /// Ends an attempt at a record that never runs.
    fn refuse_record(
        self: &Arc<Self>,
        attempt: &RecordAttempt,
        message: String,
        is_failure_traced: bool,
    ) -> RecordResult {
        let trace = (attempt.is_traced && !is_failure_traced).then(|| {
            let mut trace = self.record_trace(attempt);
            trace.error = Some(message.clone());
            trace.error_group = Some(self.message_group(&message));
            trace
        });
        let settlement = self.settlement(attempt, MessageOutcome::Error, trace, None);
        RecordResult::new(RecordOutcome::Failed { message }, Some(settlement))
    }

    fn drop_duplicate(self: &Arc<Self>, attempt: &RecordAttempt) -> RecordResult {
        let mut settlement = self.settlement(attempt, MessageOutcome::Duplicate, None, None);
        // It never ran.
        settlement.untraced = None;
        RecordResult::new(RecordOutcome::Duplicate, Some(settlement))
    }

    fn settlement(
        self: &Arc<Self>,
        attempt: &RecordAttempt,
        outcome: MessageOutcome,
        trace: Option<Record>,
        claim: Option<IdempotencyClaim>,
    ) -> RecordSettlement {
        let stored = trace.as_ref().map(|_| attempt.trace_id);
        RecordSettlement {
            lookup: TraceIds::new(attempt.distributed_trace, stored),
            channel: Arc::clone(self),
            outcome,
            took: attempt.started.elapsed(),
            trace_id: attempt.trace_id,
            trace,
            untraced: attempt.untraced,
            claim,
            failed_payload: None,
            report_target: None,
        }
    }

    /// Returns the trace of an attempt without its outcome.
    fn record_trace(&self, attempt: &RecordAttempt) -> Record {
        let took = attempt.started.elapsed();
        let record = self.new_record(TraceMode::Kafka, attempt.trace_id, attempt.started_at, took);
        let distributed_trace_id = attempt.distributed_trace.map(to_hexadecimal);
        Record { run_key: attempt.run_key.clone(), distributed_trace_id, ..record }
    }
}
