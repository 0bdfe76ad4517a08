//! The runs of this node that are to be cancelled.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch};
use uuid::Uuid;

/// The runs of this node that are to be cancelled, by the ids of their traces. Usually none: a look at it then costs one
/// read of a number.
#[derive(Debug)]
pub(crate) struct CancelRequests {
    ids: Mutex<HashSet<Uuid>>,
    count: AtomicUsize,
    changes: watch::Sender<()>,
    /// Notified when the database may have orders for this node.
    look: Notify,
}

impl CancelRequests {
    pub(crate) fn new() -> Self {
        Self {
            ids: Mutex::default(),
            count: AtomicUsize::new(0),
            changes: watch::Sender::new(()),
            look: Notify::new(),
        }
    }

    /// Returns `true` if the run is to be cancelled.
    pub(crate) fn has(&self, id: Uuid) -> bool {
        !self.is_empty() && self.ids.lock().contains(&id)
    }

    /// Returns `true` if no run is to be cancelled.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Waits until the run is to be cancelled. Cancel-safe.
    pub(crate) async fn wait_for(&self, id: Uuid) {
        let mut changes = self.changes.subscribe();
        while !self.has(id) {
            // The sender is part of `self`, so the channel cannot be closed.
            let _ = changes.changed().await;
        }
    }

    /// Adds a run.
    pub(crate) fn insert(&self, id: Uuid) {
        let mut ids = self.ids.lock();
        ids.insert(id);
        self.publish(&ids);
    }

    /// Removes a run, which has ended.
    pub(crate) fn remove(&self, id: Uuid) {
        if self.has(id) {
            let mut ids = self.ids.lock();
            ids.remove(&id);
            self.publish(&ids);
        }
    }

    /// Returns all runs, for a later [`update`](Self::update).
    pub(crate) fn copy_ids(&self) -> HashSet<Uuid> {
        self.ids.lock().clone()
    }

    /// Takes over what the database has: `current`, as read after `known` was copied. A run that was added meanwhile stays.
    pub(crate) fn update(&self, known: &HashSet<Uuid>, current: HashSet<Uuid>) {
        let mut ids = self.ids.lock();
        ids.retain(|id| !known.contains(id) || current.contains(id));
        ids.extend(current);
        self.publish(&ids);
    }

    /// Has the database read for orders.
    pub(crate) fn look(&self) {
        self.look.notify_one();
    }

    /// Waits until the database is to be read.
    pub(crate) async fn wait_for_look(&self) {
        self.look.notified().await;
    }

    fn publish(&self, ids: &MutexGuard<'_, HashSet<Uuid>>) {
        self.count.store(ids.len(), Ordering::Release);
        self.changes.send_replace(());
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn request_ends_the_wait_for_its_run() {
        let (requests, run) = (CancelRequests::new(), Uuid::from_u128(1));
        let mut wait = Box::pin(requests.wait_for(run));
        requests.insert(Uuid::from_u128(2));
        assert!(wait.as_mut().now_or_never().is_none());
        requests.insert(run);
        assert!(wait.now_or_never().is_some());
        requests.remove(run);
        assert!(!requests.has(run));
    }

    #[test]
    fn request_made_during_a_look_stays() {
        let (requests, [ended, new, stored]) = (CancelRequests::new(), [1, 2, 3].map(Uuid::from_u128));
        requests.insert(ended);
        let known = requests.copy_ids();
        requests.insert(new);
        requests.update(&known, HashSet::from([stored]));
        assert_eq!([ended, new, stored].map(|id| requests.has(id)), [false, true, true]);
    }
}
