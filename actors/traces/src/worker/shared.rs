//! The state that the workers share: it runs one job and records its outcome.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use actix_supervision::Backoff;
use futures_util::FutureExt;
use slog::{Logger, error, info, warn};
use svc_nodes::NodeHandle;
use svc_store::{Ownership, StoreError};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use crate::ambiguity::wait_until_known;
use crate::backoff::DATABASE_BACKOFF;
use crate::claim::JobClaim;
use crate::dead_letters::DueTimer;
use crate::job::{Job, JobFailure, JobHold, JobOutcome, JobResult, Runner};
use crate::metrics::TraceMetrics;
use crate::queue::{JobQueue, QueuedJob};
use crate::report::{self, FailureReport};
use crate::settings::Callback;
use crate::worker::state::{AttemptOutcome, JobAttempt};
use crate::worker::{StopSignal, WorkerTurn};

/// A run that is over sooner is written once, when it is over.
const SHORT: Duration = Duration::from_millis(50);
/// Time beyond its limit in which a runner may report the timeout itself.
const GRACE: Duration = Duration::from_secs(1);
/// Delays of a job whose channel has no permit for it.
const REFUSAL_BACKOFF: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_millis(3200));

/// The state that all workers share.
pub(crate) struct WorkerShared {
    pub(crate) waiting: Arc<JobQueue>,
    pub(crate) store: svc_store::TraceRepository,
    pub(crate) nodes: NodeHandle,
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) limit: Duration,
    pub(crate) max_retries: u32,
    pub(crate) metrics: TraceMetrics,
    /// Told of every dead letter that was written.
    pub(crate) letters_changed: Arc<Notify>,
    /// Told when it is due.
    pub(crate) letters_due: Arc<DueTimer>,
    pub(crate) errors: Callback,
    pub(crate) log: Logger,
    pub(crate) stop: Arc<StopSignal>,
}

/// A run that is over and not written yet.
pub(crate) struct Finished {
    attempt: JobAttempt,
    verdict: AttemptOutcome,
    /// Share of the queue's bytes, held until the outcome is on disk.
    slot: crate::queue::QueueSlot,
    /// The report that is sent if it failed for good.
    report: Option<FailureReport>,
    /// Its turn too, where it was suspected of ending its node.
    claim: JobClaim,
}

impl WorkerShared {
    /// Runs a job and writes how it ended, unless it is back in line. Gives its turn back when the next may begin.
    pub(crate) async fn complete(&self, queued: QueuedJob, turn: WorkerTurn) {
        let mut turn = Some(turn);
        let finished = self.run(queued, &mut turn).await;
        drop(turn);
        if let Some(finished) = finished {
            self.write(finished).await;
        }
    }

    /// Runs a job; `None` when its channel had no permit and it is back in line, or when it is no longer this node's to
    /// run. It fails when its channel had none for as long as it might have run.
    async fn run(&self, queued: QueuedJob, turn: &mut Option<WorkerTurn>) -> Option<Finished> {
        let QueuedJob { job, slot, mut claim, retry, refusals, refused_since } = queued;
        if !self.may_begin(job.trace_id, &mut claim).await {
            return None;
        }
        let ownership = claim.ownership.clone();
        let attempt = JobAttempt { id: job.trace_id, ownership, retry, max_retries: self.max_retries };
        let report = FailureReport::for_job(&job, &*self.runner);
        let active = Active::new(&self.metrics);
        let completed = tokio::select! {
            biased;
            completed = self.attempt(job, turn) => completed,
            () = self.follow(attempt.id, &attempt.ownership) => {
                warn!(self.log, "a run is dropped with the lease of its node"; "trace_id" => %attempt.id);
                return None;
            }
        };
        drop(active);
        match attempt.verdict(completed) {
            Err(_) if refused_since.is_some_and(|since| since.elapsed() >= self.limit) => {
                self.errors.tell("timeout");
                let message =
                    format!("the channel had no capacity for it within {}ms", self.limit.as_millis());
                let verdict = AttemptOutcome::Failed(attempt.failure(JobFailure::transient(message)));
                Some(Finished { attempt, verdict, slot, report, claim })
            }
            Err(job) => {
                let now = Instant::now();
                let delay = REFUSAL_BACKOFF.delay(refusals);
                let (refusals, refused_since) = (refusals.saturating_add(1), refused_since.or(Some(now)));
                let job = Job { attempt: None, ..*job };
                let queued = QueuedJob { job, slot, claim, retry, refusals, refused_since };
                self.waiting.push_later(now + delay, queued);
                None
            }
            Ok(verdict) => Some(Finished { attempt, verdict, slot, report, claim }),
        }
    }

