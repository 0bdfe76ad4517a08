//! The waiting jobs, shared by submitters and workers. The queue lives as long as the process: no restart of
//! an actor loses a job.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;

use crate::claim::JobClaim;
use crate::job::Job;
use crate::queue::capacity::{QueueCapacity, QueueSlot};
use crate::queue::delay_queue::{DelayQueue, PopResult};

/// Jobs in the line up to which the next one counts as begun at once: an idle worker takes them before it is seen busy.
const MOST_EARLY: usize = 64;

/// A job in the queue.
#[derive(Debug)]
pub(crate) struct QueuedJob {
    pub(crate) job: Job,
    pub(crate) slot: QueueSlot,
    pub(crate) claim: JobClaim,
    /// Id of the work that it is a later attempt at.
    pub(crate) attempt_of: Option<Uuid>,
    /// Number of the retry of a dead letter; 0 for a first run.
    pub(crate) retry: u32,
    /// Number of times its channel had no permit for it.
    pub(crate) refusals: u32,
    /// Instant of the first such refusal.
    pub(crate) refused_since: Option<Instant>,
}

impl QueuedJob {
    pub(crate) const fn new(job: Job, slot: QueueSlot, retry: u32, claim: JobClaim) -> Self {
        Self { job, slot, claim, attempt_of: None, retry, refusals: 0, refused_since: None }
    }
}

/// The queue and its capacity.
#[derive(Debug)]
pub(crate) struct JobQueue {
    pub(crate) slots: Arc<QueueCapacity>,
    line: Mutex<DelayQueue<QueuedJob>>,
    wake: Notify,
    /// Workers that wait for a job.
    idle: AtomicUsize,
    /// Notified of each worker that begins to wait.
    idled: Notify,
    /// Jobs that workers took.
    taken: AtomicUsize,
}

/// A worker that waits for a job, until it is dropped.
struct IdleWorker<'q>(&'q AtomicUsize);

impl Drop for IdleWorker<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl JobQueue {
    pub(crate) const fn new(slots: Arc<QueueCapacity>) -> Self {
        Self {
            slots,
            line: Mutex::new(DelayQueue::new()),
            wake: Notify::const_new(),
            idle: AtomicUsize::new(0),
            idled: Notify::const_new(),
            taken: AtomicUsize::new(0),
        }
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
                    self.taken.fetch_add(1, Ordering::Relaxed);
                    return queued;
                }
                PopResult::At(at) => {
                    let _idle = self.idle_worker();
                    tokio::select! {
                        () = woken => {}
                        () = sleep_until(at) => {}
                    }
                }
                PopResult::Nothing => {
                    let _idle = self.idle_worker();
                    woken.await;
                }
            }
        }
    }

    /// Takes the jobs out for which `is_wanted` is true.
    pub(crate) fn remove_jobs(&self, is_wanted: impl Fn(&QueuedJob) -> bool) -> Vec<QueuedJob> {
        let mut removed = self.line().extract(is_wanted);
        removed.iter_mut().for_each(|queued| queued.slot.release_place());
        removed
    }

    /// Waits until a worker is free for which no job waits here, and returns the number of such workers.
    pub(crate) async fn wait_for_free_workers(&self) -> usize {
        loop {
            let idled = self.idled.notified();
            let waiting = self.line().count_due(Instant::now());
            match self.idle.load(Ordering::SeqCst).saturating_sub(waiting) {
                0 => idled.await,
                free => return free,
            }
        }
    }

    /// Returns `true` if a worker waits for a job, and few jobs wait for workers.
    pub(crate) fn has_idle_worker(&self) -> bool {
        self.idle.load(Ordering::SeqCst) > 0 && self.line().len() < MOST_EARLY
    }

    /// Returns the number of jobs that workers took so far.
    pub(crate) fn taken_jobs(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    fn idle_worker(&self) -> IdleWorker<'_> {
        self.idle.fetch_add(1, Ordering::SeqCst);
        self.idled.notify_waiters();
        IdleWorker(&self.idle)
    }

    fn line(&self) -> MutexGuard<'_, DelayQueue<QueuedJob>> {
        self.line.lock()
    }
}
