//! The waiting jobs, shared by submitters and workers. The queue lives as long as the process: no restart of
//! an actor loses a job.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::claim::JobClaim;
use crate::job::Job;
use crate::queue::capacity::{QueueCapacity, QueueSlot};
use crate::queue::delay_queue::{DelayQueue, PopResult};

/// A job in the queue.
#[derive(Debug)]
pub(crate) struct QueuedJob {
    pub(crate) job: Job,
    pub(crate) slot: QueueSlot,
    pub(crate) claim: JobClaim,
    /// Number of the retry of a dead letter; 0 for a first run.
    pub(crate) retry: u32,
    /// Number of times its channel had no permit for it.
    pub(crate) refusals: u32,
    /// Instant of the first such refusal.
    pub(crate) refused_since: Option<Instant>,
}

impl QueuedJob {
    pub(crate) const fn new(job: Job, slot: QueueSlot, retry: u32, claim: JobClaim) -> Self {
        Self { job, slot, claim, retry, refusals: 0, refused_since: None }
    }
}

/// The queue and its capacity.
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

    /// Appends a job.
    pub(crate) fn push(&self, queued: QueuedJob) {
        self.line().push(queued);
        self.wake.notify_one();
    }

    /// Puts a job before all others.
    pub(crate) fn push_first(&self, queued: QueuedJob) {
        self.push_later(Instant::now(), queued);
    }

    /// Adds a job that is due at `at`.
    pub(crate) fn push_later(&self, at: Instant, mut queued: QueuedJob) {
        queued.slot.reoccupy_place();
        self.line().push_later(at, queued);
        // A waiting worker must learn of the new instant.
        self.wake.notify_one();
    }

    /// Waits for the next job. Cancel-safe: no job is lost.
    pub(crate) async fn take(&self) -> QueuedJob {
        loop {
            let woken = self.wake.notified();
            let next = self.line().pop(Instant::now());
            match next {
                PopResult::Job(mut queued, more) => {
                    if more {
                        self.wake.notify_one();
                    }
                    queued.slot.release_place();
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
        self.line.lock()
    }
}
