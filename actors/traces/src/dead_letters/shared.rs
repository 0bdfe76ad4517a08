//! The state of the retries that survives a restart of their actor, and the retries over it.

use std::sync::Arc;
use std::time::Duration;

use slog::{Logger, warn};
use svc_cluster::nodes::NodeHandle;
use svc_model::ErrorReason;
use svc_model::id::new_ordered_id;
use svc_store::{
    ClaimedLetter, DueLetters, LetterShare, NewTrace, StoreError, TraceMode, TraceStatus, WaitReason,
    WaitTerms,
};
use tokio::sync::{Mutex, Notify};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::due::DueTimer;
use super::foreign_channels::ForeignChannels;
use super::state;
use crate::ambiguity::wait_until_known;
use crate::claim::JobClaim;
use crate::input;
use crate::job::Runner;
use crate::metrics::TraceMetrics;
use crate::queue::{JobQueue, QueueRejection, QueuedJob};
use crate::settings::{Callback, DeadLetterSettings};
use crate::waiting::WaitingTally;
use crate::worker::retry_delay;

/// Delay of a letter whose channel cannot run on this node now.
const UNAVAILABLE: Duration = Duration::from_secs(30);
/// Delay of a letter that met a paused channel which is not paused any more: the pause of this node is out of date for a
/// moment.
const RESUMED: Duration = Duration::from_secs(1);
/// Name of the job, and of its lease.
const JOB: &str = "dlq_retry";
/// Time by which the lease of the job outlasts the poll interval.
const LEASE_MARGIN: Duration = Duration::from_secs(30);
/// Shortest time between two polls.
const SOON: Duration = Duration::from_millis(10);
/// Shortest time between two counts of the letters.
const COUNTING: Duration = Duration::from_millis(250);

/// State shared by every instance of the actor.
pub(crate) struct RetryShared {
    pub(crate) waiting: Arc<JobQueue>,
    pub(crate) tally: Arc<WaitingTally>,
    pub(crate) letters: svc_store::DeadLetterRepository,
    pub(crate) leases: svc_store::JobLeases,
    pub(crate) traces: svc_store::TraceRepository,
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) nodes: NodeHandle,
    pub(crate) settings: DeadLetterSettings,
    /// Name of this process as the holder of claimed letters.
    pub(crate) holder: String,
    /// Locked while a letter is moved into the queue.
    pub(crate) moving: Arc<Mutex<()>>,
    /// Time that `drain` waits for a letter that is being moved.
    pub(crate) patience: Duration,
    pub(crate) metrics: TraceMetrics,
    /// Instant at which the next letter is due.
    pub(crate) due: Arc<DueTimer>,
    /// Channels that other nodes serve.
    pub(crate) foreign: ForeignChannels,
    /// Notified when this process adds or removes a letter.
    pub(crate) changed: Arc<Notify>,
    pub(crate) jobs: Callback<&'static str>,
    pub(crate) errors: Callback<ErrorReason>,
    pub(crate) log: Logger,
}

/// The result of retrying a claimed letter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RetryOutcome {
    Queued,
    PutBack,
}

/// The reason why a letter is not retried now. None is an attempt.
enum RetryObstacle {
    /// The channel with this id is paused.
    Paused(Arc<str>),
    /// Another node serves the channel.
    Foreign,
    /// The channel cannot run.
    Unavailable,
}

impl RetryShared {
    /// Returns whether this process polls for all, or for itself, because it does not serve every channel. Without an
    /// answer of the database it does not poll for all.
    pub(super) async fn holds_poll(&self) -> bool {
        if !self.runner.serves_every_channel() {
            return true;
        }
        let ttl = self.settings.poll_interval.saturating_add(LEASE_MARGIN);
        match self.leases.acquire(JOB, &self.nodes.id(), ttl).await {
            Ok(is_held) => is_held,
            Err(error) => {
                self.errors.tell(ErrorReason::JobLease);
                warn!(self.log, "the lease of a job cannot be asked for"; "job" => JOB, "error" => %error);
                false
            }
        }
    }

