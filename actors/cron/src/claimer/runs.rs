//! The runs of a node: how many there may be, and what is asked of them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use super::looks::Looks;

/// How long a channel without capacity is passed over.
const PASSED_OVER: Duration = Duration::from_secs(1);

/// What is asked of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Nothing.
    Open,
    /// To begin nothing more.
    Closing,
    /// To end at once.
    Ending,
}

/// The runs of a node, whichever instance of the claimer began them.
#[derive(Debug)]
pub(crate) struct Runs {
    workers: Arc<Semaphore>,
    count: u32,
    phase: watch::Sender<Phase>,
    /// Whether the node stops, so that no instance of the claimer begins anything.
    stops: AtomicBool,
    /// Channels that had no capacity, until when they are passed over.
    busy: Mutex<HashMap<String, Instant>>,
    /// Looks for channels that this node does not know.
    pub(super) looks: Looks,
}

impl Runs {
    pub(crate) fn new(workers: usize) -> Self {
        let count = u32::try_from(workers.clamp(1, Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        Self {
            workers: Arc::new(Semaphore::new(count as usize)),
            count,
            phase: watch::Sender::new(Phase::Open),
            stops: AtomicBool::new(false),
            busy: Mutex::default(),
            looks: Looks::default(),
        }
    }

    /// Asks for more; what was asked before stays asked.
    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.send_if_modified(|now| {
            let advances = *now < phase;
            *now = phase.max(*now);
            advances
        });
    }

    /// Lets runs begin, unless the node stops.
    pub(crate) fn open(&self) {
        if !self.stops.load(Ordering::Acquire) {
            self.phase.send_replace(Phase::Open);
        }
    }

    /// Runs never begin again.
    pub(crate) fn close_for_good(&self) {
        self.stops.store(true, Ordering::Release);
        self.enter(Phase::Closing);
    }

    /// Waits for a worker, and takes others that are free too, `most` in all; `None` when nothing more is to begin.
    pub(crate) async fn free(&self, most: u32) -> Option<Vec<OwnedSemaphorePermit>> {
        let first = tokio::select! {
            biased;
            () = self.closing() => return None,
            worker = Arc::clone(&self.workers).acquire_owned() => worker.ok()?,
        };
        let more = (1..most).map_while(|_| Arc::clone(&self.workers).try_acquire_owned().ok());
        Some(std::iter::once(first).chain(more).collect())
    }

    /// Until nothing more is to begin.
    pub(crate) async fn closing(&self) {
        self.reached(Phase::Closing).await;
    }

    /// Until runs are to end.
    pub(crate) async fn ending(&self) {
        self.reached(Phase::Ending).await;
    }

    /// Whether nothing more is to begin.
    pub(crate) fn is_closing(&self) -> bool {
        *self.phase.borrow() >= Phase::Closing
    }

    /// Until nothing runs.
    pub(crate) async fn idle(&self) {
        let _all = self.workers.acquire_many(self.count).await;
    }

    /// How many run.
    pub(crate) fn count(&self) -> usize {
        (self.count as usize).saturating_sub(self.workers.available_permits())
    }

    /// Notes that a channel had no capacity.
    pub(crate) fn pass_over(&self, channel_id: &str) {
        self.busy().insert(channel_id.to_owned(), Instant::now() + PASSED_OVER);
    }

    /// The channels that are passed over now.
    pub(crate) fn passed_over(&self) -> Vec<String> {
        let now = Instant::now();
        let mut busy = self.busy();
        busy.retain(|_, until| *until > now);
        busy.keys().cloned().collect()
    }

    async fn reached(&self, phase: Phase) {
        let mut phases = self.phase.subscribe();
        // The sender is this very value: it cannot be gone.
        let _ = phases.wait_for(|now| *now >= phase).await;
    }

    fn busy(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn as_many_rows_are_claimed_as_workers_are_free() {
        let runs = Runs::new(3);
        let two = runs.free(2).await.unwrap();
        assert_eq!((two.len(), runs.count()), (2, 2));
        let one = runs.free(20).await.unwrap();
        assert_eq!(one.len(), 1);
        assert!(runs.free(20).now_or_never().is_none(), "all are busy");
        drop(two);
        assert_eq!(runs.free(20).await.unwrap().len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_begins_once_it_closes() {
        let runs = Runs::new(1);
        let busy = runs.free(1).await.unwrap();
        runs.enter(Phase::Closing);
        assert!(runs.free(1).await.is_none());
        assert!(runs.idle().now_or_never().is_none());
        assert!(runs.ending().now_or_never().is_none());
        drop(busy);
        runs.idle().await;
        assert!(runs.is_closing());
        runs.open();
        assert!(!runs.is_closing(), "another instance of the claimer goes on");
        runs.close_for_good();
        runs.open();
        assert!(runs.is_closing());
    }

    #[tokio::test(start_paused = true)]
    async fn a_channel_without_capacity_is_passed_over_for_a_while() {
        let runs = Runs::new(1);
        runs.pass_over("c");
        assert_eq!(runs.passed_over(), ["c"]);
        tokio::time::advance(PASSED_OVER).await;
        assert!(runs.passed_over().is_empty());
    }
}
