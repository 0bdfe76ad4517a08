//! One attempt: from finding the channel of a claim to writing its outcome.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{AbortHandle, AbortRegistration};
use serde_json::{Map, Value};
use slog::{debug, warn};
use svc_channels::{CompiledChannel, ScheduledRun, ScheduledRunOutcome, ScheduledRunResult};
use svc_ledger::{HeldSlot, OccurrenceStatus, Settlement, Singleton, Trigger};
use svc_model::{CANCELLED_OCCURRENCE, Cancellation as _, ErrorGroup, ErrorReason, FailureFacts, RunEnd};
use svc_registry::{FailedOccurrence, LoadedChannel, PreparedReport, ReloadScope};
use svc_store::{NewTrace, OccurrenceClaim, StartResult, StoreError, TraceEnd, TraceMode, TraceStatus};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::attempt_pool::AttemptPool;
use super::cancellation::AttemptCancellation;
use super::state;
use super::watch::AttemptEnd;
use crate::backoff::retry_delay;
use crate::shared::CronShared;

/// Time for which a write is retried while the database is away.
const OFFERED: Duration = Duration::from_secs(30);

/// One execution of a claimed occurrence.
pub(super) struct CronAttempt {
    pub(super) shared: Arc<CronShared>,
    pub(super) attempts: Arc<AttemptPool>,
    pub(super) claim: OccurrenceClaim,
    /// Trace of the run, once it starts.
    pub(super) trace_id: Uuid,
    pub(super) cancellation: Arc<AttemptCancellation>,
}

/// The reason why a claim leads to no run.
enum NoRun {
    /// The occurrence fails with this message.
    Failed(String),
    /// The occurrence may run later, or on another node.
    Back,
}

impl CronAttempt {
    /// Runs the occurrence and writes its outcome.
    pub(super) async fn execute(self) {
        let (entry, definition) = match self.find_channel().await {
            Ok(found) => found,
            Err(NoRun::Failed(reason)) => {
                return self.fail_without_run(format!("channel_unavailable: {reason}")).await;
            }
            Err(NoRun::Back) => return self.pass_over(None).await,
        };
        let Some(cron) = definition.cron() else { return };
        if self.attempts.is_closing() {
            return self.give_back(None).await;
        }
        if self.cancellation.is_requested() {
            return self.end_cancelled(None, false).await;
        }
        if entry.actor(None).is_err() {
            // No worker thread has joined yet.
            return self.pass_over(None).await;
        }
        // As accepted work, a scheduled run leaves a trace whatever the mode and the sampling of traces.
        let trace = self.new_trace(&entry, &definition, &cron.payload);
        let start_sent_at = Instant::now();
        let started = self.start(definition.version(), cron.singleton.as_ref(), trace).await;
        let (slot, started_at) = match started {
            Ok(StartResult::Running { slot, started_at }) => (slot, started_at),
            Ok(StartResult::Saturated) => return self.shared.metrics.record_singleton_skips(1),
            Ok(StartResult::Waits | StartResult::Lost) => return,
            Ok(StartResult::Cancelled { reports }) => {
                self.cancellation.request(reports);
                return self.end_cancelled(None, false).await;
            }
            Err(error) => return self.start_failed(&error).await,
        };
        if self.cancellation.is_requested() {
            // The order came while the start was written.
            return self.end_cancelled(slot.as_ref(), true).await;
        }
        if state::is_first(&self.claim) {
            let lag = (started_at - self.claim.scheduled_for).to_std().unwrap_or_default();
            self.shared.metrics.record_lag(lag);
        }
        let (abort, registration) = AbortHandle::new_pair();
        let trigger = state::trigger(&self.claim, started_at, cron.schedule.zone(), slot.as_ref());
        let scheduled_run = self.new_run(cron.payload.clone(), trigger, registration);
        let run = self.shared.registry.run_scheduled(&entry, state::version(&self.claim), scheduled_run);
        match self.watch(run, abort, slot.as_ref(), start_sent_at).await {
            AttemptEnd::Ended(result) => self.record_outcome(result, slot.as_ref()).await,
            AttemptEnd::CalledOff => self.give_back(slot.as_ref()).await,
            AttemptEnd::Cancelled => self.end_cancelled(slot.as_ref(), true).await,
            AttemptEnd::Lost(why) => {
                warn!(self.shared.log, "a run was dropped, its claim being lost"; "channel" => entry.name(),
                    "occurrence" => %self.claim.key.id, "why" => ?why);
                self.end_lost_trace().await;
            }
        }
    }

