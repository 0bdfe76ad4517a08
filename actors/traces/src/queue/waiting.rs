//! The jobs that wait, shared by who submits and who works. Lives as long as the process: no restart of an actor
//! loses a job.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::claim::Claim;
use crate::job::Job;
use crate::queue::slots::{Slot, Slots};
use crate::queue::state::{Line, Next};

/// A job in line.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) job: Job,
    pub(crate) slot: Slot,
    pub(crate) claim: Claim,
    /// Which retry of a dead letter it is; 0 for a first run.
    pub(crate) retry: u32,
    /// How often its channel had no permit for it.
    pub(crate) refusals: u32,
    /// Since when.
    pub(crate) refused_since: Option<Instant>,
}

impl Queued {
    pub(crate) const fn new(job: Job, slot: Slot, retry: u32, claim: Claim) -> Self {
        Self { job, slot, claim, retry, refusals: 0, refused_since: None }
    }
}

/// The line, and the room in it.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) slots: Arc<Slots>,
    line: Mutex<Line<Queued>>,
    wake: Notify,
}

impl Waiting {
    pub(crate) const fn new(slots: Arc<Slots>) -> Self {
        Self { slots, line: Mutex::new(Line::new()), wake: Notify::const_new() }
    }

    /// At the end of the line.
    pub(crate) fn push(&self, queued: Queued) {
        self.line().push(queued);
        self.wake.notify_one();
    }

    /// Before the line.
    pub(crate) fn push_first(&self, queued: Queued) {
        self.push_later(Instant::now(), queued);
    }

    /// Aside, until `at`.
    pub(crate) fn push_later(&self, at: Instant, mut queued: Queued) {
        queued.slot.wait_again();
        self.line().push_later(at, queued);
        // Somebody has to know the new instant.
        self.wake.notify_one();
    }

    /// The next job. Dropping the future loses none.
    pub(crate) async fn take(&self) -> Queued {
        loop {
            let woken = self.wake.notified();
            let next = self.line().pop(Instant::now());
            match next {
                Next::Job(mut queued, more) => {
                    if more {
                        self.wake.notify_one();
                    }
                    queued.slot.begin();
                    queued.claim.share = None;
                    return queued;
                }
                Next::At(at) => tokio::select! {
                    () = woken => {}
                    () = sleep_until(at) => {}
                },
                Next::Nothing => woken.await,
            }
        }
    }

    fn line(&self) -> MutexGuard<'_, Line<Queued>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