    /// Retries the letters that are due, and finds out when the next one is.
    ///
    /// # Errors
    /// That of the database; some of the letters may still be due.
    pub(super) async fn look(self: &Arc<Self>) -> Result<(), StoreError> {
        let retried = self.retry_due_letters().await;
        match &retried {
            Ok(()) if self.settings.retry_enabled => self.jobs.tell(JOB),
            Ok(()) => {}
            Err(error) => {
                self.errors.tell(ErrorReason::DlqRetry);
                warn!(self.log, "cannot retry dead letters"; "error" => %error);
            }
        }
        self.record_next_due().await;
        retried
    }

    /// Returns the letters that are retried. With retries off, those are the letters that an operator requeued.
    const fn select_letters(&self) -> DueLetters {
        if self.settings.retry_enabled { DueLetters::All } else { DueLetters::Promised }
    }

    /// Retries the letters that are due, until none is left or the queue is full.
    async fn retry_due_letters(self: &Arc<Self>) -> Result<(), StoreError> {
        let batch = i64::from(self.settings.batch_size);
        let mut room = true;
        while room {
            let (letters, except) = (self.select_letters(), self.foreign.names());
            let terms = (batch, self.settings.lease);
            let due = self.letters.claim_due_except(letters, except, terms, &self.holder).await?;
            room = i64::try_from(due.len()).is_ok_and(|claimed| claimed == batch);
            for letter in due {
                match self.find_obstacle(&letter.channel).await {
                    None => room &= self.retry(&letter).await? == RetryOutcome::Queued,
                    // The loop goes on with the other letters.
                    Some(obstacle) => self.leave(&letter, obstacle).await?,
                }
            }
        }
        Ok(())
    }

    /// Returns the reason why letters of a channel are not retried on this node now.
    async fn find_obstacle(&self, channel: &str) -> Option<RetryObstacle> {
        if self.runner.is_paused(None, channel) {
            let id = self.runner.find_id(channel);
            return Some(id.map_or(RetryObstacle::Unavailable, RetryObstacle::Paused));
        }
        if self.runner.is_available(channel) {
            return None;
        }
        let begins_here =
            self.runner.serves(None, channel) || self.runner.begins_unserved(None, channel.into()).await;
        Some(if begins_here { RetryObstacle::Unavailable } else { RetryObstacle::Foreign })
    }

    /// Gives back a letter that is not retried now.
    async fn leave(&self, letter: &ClaimedLetter, obstacle: RetryObstacle) -> Result<(), StoreError> {
        let (letters, id, holder) = (&self.letters, &letter.id, &self.holder);
        match obstacle {
            RetryObstacle::Paused(channel) => letters.rest(id, holder, &channel, RESUMED).await?,
            RetryObstacle::Foreign => {
                self.foreign.insert(&letter.channel);
                letters.put_back(id, holder, Duration::ZERO).await?
            }
            RetryObstacle::Unavailable => letters.put_back(id, holder, UNAVAILABLE).await?,
        };
        Ok(())
    }

    /// Records when the next letter is due, of whatever process.
    async fn record_next_due(&self) {
        match self.letters.next_due_except(self.select_letters(), self.foreign.names()).await {
            Ok(Some(delay)) => self.due.record(delay.max(SOON)),
            Ok(None) => {}
            Err(error) => warn!(self.log, "cannot read when dead letters are due"; "error" => %error),
        }
    }

    /// Updates the gauge of dead letters: shortly after a change by this process, and at least once per
    /// `poll_interval`, because other processes change them too. It does not count during a poll, because
    /// claimed letters are missing from the table while they are retried.
    pub(super) async fn show_depth(&self) {
        loop {
            let counts = async { Ok((self.letters.depth().await?, self.letters.count_exhausted().await?)) };
            match counts.await {
                Ok((depth, exhausted)) => {
                    // The two counts are separate reads: a letter may be purged in between.
                    self.metrics.set_dead_letters(depth.max(exhausted), exhausted);
                }
                Err::<_, StoreError>(error) => {
                    warn!(self.log, "cannot count dead letters"; "error" => %error)
                }
            }
            // Both a change and an elapsed interval lead to a new count.
            let _ = timeout(self.settings.poll_interval, self.changed.notified()).await;
            sleep(COUNTING).await;
        }
    }