    /// One attempt, whatever the runner does. What is written of it may begin a retry, so an attempt that is dropped at
    /// its deadline is over only when nothing of it goes on; the worker's turn does not wait for that.
    async fn attempt(&self, mut job: Job, turn: &mut Option<WorkerTurn>) -> JobResult {
        let (runner, limit) = (Arc::clone(&self.runner), self.limit);
        let (id, begun) = (job.trace_id, Instant::now());
        let (alive, over) = oneshot::channel::<Infallible>();
        job.attempt = Some(JobHold::new(alive));
        let run = AssertUnwindSafe(async move { runner.run(job, limit).await }).catch_unwind();
        // Dropped here, whatever it came to.
        let outcome = timeout(limit + GRACE, run).await;
        let message = match outcome {
            Ok(Ok(completed)) => {
                if matches!(completed.ended, JobOutcome::TooLarge { .. }) {
                    self.errors.tell("result_size_exceeded");
                }
                return completed;
            }
            Ok(Err(_)) => {
                self.errors.tell("panic");
                error!(self.log, "a run panicked"; "trace_id" => %id);
                "The run ended unexpectedly".to_owned()
            }
            Err(_) => {
                self.errors.tell("timeout");
                drop(turn.take());
                // The sender is never used, only dropped.
                let _over = over.await;
                format!("timed out after {}ms", limit.as_millis())
            }
        };
        JobResult::bare(JobOutcome::Failed(JobFailure::transient(message)), begun.elapsed())
    }

    /// Returns true if this node may start a job: its lease is proven at this moment, and if another node died over the
    /// job, its beginning is counted on disk.
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

    /// Shows a run that takes longer, and waits until its node has no lease any more.
    async fn follow(&self, id: Uuid, ownership: &Ownership) {
        sleep(SHORT).await;
        tokio::select! {
            biased;
            () = self.nodes.lost(&ownership.owner) => {}
            never = self.mark_running(id, ownership) => match never {},
        }
    }

    /// Nothing depends on this write.
    async fn mark_running(&self, id: Uuid, ownership: &Ownership) -> Infallible {
        if let Err(error) = self.store.start(id, Some(ownership.clone())).await {
            warn!(self.log, "cannot mark a job as running"; "trace_id" => %id, "error" => %error);
        }
        std::future::pending().await
    }

    /// Writes how a run ended; tries until it is written, while its worker has room for fewer others. A result that the
    /// database refuses becomes a failure.
    async fn write(&self, finished: Finished) {
        let Finished { attempt, mut verdict, mut slot, mut report, claim } = finished;
        let mut backoff = DATABASE_BACKOFF.delays();
        let mut follow_up = self.attach(&mut verdict, &mut report);
        let is_news = loop {
            let error = match self.try_write(&verdict).await {
                Ok(is_news) => break is_news,
                Err(error) => error,
            };
            let id = attempt.id;
            self.errors.tell("trace_status_write");
            warn!(self.log, "cannot write the end of a job"; "trace_id" => %id, "error" => %error);
            if let (AttemptOutcome::Over(_), StoreError::Database(_) | StoreError::Refused(_)) =
                (&verdict, error)
            {
                verdict = AttemptOutcome::Failed(
                    attempt.failure(JobFailure::permanent("The result could not be stored")),
                );
                follow_up = self.attach(&mut verdict, &mut report);
            } else {
                sleep(backoff.next_delay()).await;
            }
        };
        if let Some(job) = follow_up
            && (is_news || wait_until_known(&self.store, job.trace_id, &self.log).await)
        {
            slot.wait_again();
            self.waiting.push(QueuedJob::new(
                job,
                slot,
                0,
                JobClaim::accepted(attempt.ownership.owner.clone()),
            ));
        }
        if let AttemptOutcome::Failed(failure) = &verdict {
            self.letters_changed.notify_one();
            if !failure.is_exhausted() {
                self.letters_due.note(failure.delay);
            }
            if failure.retry_count >= i64::from(attempt.retry) {
                self.count_failure(&attempt, failure.is_exhausted());
            }
        }
        drop(claim);
    }

    /// Adds the report of a run that failed for good to what is written of it; returns the job that brings it.
    fn attach(&self, verdict: &mut AttemptOutcome, report: &mut Option<FailureReport>) -> Option<Job> {
        let AttemptOutcome::Failed(failure) = verdict else { return None };
        let owner = failure.ownership.as_ref().map(|claim| Arc::clone(&claim.owner));
        if !failure.is_exhausted() {
            return None;
        }
        let job = report.take()?.into_job(&failure.error_message);
        match report::row(&job, owner) {
            Ok(row) => failure.report = Some(Box::new(row)),
            Err(error) => {
                warn!(self.log, "a failure cannot be reported"; "trace_id" => %failure.id, "error" => %error);
                return None;
            }
        }
        Some(job)
    }

    /// Writes how a run ended; whether that was news.
    async fn try_write(&self, verdict: &AttemptOutcome) -> Result<bool, StoreError> {
        let news = match verdict {
            AttemptOutcome::Over(end) => self.store.finish(end.clone()).await?,
            AttemptOutcome::Failed(failure) => self.store.fail_to_dead_letters(failure.clone()).await?,
        };
        if !news {
            warn!(self.log, "a job had ended before, or its row is gone");
        }
        Ok(news)
    }

    fn count_failure(&self, attempt: &JobAttempt, is_exhausted: bool) {
        if is_exhausted {
            self.errors.tell("dlq_exhausted");
        }
        match attempt.retry {
            0 => {}
            _ if is_exhausted => self.metrics.record_dead_letter_retry("exhausted"),
            _ => self.metrics.record_dead_letter_retry("failed"),
        }
    }
}

/// A worker that runs a job.
struct Active<'a>(&'a TraceMetrics);

impl<'a> Active<'a> {
    fn new(metrics: &'a TraceMetrics) -> Self {
        metrics.workers_active.inc();
        Self(metrics)
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.workers_active.dec();
    }
}
