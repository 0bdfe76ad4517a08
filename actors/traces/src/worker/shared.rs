//! State shared by the workers: the run of one job and the write of its outcome.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use actix_supervision::Backoff;
use futures_util::FutureExt;
use slog::{Logger, error, info, warn};
use svc_cluster::nodes::NodeHandle;
use svc_model::{CANCELLED_WORK, Cancellation, ErrorReason, WorkflowVersion};
use svc_store::{CancelledEnd, KillStep, Ownership, StoreError, TraceFailure};
use tokio::sync::{Notify, OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use crate::ambiguity::{wait_until_known, wait_until_known_as_failed};
use crate::backoff::DATABASE_BACKOFF;
use crate::cancel::job_cancellation::JobCancellation;
use crate::cancel::requests::CancelRequests;
use crate::claim::JobClaim;
use crate::dead_letters::DueTimer;
use crate::job::{AttemptHold, Job, JobFailure, JobKey, JobOutcome, JobResult, Runner};
use crate::metrics::{ActiveWorker, TraceMetrics};
use crate::queue::{JobQueue, QueueSlot, QueuedJob};
use crate::report::{self, FailureReport};
use crate::settings::Callback;
use crate::waiting::WaitingTally;
use crate::worker::running::{FinishedJob, RunningJob, StartedJob};
use crate::worker::state::{AttemptOutcome, JobAttempt, UnrunJob};
use crate::worker::{StopSignal, WorkerTurn};

/// Runs shorter than this are written only once, at their end.
const SHORT: Duration = Duration::from_millis(50);
/// Time that a runner gets beyond its limit to report the timeout itself.
const GRACE: Duration = Duration::from_secs(1);
/// Delays of a job whose channel has no permit for it.
const REFUSAL_BACKOFF: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_millis(3200));

/// The facts of a queued job that it keeps when it is queued again.
#[derive(Clone, Copy)]
struct QueueFacts {
    attempt_of: Option<Uuid>,
    retry: u32,
    refusals: u32,
    refused_since: Option<Instant>,
}

/// The reason to drop a run.
enum RunStop {
    LeaseLost,
    Cancelled,
}

/// An attempt that runs no more.
enum StoppedRun {
    Completed(JobResult),
    LeaseLost,
    Cancelled(AttemptOutcome),
}

/// State shared by the workers.
pub(crate) struct WorkerShared {
    pub(crate) waiting: Arc<JobQueue>,
    pub(crate) tally: Arc<WaitingTally>,
    pub(crate) cancels: Arc<CancelRequests>,
    pub(crate) store: svc_store::TraceRepository,
    pub(crate) nodes: NodeHandle,
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) limit: Duration,
    pub(crate) max_retries: u32,
    /// True if dead letters are retried.
    pub(crate) retries: bool,
    pub(crate) metrics: TraceMetrics,
    /// Notified of every dead letter that is written.
    pub(crate) letters_changed: Arc<Notify>,
    /// Records when the letter is due.
    pub(crate) letters_due: Arc<DueTimer>,
    pub(crate) errors: Callback<ErrorReason>,
    pub(crate) log: Logger,
    pub(crate) stop: Arc<StopSignal>,
}