    /// Retries one letter. Reserves room in the queue before the row is written, so that every letter that
    /// leaves the table is queued.
    async fn retry(self: &Arc<Self>, letter: &ClaimedLetter) -> Result<RetryOutcome, StoreError> {
        let (job, retry) = state::job(letter, new_ordered_id());
        let input = input::write(&job, retry).map_err(|error| StoreError::Database(error.to_string()))?;
        if let Some(share) = &letter.share {
            return self.retry_in_line(letter, share, (job.trace_id, job.run_key(), input)).await;
        }
        let bytes = input.len().max(input::held_bytes(&job));
        let slot = self.waiting.slots.reserve().and_then(|mut slot| slot.add_bytes(bytes).map(|()| slot));
        let slot = match slot {
            Ok(slot) => slot,
            Err(shed) => return self.put_back(letter, shed).await,
        };
        let owner = self.nodes.id();
        let row = NewTrace {
            input_json: Some(input),
            run_key: job.run_key(),
            owner: Some(Arc::clone(&owner)),
            ..NewTrace::new(job.trace_id, Arc::clone(&job.channel), TraceMode::Async, TraceStatus::Pending)
        };
        let (retries, letter) = (Arc::clone(self), letter.clone());
        let queued = QueuedJob {
            attempt_of: Uuid::try_parse(letter.work()).ok(),
            ..QueuedJob::new(job, slot, retry, JobClaim::for_accepted(owner))
        };
        let moving = Arc::clone(&self.moving).lock_owned().await;
        #[expect(clippy::disallowed_methods, reason = "awaited by the look, and by `drain` through `moving`")]
        let moved = tokio::spawn(async move {
            let _moving = moving;
            retries.enqueue(&letter, row, queued).await
        });
        moved.await.map_err(|error| StoreError::Unanswered(error.to_string().into()))??;
        Ok(RetryOutcome::Queued)
    }

    /// Has the next attempt at the work of a letter wait in the database for a share of its channel, if the letter is
    /// still claimed by this process.
    async fn retry_in_line(
        &self,
        letter: &ClaimedLetter,
        share: &LetterShare,
        (id, run_key, input): (Uuid, Option<String>, String),
    ) -> Result<RetryOutcome, StoreError> {
        let reason = WaitReason::Share;
        let row = NewTrace {
            channel_id: Some(share.channel_id.as_str().into()),
            input_json: Some(input),
            run_key,
            wait: Some(Box::new(WaitTerms { reason, due: None, share: Some(share.key.clone()) })),
            ..NewTrace::new(id, letter.channel.as_str().into(), TraceMode::Async, reason.status())
        };
        if self.take(letter, row).await? {
            self.tally.add(&share.channel_id, reason);
            self.tally.wake();
        }
        Ok(RetryOutcome::Queued)
    }

    /// Ends a letter and queues its job, if the letter is still claimed by this process.
    async fn enqueue(
        &self,
        letter: &ClaimedLetter,
        row: NewTrace,
        queued: QueuedJob,
    ) -> Result<(), StoreError> {
        if self.take(letter, row).await? {
            self.waiting.push(queued);
        }
        Ok(())
    }

    /// Ends a letter that is still claimed by this process with the row of the next attempt. Returns whether it was.
    async fn take(&self, letter: &ClaimedLetter, row: NewTrace) -> Result<bool, StoreError> {
        let id = row.id;
        let is_taken = match self.letters.take_into_trace(letter, row, &self.holder).await {
            Err(StoreError::Unanswered(outage)) => {
                warn!(self.log, "a dead letter may have been taken"; "trace_id" => %id, "detail" => %outage);
                wait_until_known(&self.traces, id, &self.log).await
            }
            told => told?,
        };
        if is_taken {
            self.metrics.record_dead_letter_retry("retried");
            self.changed.notify_one();
        }
        Ok(is_taken)
    }

    async fn put_back(
        &self,
        letter: &ClaimedLetter,
        shed: QueueRejection,
    ) -> Result<RetryOutcome, StoreError> {
        if shed != QueueRejection::Closed {
            self.metrics.record_dead_letter_retry("failed");
        }
        let delay = retry_delay(state::retries(letter));
        self.letters.put_back(&letter.id, &self.holder, delay).await?;
        Ok(RetryOutcome::PutBack)
    }
}
