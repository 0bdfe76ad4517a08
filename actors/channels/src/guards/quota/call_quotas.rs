//! The quotas of the channels of a process.

use std::sync::{Arc, Weak};

use futures_util::future::join_all;
use parking_lot::Mutex;

use super::quota_store::QuotaStore;
use super::reservations::Reservations;

/// The quotas of the channels of a process. Cheap to clone; clones share them.
#[derive(Clone, Default)]
pub struct CallQuotas {
    /// The store; without one no channel may have a quota.
    pub store: Option<Arc<dyn QuotaStore>>,
    /// Those of channels in use.
    held: Arc<Mutex<Vec<Weak<Reservations>>>>,
}

impl CallQuotas {
    /// Creates the quotas of a process over a store.
    pub fn new(store: Arc<dyn QuotaStore>) -> Self {
        Self { store: Some(store), held: Arc::default() }
    }

    /// Gives back what this node has reserved and not admitted, at its end. A failure costs the reservations.
    pub async fn give_back_all(&self) {
        let held: Vec<_> = self.held.lock().iter().filter_map(Weak::upgrade).collect();
        join_all(held.iter().map(|reservations| reservations.give_back())).await;
    }

    pub(super) fn add(&self, reservations: &Arc<Reservations>) {
        let mut held = self.held.lock();
        held.retain(|reservations| reservations.strong_count() > 0);
        held.push(Arc::downgrade(reservations));
    }
}