impl WorkerShared {
    /// Runs a job, on the thread of that id if it runs channels, and returns it with its outcome. Returns `None` if the
    /// channel had no permit, so that the job is queued again, or if the job no longer belongs to this node. Fails the job
    /// if its channel had no permit for as long as the job may run. A job that is dropped is sent to `orphans`.
    pub(crate) async fn run(
        &self,
        (queued, permit): (QueuedJob, Option<OwnedSemaphorePermit>),
        thread: Option<usize>,
        orphans: mpsc::UnboundedSender<FinishedJob>,
        turn: &mut Option<WorkerTurn>,
    ) -> Option<RunningJob> {
        let QueuedJob { job, slot, mut claim, attempt_of, retry, refusals, refused_since } = queued;
        let facts = QueueFacts { attempt_of, retry, refusals, refused_since };
        if !self.may_begin(job.trace_id, &mut claim).await || !claim.begin() {
            return None;
        }
        let has_waited = claim.has_waited;
        let started = self.start_job(&job, facts, slot, claim, permit).await;
        let attempt = started.attempt.clone();
        let running = RunningJob::new(started, orphans, Arc::clone(&self.stop));
        if self.cancels.has(attempt.id) {
            return Some(running.end(attempt.cancelled(Duration::ZERO, None)));
        }
        let completed = match self.run_until_stopped(job, &attempt, thread, turn).await {
            StoppedRun::Completed(completed) => completed,
            StoppedRun::Cancelled(verdict) => return Some(running.end(verdict)),
            StoppedRun::LeaseLost => {
                warn!(self.log, "a run is dropped with the lease of its node"; "trace_id" => %attempt.id);
                running.give_back();
                return None;
            }
        };
        match attempt.outcome_of(completed) {
            Ok(verdict) => Some(running.end(verdict)),
            Err(UnrunJob::Busy(_)) if refused_since.is_some_and(|since| since.elapsed() >= self.limit) => {
                self.errors.tell(ErrorReason::Timeout);
                let message =
                    format!("the channel had no capacity for it within {}ms", self.limit.as_millis());
                Some(running.end(AttemptOutcome::Failed(attempt.failure(JobFailure::transient(message)))))
            }
            Err(UnrunJob::Busy(job)) if !has_waited => {
                self.queue_again(*job, running.give_back()?, facts);
                None
            }
            Err(unrun) => Some(running.end(unrun.into_wait())),
        }
    }

    /// Makes the attempt at a job, with what belongs to it until its outcome is written.
    async fn start_job(
        &self,
        job: &Job,
        facts: QueueFacts,
        slot: QueueSlot,
        claim: JobClaim,
        permit: Option<OwnedSemaphorePermit>,
    ) -> StartedJob {
        let attempt = JobAttempt {
            id: job.trace_id,
            ownership: claim.ownership.clone(),
            retry: facts.retry,
            max_retries: self.max_retries,
            retries: self.retries,
            early: claim.early.clone(),
        };
        let target = FailureReport::find_target(job, &*self.runner).await;
        let report = target.map(|target| FailureReport::for_job(job, facts.attempt_of, target));
        let channel = (job.channel_id.clone(), Arc::clone(&job.channel));
        StartedJob { attempt, channel, slot: Some(slot), report, claim, permit }
    }

    /// Ends a job that is cancelled before it begins.
    pub(crate) async fn end_unrun(&self, queued: QueuedJob) {
        let QueuedJob { job, slot, claim, attempt_of, retry, refusals, refused_since } = queued;
        let facts = QueueFacts { attempt_of, retry, refusals, refused_since };
        let mut started = self.start_job(&job, facts, slot, claim, None).await;
        let mut verdict = started.attempt.cancelled(Duration::ZERO, None);
        self.write(&mut started, &mut verdict).await;
    }

    /// Runs an attempt until it ends, its node loses its lease, or its work is cancelled. A run that is cancelled has ended
    /// only when no part of it runs any more; the turn of the worker is released before that.
    async fn run_until_stopped(
        &self,
        mut job: Job,
        attempt: &JobAttempt,
        thread: Option<usize>,
        turn: &mut Option<WorkerTurn>,
    ) -> StoppedRun {
        let (id, channel_id, channel, bucket) =
            (job.trace_id, job.channel_id.clone(), Arc::clone(&job.channel), job.bucket);
        let workflow = || {
            let channel_id = channel_id.as_deref();
            self.runner.workflow_of(JobKey { trace_id: id, channel_id, channel: &channel, bucket })
        };
        let cancellation = Arc::new(JobCancellation::new(id, Arc::clone(&self.cancels)));
        let (alive, mut over) = oneshot::channel::<Infallible>();
        let shown: Arc<dyn Cancellation> = Arc::<JobCancellation>::clone(&cancellation);
        job.attempt = Some(AttemptHold::new(alive, shown));
        let (_active, begun) = (ActiveWorker::new(&self.metrics), Instant::now());
        let ended = tokio::select! {
            biased;
            completed = self.run_attempt(job, thread, turn, &mut over) => Ok(completed),
            stop = self.wait_for_stop(attempt, workflow) => Err(stop),
        };
        // The future of the run is dropped here, whatever its outcome.
        match ended {
            Ok(completed) => StoppedRun::Completed(completed),
            Err(RunStop::LeaseLost) => StoppedRun::LeaseLost,
            Err(RunStop::Cancelled) => {
                drop(turn.take());
                // The sender is never used, only dropped.
                let _over = over.await;
                StoppedRun::Cancelled(attempt.cancelled(begun.elapsed(), cancellation.in_flight_json()))
            }
        }
    }

