//! The quotas of the channels of a process.

use std::sync::{Arc, Weak};

use futures_util::future::join_all;
use parking_lot::Mutex;

use super::quota_store::QuotaStore;
use super::reservations::Reservations;
use super::unused_calls::UnusedCalls;

/// The quotas of the channels of a process. Cheap to clone; clones share them.
#[derive(Clone, Default)]
pub struct CallQuotas {
    /// The store; without one no channel may have a quota.
    pub store: Option<Arc<dyn QuotaStore>>,
    /// Those of channels in use.
    held: Arc<Mutex<Vec<Weak<Reservations>>>>,
    /// The rests of others.
    pub(super) unused: UnusedCalls,
}

impl CallQuotas {
    /// Creates the quotas of a process over a store.
    pub fn new(store: Arc<dyn QuotaStore>) -> Self {
        Self { store: Some(store), held: Arc::default(), unused: UnusedCalls::default() }
    }

    /// Gives back what this node has reserved and not admitted, at its end. A failure costs the reservations.
    pub async fn give_back_all(&self) {
        let held: Vec<_> = self.held.lock().iter().filter_map(Weak::upgrade).collect();
        join_all(held.iter().map(|reservations| reservations.give_back())).await;
        if let Some(store) = &self.store {
            while self.unused.give_one_back(&**store).await {}
        }
    }

    pub(super) fn add(&self, reservations: &Arc<Reservations>) {
        let mut held = self.held.lock();
        held.retain(|reservations| reservations.strong_count() > 0);
        held.push(Arc::downgrade(reservations));
    }
}