    /// Puts the start of the run on record. A backfilled occurrence waits for its slot.
    async fn start(
        &self,
        version: i64,
        singleton: Option<&Singleton>,
        trace: NewTrace,
    ) -> Result<StartResult, StoreError> {
        let (ledger, key, lease) = (&self.shared.ledger, &self.claim.key, self.shared.settings.lease);
        if self.claim.trigger == Trigger::Backfill {
            let start = ledger.start_backfilled(key, version, singleton, lease, Some(trace));
            return self.shared.call_ledger(start).await;
        }
        self.shared.call_ledger(ledger.start(key, version, singleton, lease, Some(trace))).await
    }

    /// Finds the channel, in one snapshot for the whole attempt. A channel that this node does not know, or
    /// knows only in an older version than the row, may be new and is reloaded first.
    async fn find_channel(&self) -> Result<(Arc<LoadedChannel>, Arc<CompiledChannel>), NoRun> {
        let OccurrenceClaim { channel_id, channel_name, channel_version, .. } = &self.claim;
        let (registry, absent) = (&self.shared.registry, &self.attempts.absent);
        let find = || {
            let snapshot = registry.snapshot();
            (snapshot.channel_by_id(channel_id).cloned(), snapshot.generation())
        };
        let lacks = |found: &Option<Arc<LoadedChannel>>| {
            found.as_ref().is_none_or(|entry| entry.row.version < *channel_version)
        };
        let (mut found, mut generation) = find();
        if found.is_none() && !registry.admits(channel_name) {
            // Another node serves this channel.
            return Err(NoRun::Back);
        }
        if lacks(&found) && !absent.contains(channel_id, *channel_version, generation) {
            registry.reload(ReloadScope::channel(channel_id)).await.map_err(|_| NoRun::Back)?;
            (found, generation) = find();
            if lacks(&found) {
                absent.insert(channel_id, *channel_version, generation);
            }
        }
        let entry = found.ok_or_else(|| NoRun::Failed("the channel is not active".to_owned()))?;
        if let Some(quarantine) = entry.quarantine() {
            return Err(NoRun::Failed(quarantine.reason.to_string()));
        }
        let definition = entry.compiled_channel().filter(|definition| definition.cron().is_some()).cloned();
        match definition {
            Some(definition) => Ok((entry, definition)),
            None => Err(NoRun::Failed("the channel does not run by the clock".to_owned())),
        }
    }

    /// Returns the run of the attempt.
    fn new_run(
        &self,
        payload: Value,
        trigger: Map<String, Value>,
        registration: AbortRegistration,
    ) -> ScheduledRun {
        ScheduledRun {
            payload,
            trigger,
            key: self.claim.key.id.to_string(),
            bucket: state::bucket(&self.claim),
            default_limit: self.shared.settings.default_timeout,
            trace_id: self.trace_id,
            abort: registration,
            pinned: None,
            cancellation: Some(Arc::<AttemptCancellation>::clone(&self.cancellation)),
        }
    }

    /// Returns the row of the run's trace. It names the version of the workflow, so that a retry can run the same one
    /// after a run without an end.
    fn new_trace(&self, entry: &LoadedChannel, definition: &CompiledChannel, payload: &Value) -> NewTrace {
        let bucket = Some(state::bucket(&self.claim));
        NewTrace {
            workflow: state::version(&self.claim).or_else(|| definition.workflow_for(bucket, self.trace_id)),
            channel_id: Some(self.claim.channel_id.as_str().into()),
            input_json: Some(payload.to_string()),
            run_key: Some(self.claim.key.id.to_string()),
            started_at: self.shared.clock.now().map(|now| now.naive_utc()),
            ..NewTrace::new(self.trace_id, entry.name().into(), TraceMode::Cron, TraceStatus::Running)
        }
    }

    async fn start_failed(&self, error: &StoreError) {
        self.shared.settings.errors.tell(ErrorReason::CronStart);
        warn!(self.shared.log, "a run could not be put on record";
            "occurrence" => %self.claim.key.id, "error" => %error);
        self.pass_over(None).await;
    }

