//! What every worker works with: running one job, and writing what became of it.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use slog::{Logger, error, warn};
use svc_store::StoreError;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use crate::backoff::Backoff;
use crate::job::{Completed, Ended, Hold, Job, Runner};
use crate::metrics::TraceMetrics;
use crate::queue::{Queued, Waiting};
use crate::settings::Callback;
use crate::worker::state::{Attempt, Verdict};
use crate::worker::{StopOrder, Turn};

/// A run that is over sooner is written once, when it is over.
const SHORT: Duration = Duration::from_millis(50);
/// What a runner gets beyond its limit to say itself that time is up.
const GRACE: Duration = Duration::from_secs(1);
/// Pauses of a job whose channel has no permit for it.
const FIRST_REFUSAL: Duration = Duration::from_millis(50);
const MOST_REFUSALS: u32 = 6;

/// What the workers share.
pub(crate) struct Desk {
    pub(crate) waiting: Arc<Waiting>,
    pub(crate) store: svc_store::Traces,
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) limit: Duration,
    pub(crate) max_retries: u32,
    pub(crate) metrics: TraceMetrics,
    /// Told of every dead letter that was written.
    pub(crate) letters_changed: Arc<Notify>,
    pub(crate) errors: Callback,
    pub(crate) log: Logger,
    pub(crate) stop: Arc<StopOrder>,
}

/// A run that is over and not written yet.
pub(crate) struct Finished {
    attempt: Attempt,
    verdict: Verdict,
    /// What the job weighed counts until its end is on disk.
    slot: crate::queue::Slot,
}

impl Desk {
    /// Runs a job and writes how it ended, unless it is back in line. Gives its turn back when the next may begin.
    pub(crate) async fn complete(&self, queued: Queued, turn: Turn) {
        let mut turn = Some(turn);
        let finished = self.run(queued, &mut turn).await;
        drop(turn);
        if let Some(finished) = finished {
            self.write(finished).await;
        }
    }

    /// Runs a job; `None` when its channel had no permit and it is back in line. It fails when its channel had none for
    /// as long as it might have run.
    async fn run(&self, queued: Queued, turn: &mut Option<Turn>) -> Option<Finished> {
        let Queued { job, slot, retry, refusals, refused_since } = queued;
        let attempt = Attempt { id: job.trace_id, retry, max_retries: self.max_retries };
        let active = Active::new(&self.metrics);
        let completed = tokio::select! {
            biased;
            completed = self.attempt(job, turn) => completed,
            never = self.mark_running(attempt.id) => match never {},
        };
        drop(active);
        match attempt.verdict(completed) {
            Err(_) if refused_since.is_some_and(|since| since.elapsed() >= self.limit) => {
                self.errors.tell("timeout");
                let message =
                    format!("the channel had no capacity for it within {}ms", self.limit.as_millis());
                Some(Finished {
                    attempt,
                    verdict: Verdict::Failed(attempt.failure(message, None, None)),
                    slot,
                })
            }
            Err(job) => {
                let now = Instant::now();
                let pause = FIRST_REFUSAL * 2_u32.pow(refusals.min(MOST_REFUSALS));
                let (refusals, refused_since) = (refusals.saturating_add(1), refused_since.or(Some(now)));
                let job = Job { attempt: None, ..*job };
                let queued = Queued { job, slot, retry, refusals, refused_since };
                self.waiting.push_later(now + pause, queued);
                None
            }
            Ok(verdict) => Some(Finished { attempt, verdict, slot }),
        }
    }

    /// One attempt, whatever the runner does. What is written of it may begin a retry, so an attempt that is dropped at
    /// its deadline is over only when nothing of it goes on; the worker's turn does not wait for that.
    async fn attempt(&self, mut job: Job, turn: &mut Option<Turn>) -> Completed {
        let (runner, limit) = (Arc::clone(&self.runner), self.limit);
        let (id, begun) = (job.trace_id, Instant::now());
        let (alive, over) = oneshot::channel::<Infallible>();
        job.attempt = Some(Hold::new(alive));
        let run = AssertUnwindSafe(async move { runner.run(job, limit).await }).catch_unwind();
        // Dropped here, whatever it came to.
        let outcome = timeout(limit + GRACE, run).await;
        let message = match outcome {
            Ok(Ok(completed)) => {
                if matches!(completed.ended, Ended::TooLarge { .. }) {
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
        Completed { ended: Ended::Failed { message }, task_trace: None, took: begun.elapsed() }
    }

    /// Shows a run that takes longer. Nothing depends on that write.
    async fn mark_running(&self, id: Uuid) -> Infallible {
        sleep(SHORT).await;
        if let Err(error) = self.store.start(id).await {
            warn!(self.log, "cannot mark a job as running"; "trace_id" => %id, "error" => %error);
        }
        std::future::pending().await
    }

    /// Writes how a run ended; tries until it is written, while its worker has room for fewer others. A result that the
    /// database refuses becomes a failure.
    async fn write(&self, finished: Finished) {
        let Finished { attempt, mut verdict, slot } = finished;
        let mut backoff = Backoff::of_database();
        while let Err(error) = self.try_write(&verdict).await {
            let id = attempt.id;
            self.errors.tell("trace_status_write");
            warn!(self.log, "cannot write the end of a job"; "trace_id" => %id, "error" => %error);
            if let (Verdict::Over(_), StoreError::Database(_) | StoreError::Refused(_)) = (&verdict, error) {
                let failure = attempt.failure("The result could not be stored".to_owned(), None, None);
                verdict = Verdict::Failed(failure);
            } else {
                sleep(backoff.pause()).await;
            }
        }
        if let Verdict::Failed(failure) = &verdict {
            self.letters_changed.notify_one();
            if failure.retry_count == i64::from(attempt.retry) {
                self.count_failure(attempt);
            }
        }
        drop(slot);
    }

    async fn try_write(&self, verdict: &Verdict) -> Result<(), StoreError> {
        let news = match verdict {
            Verdict::Over(end) => self.store.finish(end.clone()).await?,
            Verdict::Failed(failure) => self.store.fail_to_dead_letters(failure.clone()).await?,
        };
        if !news {
            warn!(self.log, "a job had ended before, or its row is gone");
        }
        Ok(())
    }

    fn count_failure(&self, attempt: Attempt) {
        if attempt.is_last() {
            self.errors.tell("dlq_exhausted");
        }
        match attempt.retry {
            0 => {}
            _ if attempt.is_last() => self.metrics.dlq_retry("exhausted"),
            _ => self.metrics.dlq_retry("failed"),
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
