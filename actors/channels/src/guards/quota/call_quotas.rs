//! The quotas of the channels of a process.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use futures_util::future::join_all;
use parking_lot::Mutex;
use svc_model::config::QuotaTerms;

use super::consumer_quotas::ConsumerQuotas;
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
    /// Those of consumers, over all channels.
    pub(super) consumers: ConsumerQuotas,
}

impl CallQuotas {
    /// Creates the quotas of a process over a store.
    pub fn new(store: Arc<dyn QuotaStore>) -> Self {
        Self { store: Some(store), ..Self::default() }
    }

    /// Gives back what this node has reserved and not admitted, at its end. A failure costs the reservations.
    pub async fn give_back_all(&self) {
        let held: Vec<_> = self.held.lock().iter().filter_map(Weak::upgrade).collect();
        join_all(held.iter().map(|reservations| reservations.give_back())).await;
        if let Some(store) = &self.store {
            while self.unused.give_one_back(&**store).await {}
        }
    }

    /// Returns the requests that this node has reserved and not admitted, by the keys of a channel, or of the scope of
    /// a consumer: the store counts them.
    pub fn count_unused(&self, channel_id: &str) -> HashMap<String, u64> {
        let mut unused = HashMap::new();
        let held: Vec<_> = self.held.lock().iter().filter_map(Weak::upgrade).collect();
        held.iter().for_each(|reservations| reservations.add_unused(channel_id, &mut unused));
        unused
    }

    /// Forgets the reservations of quotas that no consumer has any more; their rests are given back. `terms` are the bounds
    /// of all consumers.
    pub fn retain_for_consumers(&self, terms: impl Iterator<Item = QuotaTerms>) {
        self.consumers.retain(terms);
    }

    /// Returns the reservations of consumers with a quota of these bounds; `None` without a store.
    pub(super) fn consumer_reservations(&self, terms: QuotaTerms) -> Option<Arc<Reservations>> {
        let store = self.store.as_ref()?;
        Some(self.consumers.obtain(&terms, || {
            let new = Arc::new(Reservations::new(Arc::clone(store), terms, self.unused.clone()));
            self.add(&new);
            new
        }))
    }

    pub(super) fn add(&self, reservations: &Arc<Reservations>) {
        let mut held = self.held.lock();
        held.retain(|reservations| reservations.strong_count() > 0);
        held.push(Arc::downgrade(reservations));
    }
}