    /// Queues a job again that did not run.
    fn queue_again(&self, job: Job, started: StartedJob, facts: QueueFacts) {
        let StartedJob { slot, claim, .. } = started;
        let QueueFacts { attempt_of, retry, refusals, refused_since } = facts;
        let (now, delay) = (Instant::now(), REFUSAL_BACKOFF.delay(refusals));
        let (refusals, refused_since) = (refusals.saturating_add(1), refused_since.or(Some(now)));
        let job = Job { attempt: None, ..job };
        if let Some(early) = &claim.early {
            early.wait_again();
        }
        if let Some(slot) = slot {
            let queued = QueuedJob { job, slot, claim, attempt_of, retry, refusals, refused_since };
            self.waiting.push_later(now + delay, queued);
        }
    }

    /// Runs one attempt; handles panics and timeouts of the runner. The recorded outcome may start a retry,
    /// so an attempt that is dropped at its deadline ends only when no part of it runs any more. The turn of
    /// the worker is released before that.
    async fn run_attempt(
        &self,
        job: Job,
        thread: Option<usize>,
        turn: &mut Option<WorkerTurn>,
        over: &mut oneshot::Receiver<Infallible>,
    ) -> JobResult {
        let (runner, limit) = (Arc::clone(&self.runner), self.limit);
        let (id, begun) = (job.trace_id, Instant::now());
        let run = AssertUnwindSafe(async move { runner.run(job, limit, thread).await }).catch_unwind();
        // The future of the run is dropped here, whatever its outcome.
        let outcome = timeout(limit + GRACE, run).await;
        let failure = match outcome {
            Ok(Ok(completed)) => {
                if matches!(completed.ended, JobOutcome::TooLarge { .. }) {
                    self.errors.tell(ErrorReason::ResultSizeExceeded);
                }
                return completed;
            }
            Ok(Err(_)) => {
                self.errors.tell(ErrorReason::Panic);
                error!(self.log, "a run panicked"; "trace_id" => %id);
                // A defect, which every attempt would meet.
                JobFailure::permanent("the run ended unexpectedly; the log has the reason")
            }
            Err(_) => {
                self.errors.tell(ErrorReason::Timeout);
                drop(turn.take());
                // The sender is never used, only dropped.
                let _over = over.await;
                JobFailure::transient(format!("timed out after {}ms", limit.as_millis()))
            }
        };
        JobResult::bare(JobOutcome::Failed(failure), begun.elapsed())
    }

    /// Returns whether this node may begin the job: its lease is proven at this moment and, if another node
    /// died while it ran the job, the restart is counted on disk.
    async fn may_begin(&self, id: Uuid, claim: &mut JobClaim) -> bool {
        let mut backoff = DATABASE_BACKOFF.delays();
        while self.nodes.holds(&claim.ownership.owner) {
            if !claim.is_recovery {
                return true;
            }
            let Ownership { owner, recoveries } = claim.ownership.clone();
            let raised = Ownership { owner, recoveries: recoveries + 1 };
            match self.store.recover(id, raised.clone()).await {
                Ok(true) => {
                    self.metrics.recoveries.inc();
                    info!(self.log, "a run is begun again"; "trace_id" => %id, "recoveries" => raised.recoveries);
                    claim.ownership = raised;
                    claim.is_recovery = false;
                }
                Ok(false) => return false,
                Err(error) => {
                    warn!(self.log, "cannot count a recovery"; "trace_id" => %id, "error" => %error);
                    sleep(backoff.next_delay()).await;
                }
            }
        }
        false
    }