    async fn record_outcome(&self, run: ScheduledRunResult, slot: Option<&HeldSlot>) {
        let ScheduledRunResult { outcome: ended, result, task_trace, error_code, workflow, took } = run;
        let settlement = match ended {
            ScheduledRunOutcome::Busy => return self.pass_over(slot).await,
            ScheduledRunOutcome::Paused(channel) => return self.rest(slot, &channel).await,
            // Only this attempt cancels the run.
            ScheduledRunOutcome::Aborted => return self.give_back(slot).await,
            // Its computation was cut off.
            ScheduledRunOutcome::Ended(Settlement { end: RunEnd::Cancelled, .. }) => {
                return self.end_cancelled(slot, true).await;
            }
            ScheduledRunOutcome::Ended(settlement) => settlement,
        };
        let report = match &settlement.message {
            Some(error) => self.prepare_report(Some(self.trace_id), error).await,
            None => None,
        };
        if let Some(took) = took {
            self.shared.metrics.record_duration(&self.claim.channel_name, took);
        }
        let end = TraceEnd {
            id: self.trace_id,
            status: settlement.end.into(),
            result_json: result,
            error_message: settlement.message.clone(),
            error_code,
            error_group: None,
            duration_ms: Some(took.unwrap_or_default().as_secs_f64() * 1000.0),
            task_trace_json: task_trace,
            workflow,
            ownership: None,
        };
        self.settle(slot, settlement, Some(end), report).await;
    }

    /// Ends an occurrence that was cancelled. `began`: a run was dropped, which has a trace.
    async fn end_cancelled(&self, slot: Option<&HeldSlot>, began: bool) {
        let trace_id = began.then_some(self.trace_id);
        let report = match self.cancellation.reports() {
            true => self.prepare_report(trace_id, CANCELLED_OCCURRENCE).await,
            false => None,
        };
        let end = trace_id.map(|id| TraceEnd::cancelled(id, None));
        self.settle(slot, Settlement::cancelled(), end, report).await;
        if let (Some(trace), Some(calls)) = (trace_id, self.cancellation.in_flight_json()) {
            let named = || self.shared.ledger.record_in_flight(trace, calls.clone());
            let _late = self.retry_for_a_while("the calls of a cancelled run were not named", named).await;
        }
    }

    /// Fails the occurrence of a channel that cannot run.
    async fn fail_without_run(&self, message: String) {
        let report = self.prepare_report(None, &message).await;
        self.settle(None, Settlement::failed(message), None, report).await;
    }

    async fn prepare_report(&self, trace_id: Option<Uuid>, error: &str) -> Option<PreparedReport> {
        let OccurrenceClaim { channel_id, channel_name, .. } = &self.claim;
        let failed = FailedOccurrence { channel_id, channel_name, trace_id, error };
        self.shared.registry.prepare_report(failed).await
    }

    /// Writes the outcome and queues the report of a failure; retries until it is written or the claim is
    /// lost, because the ledger refuses late writes.
    async fn settle(
        &self,
        slot: Option<&HeldSlot>,
        mut settlement: Settlement,
        mut end: Option<TraceEnd>,
        mut report: Option<PreparedReport>,
    ) {
        self.add_error_group(&mut settlement, end.as_mut());
        let (mut failures, mut is_unanswered) = (0, false);
        loop {
            let (key, ledger) = (&self.claim.key, &self.shared.ledger);
            let row = report.as_ref().map(|report| report.row().clone());
            let written = ledger.settle(key, slot, settlement.clone(), end.clone(), row);
            match self.shared.call_ledger(written).await {
                Ok(true) => {
                    self.shared.metrics.record_occurrences(settlement.end.into(), 1);
                    if let Some(report) = report {
                        report.begin();
                    }
                    self.note_failure(settlement.end).await;
                    return;
                }
                // The commit that got no answer may have ended the row.
                Ok(false) if is_unanswered && self.is_settled(settlement.end).await => {
                    self.shared.metrics.record_occurrences(settlement.end.into(), 1);
                    if let Some(report) = report {
                        report.begin_if_stored().await;
                    }
                    self.note_failure(settlement.end).await;
                    return;
                }
                Ok(false) => {
                    debug!(self.shared.log, "the end of a run came too late"; "occurrence" => %self.claim.key.id);
                    self.end_lost_trace().await;
                    return;
                }
                Err(error) => {
                    failures += 1;
                    is_unanswered |= matches!(error, StoreError::Unanswered(_));
                    warn!(self.shared.log, "the end of a run was not written";
                        "occurrence" => %self.claim.key.id, "error" => %error);
                    if !error.is_outage() {
                        // The details cannot be stored; the status can.
                        simplify(&mut settlement, &mut end);
                        report = None;
                    }
                    sleep(retry_delay(&self.claim.channel_id, failures)).await;
                }
            }
        }
    }

