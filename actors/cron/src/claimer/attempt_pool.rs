//! The runs of a node: how many there may be, and what is asked of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;
use uuid::Uuid;

use super::cancellation::AttemptCancellation;
use super::negative_cache::NegativeCache;

/// Time for which a channel without capacity is passed over.
const PASSED_OVER: Duration = Duration::from_secs(1);

/// The stages of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ShutdownPhase {
    /// Nothing.
    Open,
    /// To begin nothing more.
    Closing,
    /// To end at once.
    Ending,
}

/// The runs of a node, whichever instance of the claimer began them.
#[derive(Debug)]
pub(crate) struct AttemptPool {
    workers: Arc<Semaphore>,
    count: u32,
    phase: watch::Sender<ShutdownPhase>,
    /// True once the node stops, so that no instance of the claimer begins anything.
    stops: AtomicBool,
    /// Channels that had no capacity, until when they are passed over.
    busy: Mutex<HashMap<String, Instant>>,
    /// Looks for channels that this node does not know.
    pub(super) absent: NegativeCache,
    /// The cancellations of the attempts, by their occurrences.
    cancellations: Mutex<HashMap<Uuid, Arc<AttemptCancellation>>>,
    /// Notified when the ledger may have orders to cancel.
    look_for_cancels: Notify,
}

impl AttemptPool {
    pub(crate) fn new(workers: usize) -> Self {
        let count = u32::try_from(workers.clamp(1, Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        Self {
            workers: Arc::new(Semaphore::new(count as usize)),
            count,
            phase: watch::Sender::new(ShutdownPhase::Open),
            stops: AtomicBool::new(false),
            busy: Mutex::default(),
            absent: NegativeCache::default(),
            cancellations: Mutex::default(),
            look_for_cancels: Notify::new(),
        }
    }

    /// Adds an attempt at an occurrence. Returns its cancellation.
    pub(super) fn add_attempt(&self, occurrence: Uuid) -> Arc<AttemptCancellation> {
        let cancellation = Arc::new(AttemptCancellation::new());
        self.cancellations.lock().insert(occurrence, Arc::clone(&cancellation));
        cancellation
    }

    /// Removes an attempt, which has ended.
    pub(super) fn remove_attempt(&self, occurrence: Uuid, cancellation: &Arc<AttemptCancellation>) {
        let mut cancellations = self.cancellations.lock();
        if cancellations.get(&occurrence).is_some_and(|known| Arc::ptr_eq(known, cancellation)) {
            cancellations.remove(&occurrence);
        }
    }

    /// Cancels the attempt at an occurrence, if this node makes one.
    pub(super) fn cancel(&self, occurrence: Uuid, reports: bool) {
        if let Some(cancellation) = self.cancellations.lock().get(&occurrence) {
            cancellation.request(reports);
        }
    }

    /// Has the ledger read for orders to cancel.
    pub(crate) fn look_for_cancels(&self) {
        self.look_for_cancels.notify_one();
    }

    /// Waits until the ledger is to be read for orders to cancel.
    pub(super) async fn wait_for_look_for_cancels(&self) {
        self.look_for_cancels.notified().await;
    }

    /// Asks for more; what was asked before stays asked.
    pub(crate) fn advance(&self, phase: ShutdownPhase) {
        self.phase.send_if_modified(|now| {
            let advances = *now < phase;
            *now = phase.max(*now);
            advances
        });
    }

    /// Lets runs begin, unless the node stops.
    pub(crate) fn open(&self) {
        if !self.stops.load(Ordering::Acquire) {
            self.phase.send_replace(ShutdownPhase::Open);
        }
    }

    /// Runs never begin again.
    pub(crate) fn close_for_good(&self) {
        self.stops.store(true, Ordering::Release);
        self.advance(ShutdownPhase::Closing);
    }

    /// Waits for a worker, and takes others that are free too, `most` in all; `None` when nothing more is to
    /// begin.
    pub(crate) async fn acquire_workers(&self, most: u32) -> Option<Vec<OwnedSemaphorePermit>> {
        let first = tokio::select! {
            biased;
            () = self.wait_until_closing() => return None,
            worker = Arc::clone(&self.workers).acquire_owned() => worker.ok()?,
        };
        let more = (1..most).map_while(|_| Arc::clone(&self.workers).try_acquire_owned().ok());
        Some(std::iter::once(first).chain(more).collect())
    }

    /// Until nothing more is to begin.
    pub(crate) async fn wait_until_closing(&self) {
        self.wait_for_phase(ShutdownPhase::Closing).await;
    }

    /// Until runs are to end.
    pub(crate) async fn wait_until_ending(&self) {
        self.wait_for_phase(ShutdownPhase::Ending).await;
    }

    /// Returns true if no attempt may begin any more.
    pub(crate) fn is_closing(&self) -> bool {
        *self.phase.borrow() >= ShutdownPhase::Closing
    }

    /// Until nothing attempts.
    pub(crate) async fn wait_until_idle(&self) {
        let _all = self.workers.acquire_many(self.count).await;
    }

    /// Returns the number of running attempts.
    pub(crate) fn running_count(&self) -> usize {
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

    async fn wait_for_phase(&self, phase: ShutdownPhase) {
        let mut phases = self.phase.subscribe();
        // The sender is this very value: it cannot be gone.
        let _ = phases.wait_for(|now| *now >= phase).await;
    }

    fn busy(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.busy.lock()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn as_many_rows_are_claimed_as_workers_are_free() {
        let attempts = AttemptPool::new(3);
        let two = attempts.acquire_workers(2).await.unwrap();
        assert_eq!((two.len(), attempts.running_count()), (2, 2));
        let one = attempts.acquire_workers(20).await.unwrap();
        assert_eq!(one.len(), 1);
        assert!(attempts.acquire_workers(20).now_or_never().is_none(), "all are busy");
        drop(two);
        assert_eq!(attempts.acquire_workers(20).await.unwrap().len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_begins_once_it_closes() {
        let attempts = AttemptPool::new(1);
        let busy = attempts.acquire_workers(1).await.unwrap();
        attempts.advance(ShutdownPhase::Closing);
        assert!(attempts.acquire_workers(1).await.is_none());
        assert!(attempts.wait_until_idle().now_or_never().is_none());
        assert!(attempts.wait_until_ending().now_or_never().is_none());
        drop(busy);
        attempts.wait_until_idle().await;
        assert!(attempts.is_closing());
        attempts.open();
        assert!(!attempts.is_closing(), "another instance of the claimer goes on");
        attempts.close_for_good();
        attempts.open();
        assert!(attempts.is_closing());
    }

    #[tokio::test(start_paused = true)]
    async fn channel_without_capacity_is_skipped_briefly() {
        let attempts = AttemptPool::new(1);
        attempts.pass_over("c");
        assert_eq!(attempts.passed_over(), ["c"]);
        tokio::time::advance(PASSED_OVER).await;
        assert!(attempts.passed_over().is_empty());
    }
}