    /// Marks a long run as running, and waits until the node loses its lease or the work is cancelled.
    async fn wait_for_stop(
        &self,
        attempt: &JobAttempt,
        workflow: impl FnOnce() -> Option<WorkflowVersion>,
    ) -> RunStop {
        sleep(SHORT).await;
        tokio::select! {
            biased;
            () = self.nodes.wait_until_lost(&attempt.ownership.owner) => RunStop::LeaseLost,
            () = self.cancels.wait_for(attempt.id) => RunStop::Cancelled,
            never = self.mark_running(attempt, workflow()) => match never {},
        }
    }

    /// Marks the row as running. Nothing depends on this write.
    async fn mark_running(&self, attempt: &JobAttempt, workflow: Option<WorkflowVersion>) -> Infallible {
        let (id, ownership) = (attempt.id, Some(attempt.ownership.clone()));
        if !self.is_stored(attempt).await {
            return std::future::pending().await;
        }
        let marked = match attempt.is_first() {
            true => self.store.start(id, workflow, ownership).await,
            false => self.store.start_attempt(id, workflow, ownership).await,
        };
        if let Err(error) = marked {
            warn!(self.log, "cannot mark a job as running"; "trace_id" => %id, "error" => %error);
        }
        std::future::pending().await
    }

    /// Writes the outcome of a run. Retries until it is written; meanwhile the worker has room for one job
    /// less. A result that the database refuses becomes a failure.
    pub(super) async fn write(&self, job: &mut StartedJob, verdict: &mut AttemptOutcome) {
        let StartedJob { attempt, channel, slot, report, claim, .. } = job;
        if attempt.ends_with_row(verdict) || !self.is_stored(attempt).await {
            self.cancels.remove(attempt.id);
            return;
        }
        if channel.0.is_none()
            && let AttemptOutcome::Waits(wait) = &mut *verdict
        {
            channel.0 = self.runner.find_id(&channel.1);
            if channel.0.is_none() {
                // Without the id of its channel it is found by its instant alone.
                wait.awaited_channel = None;
            }
        }
        let mut backoff = DATABASE_BACKOFF.delays();
        let mut follow_up = self.prepare_report(verdict, report);
        let mut is_unanswered = false;
        KillStep::EndDue.reach();
        let is_news = loop {
            let error = match self.write_outcome(attempt, channel.0.as_ref(), verdict).await {
                Ok(is_news) => break is_news,
                Err(error) => error,
            };
            let id = attempt.id;
            is_unanswered |= matches!(error, StoreError::Unanswered(_));
            self.errors.tell(ErrorReason::TraceStatusWrite);
            warn!(self.log, "cannot write the end of a job"; "trace_id" => %id, "error" => %error);
            if let (AttemptOutcome::Over(_), StoreError::Database(_) | StoreError::Refused(_)) =
                (&*verdict, error)
            {
                *verdict = AttemptOutcome::Failed(
                    attempt.failure(JobFailure::permanent("The result could not be stored")),
                );
                follow_up = self.prepare_report(verdict, report);
            } else {
                sleep(backoff.next_delay()).await;
            }
        };
        KillStep::EndStored.reach();
        if let Some(report) = follow_up {
            self.queue_report(report, slot, attempt, is_news).await;
        }
        if let AttemptOutcome::Waits(wait) = verdict {
            self.tally.add(channel.0.as_deref().unwrap_or_default(), wait.reason);
            self.tally.wake();
        }
        if let AttemptOutcome::Failed(failure) = verdict {
            self.count_letter(attempt, channel, failure, (is_news, is_unanswered)).await;
        }
        if claim.is_shared || claim.has_waited {
            // Its share and its permit are free for work that waits.
            self.tally.wake();
        }
        self.cancels.remove(attempt.id);
    }

    /// Waits until the row of an attempt is on disk. Returns `false` if it was refused: the attempt leaves nothing then.
    async fn is_stored(&self, attempt: &JobAttempt) -> bool {
        let Some(early) = &attempt.early else { return true };
        let is_stored = early.wait_until_stored(&self.store, &self.log).await;
        if !is_stored {
            warn!(self.log, "a submission began whose row was refused"; "trace_id" => %attempt.id);
        }
        is_stored
    }

