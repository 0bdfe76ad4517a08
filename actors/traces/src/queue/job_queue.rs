//! The jobs that wait, shared by who submits and who works. Lives as long as the process: no restart of an actor
//! loses a job.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::claim::JobClaim;
use crate::job::Job;
use crate::queue::capacity::{QueueCapacity, QueueSlot};
use crate::queue::delay_queue::{DelayQueue, PopResult};

/// A job in line.
#[derive(Debug)]
pub(crate) struct QueuedJob {
    pub(crate) job: Job,
    pub(crate) slot: QueueSlot,
    pub(crate) claim: JobClaim,
    /// Number of the retry of a dead letter; 0 for a first run.
    pub(crate) retry: u32,
    /// Number of times that its channel had no permit for it.
    pub(crate) refusals: u32,
    /// Since when.
    pub(crate) refused_since: Option<Instant>,
}

impl QueuedJob {
    pub(crate) const fn new(job: Job, slot: QueueSlot, retry: u32, claim: JobClaim) -> Self {
        Self { job, slot, claim, retry, refusals: 0, refused_since: None }
    }
}

/// The line, and the room in it.
#[derive(Debug)]
pub(crate) struct JobQueue {
    pub(crate) slots: Arc<QueueCapacity>,
    line: Mutex<DelayQueue<QueuedJob>>,
    wake: Notify,
}

impl JobQueue {
    pub(crate) const fn new(slots: Arc<QueueCapacity>) -> Self {
        Self { slots, line: Mutex::new(DelayQueue::new()), wake: Notify::const_new() }
    }

    /// At the end of the line.
    pub(crate) fn push(&self, queued: QueuedJob) {
        self.line().push(queued);
        self.wake.notify_one();
    }

    /// Before the line.
    pub(crate) fn push_first(&self, queued: QueuedJob) {
        self.push_later(Instant::now(), queued);
    }

    /// Aside, until `at`.
    pub(crate) fn push_later(&self, at: Instant, mut queued: QueuedJob) {
        queued.slot.wait_again();
        self.line().push_later(at, queued);
        // Somebody has to know the new instant.
        self.wake.notify_one();
    }

    /// The next job. Dropping the future loses none.
    pub(crate) async fn take(&self) -> QueuedJob {
        loop {
            let woken = self.wake.notified();
            let next = self.line().pop(Instant::now());
            match next {
                PopResult::Job(mut queued, more) => {
                    if more {
                        self.wake.notify_one();
                    }
                    queued.slot.begin();
                    queued.claim.share = None;
                    return queued;
                }
                PopResult::At(at) => tokio::select! {
                    () = woken => {}
                    () = sleep_until(at) => {}
                },
                PopResult::Nothing => woken.await,
            }
        }
    }

    fn line(&self) -> MutexGuard<'_, DelayQueue<QueuedJob>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