    /// Counts the end of the occurrence for its channel, if it is a failure.
    async fn note_failure(&self, end: RunEnd) {
        if matches!(end, RunEnd::Failed | RunEnd::TimedOut) {
            let failure = format!("{} {}", self.claim.key.id, self.trace_id);
            self.shared.registry.note_failure_of(&self.claim.channel_id, &failure).await;
        }
    }

    /// Returns whether the row has the end of this attempt.
    async fn is_settled(&self, end: RunEnd) -> bool {
        let (key, id) = (&self.claim.key, self.claim.key.id.to_string());
        let read = || self.shared.ledger.get(&id);
        let row = self.retry_for_a_while("the end of a run is not known", read).await.flatten();
        row.is_some_and(|row| {
            row.row.status == OccurrenceStatus::from(end).name() && row.row.attempt == key.attempt
        })
    }

    /// Adds the group of a failure to its occurrence and its trace: that of its message if the run named none.
    fn add_error_group(&self, settlement: &mut Settlement, end: Option<&mut TraceEnd>) {
        if let Some(message) = &settlement.message
            && settlement.error_group.is_none()
        {
            let channel = &self.claim.channel_name;
            let facts = FailureFacts { channel, message, ..FailureFacts::default() };
            settlement.error_group = Some(Arc::new(ErrorGroup::new(facts)));
        }
        if let Some(end) = end {
            end.error_group = settlement.error_group.clone();
        }
    }

    /// Releases the claim because the channel cannot run on this node now.
    async fn pass_over(&self, slot: Option<&HeldSlot>) {
        self.attempts.pass_over(&self.claim.channel_id);
        self.give_back(slot).await;
    }

    /// Releases the claim of a run that called a paused channel. The row rests until that channel is resumed.
    async fn rest(&self, slot: Option<&HeldSlot>, channel_id: &str) {
        // If this node does not know of a resume yet, the row is due at once.
        self.attempts.pass_over(&self.claim.channel_id);
        let give_back = || self.shared.ledger.give_back_until_resume(&self.claim, slot, channel_id);
        self.finish_giving_back(give_back).await;
    }

    async fn give_back(&self, slot: Option<&HeldSlot>) {
        self.finish_giving_back(|| self.shared.ledger.give_back(&self.claim, slot)).await;
    }

    /// Gives the claim back by `give_back`.
    async fn finish_giving_back<F>(&self, give_back: impl Fn() -> F)
    where
        F: Future<Output = Result<bool, StoreError>>,
    {
        // After that the lease expires, which releases the claim as well.
        if self.retry_for_a_while("a claim was not given back", give_back).await == Some(false) {
            self.end_lost_trace().await;
        }
        if self.cancellation.is_requested() {
            // It waits again, and is ended by the watch.
            self.attempts.look_for_cancels();
        }
    }

    /// Ends the trace of a run whose claim is lost: the next holder of the row may not know of it.
    async fn end_lost_trace(&self) {
        let end = || self.shared.ledger.end_lost(self.trace_id);
        let _late = self.retry_for_a_while("the trace of a lost run was not ended", end).await;
    }

    /// Retries a call of the ledger for a limited time.
    async fn retry_for_a_while<T, F>(&self, failed: &'static str, ask: impl Fn() -> F) -> Option<T>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let offer = async {
            let mut failures = 0;
            loop {
                match self.shared.call_ledger(ask()).await {
                    Ok(answer) => return answer,
                    Err(error) => {
                        failures += 1;
                        warn!(self.shared.log, "{}", failed;
                            "occurrence" => %self.claim.key.id, "error" => %error);
                        sleep(retry_delay(&self.claim.channel_id, failures)).await;
                    }
                }
            }
        };
        timeout(OFFERED, offer).await.ok()
    }
}

fn simplify(settlement: &mut Settlement, end: &mut Option<TraceEnd>) {
    let simplify_reason = |reason: &mut Option<String>| {
        if let Some(reason) = reason {
            *reason = "the reason could not be stored".to_owned();
        }
    };
    simplify_reason(&mut settlement.message);
    if let Some(end) = end {
        end.result_json = None;
        end.task_trace_json = None;
        simplify_reason(&mut end.error_message);
    }
}