    /// Counts the dead letter of a run, and the failure for its channel if no retry is left.
    async fn count_letter(
        &self,
        attempt: &JobAttempt,
        channel: &(Option<Arc<str>>, Arc<str>),
        failure: &TraceFailure,
        (is_news, is_unanswered): (bool, bool),
    ) {
        let (id, is_exhausted) = (attempt.id, failure.is_exhausted());
        self.letters_changed.notify_one();
        if !is_exhausted {
            self.letters_due.record(failure.delay);
        }
        if failure.retry_count >= i64::from(attempt.retry) {
            self.count_failure(attempt, is_exhausted);
        }
        // The commit that got no answer may have written the failure.
        if is_exhausted
            && (is_news || is_unanswered && wait_until_known_as_failed(&self.store, id, &self.log).await)
        {
            let (channel_id, channel) = channel.clone();
            self.runner.note_failure(channel_id, channel, id).await;
        }
    }

    /// Queues the job that delivers the report of a run, in the place that the run had.
    async fn queue_report(
        &self,
        report: Job,
        slot: &mut Option<QueueSlot>,
        attempt: &JobAttempt,
        is_news: bool,
    ) {
        let Some(mut slot) = slot.take() else { return };
        if is_news || wait_until_known(&self.store, report.trace_id, &self.log).await {
            slot.reoccupy_place();
            let claim = JobClaim::for_accepted(attempt.ownership.owner.clone());
            self.waiting.push(QueuedJob::new(report, slot, 0, claim));
        }
    }

    /// Attaches the report to the record of a run that failed for good, or was cancelled. Returns the job that delivers it.
    fn prepare_report(
        &self,
        verdict: &mut AttemptOutcome,
        report: &mut Option<FailureReport>,
    ) -> Option<Job> {
        let (id, ownership, error, place) = match verdict {
            AttemptOutcome::Failed(failure) if failure.is_exhausted() => {
                (failure.id, &failure.ownership, failure.error_message.as_str(), &mut failure.report)
            }
            // Kept only if the order to cancel asks for it.
            AttemptOutcome::Cancelled(run) => {
                (run.end.id, &run.end.ownership, CANCELLED_WORK, &mut run.report)
            }
            _ => return None,
        };
        let owner = ownership.as_ref().map(|claim| Arc::clone(&claim.owner));
        let job = report.take()?.into_job(error);
        match report::row(&job, owner) {
            Ok(row) => *place = Some(Box::new(row)),
            Err(error) => {
                warn!(self.log, "a failure cannot be reported"; "trace_id" => %id, "error" => %error);
                return None;
            }
        }
        Some(job)
    }

    /// Writes the outcome of a run. Returns false if the row had ended before or is gone; of a cancelled run, unless its
    /// report was accepted.
    async fn write_outcome(
        &self,
        attempt: &JobAttempt,
        channel_id: Option<&Arc<str>>,
        verdict: &AttemptOutcome,
    ) -> Result<bool, StoreError> {
        let news = match verdict {
            AttemptOutcome::Over(end) if attempt.is_first() => self.store.finish(end.clone()).await?,
            AttemptOutcome::Over(end) => self.store.finish_attempt(end.clone()).await?,
            AttemptOutcome::Failed(failure) => self.store.fail_to_dead_letters(failure.clone()).await?,
            AttemptOutcome::Cancelled(run) => {
                let CancelledEnd { is_news, is_reported } = self.store.end_cancelled(run.clone()).await?;
                if is_news && !is_reported {
                    return Ok(false);
                }
                is_news
            }
            AttemptOutcome::Waits(wait) => {
                let claim = attempt.ownership.clone();
                self.store.put_back_to(channel_id.cloned(), attempt.id, claim, wait.clone()).await?
            }
        };
        if !news {
            warn!(self.log, "a job had ended before, or its row is gone");
        }
        Ok(news)
    }

    fn count_failure(&self, attempt: &JobAttempt, is_exhausted: bool) {
        if is_exhausted {
            self.errors.tell(ErrorReason::DlqExhausted);
        }
        match attempt.retry {
            0 => {}
            _ if is_exhausted => self.metrics.record_dead_letter_retry("exhausted"),
            _ => self.metrics.record_dead_letter_retry("failed"),
        }
    }
}
