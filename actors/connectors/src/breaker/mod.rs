//! Circuit breakers: calls to a backend that keeps failing are rejected without reaching it.
//!
//! There is one breaker for each channel and connector, made at the first call. When as many consecutive
//! calls as the threshold have failed, the breaker opens; after the recovery time one call is admitted, which
//! closes the breaker or opens it again.

mod state;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use svc_model::key_part;
use tokio::time::Instant;

use state::{Admission, Breaker};

pub use state::BreakerState;
pub(crate) use state::CallVerdict;

/// Settings of circuit breakers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerSettings {
    /// Consecutive failures that open a breaker.
    pub failure_threshold: u32,
    /// Time for which an open breaker rejects every call.
    pub recovery: Duration,
    /// Most breakers kept; beyond it the least recently used one is dropped, a closed one first.
    pub max_breakers: usize,
}

/// All breakers of a node.
#[derive(Default)]
pub(crate) struct Breakers {
    settings: Option<BreakerSettings>,
    table: Mutex<BreakerTable>,
}

#[derive(Default)]
struct BreakerTable {
    breakers: HashMap<String, TrackedBreaker>,
    /// Counts calls, to find the least recently used breaker.
    calls: u64,
}

struct TrackedBreaker {
    breaker: Breaker,
    used: u64,
}

/// The permit of an admitted call. Dropped without a [`verdict`](Self::settle), it gives its place back.
pub(crate) struct BreakerPermit<'b> {
    breakers: &'b Breakers,
    key: Option<String>,
    probe: bool,
}

impl Breakers {
    pub(crate) fn new(settings: Option<BreakerSettings>) -> Self {
        Self { settings, table: Mutex::default() }
    }

    /// Admits a call; `None` if the breaker rejects it.
    pub(crate) fn admit(&self, channel: &str, connector: &str) -> Option<BreakerPermit<'_>> {
        let Some(settings) = self.settings else {
            return Some(BreakerPermit { breakers: self, key: None, probe: false });
        };
        let key = format!("{}:{connector}", key_part(channel));
        let mut table = self.lock();
        table.make_room(&key, settings.max_breakers);
        table.calls += 1;
        let calls = table.calls;
        let slot = match table.breakers.entry(key.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(TrackedBreaker { breaker: Breaker::default(), used: calls }),
        };
        slot.used = calls;
        let probe = match slot.breaker.admit(Instant::now(), settings.recovery) {
            Admission::Refused => return None,
            Admission::Free => false,
            Admission::Probe => true,
        };
        Some(BreakerPermit { breakers: self, key: Some(key), probe })
    }

    /// Returns the breakers by their keys; `None` where breakers are off.
    pub(crate) fn list(&self) -> Option<Vec<(String, BreakerState)>> {
        self.settings?;
        let table = self.lock();
        let mut list: Vec<_> =
            table.breakers.iter().map(|(key, slot)| (key.clone(), slot.breaker.state())).collect();
        list.sort_by(|(one, _), (other, _)| one.cmp(other));
        Some(list)
    }

    pub(crate) fn reset(&self, key: &str) -> bool {
        let mut table = self.lock();
        let slot = table.breakers.get_mut(key);
        slot.map(|slot| slot.breaker = Breaker::default()).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, BreakerTable> {
        self.table.lock()
    }
}

impl BreakerTable {
    fn make_room(&mut self, key: &str, max: usize) {
        if self.breakers.len() < max.max(1) || self.breakers.contains_key(key) {
            return;
        }
        let rank = |slot: &TrackedBreaker| (slot.breaker.state() != BreakerState::Closed, slot.used);
        let least = self.breakers.iter().min_by_key(|(_, slot)| rank(slot)).map(|(key, _)| key.clone());
        if let Some(least) = least {
            self.breakers.remove(&least);
        }
    }
}

impl BreakerPermit<'_> {
    /// Records the result of the call; returns `true` if it opened the breaker.
    pub(crate) fn settle(mut self, verdict: CallVerdict) -> bool {
        self.end(verdict)
    }

    fn end(&mut self, verdict: CallVerdict) -> bool {
        let (Some(key), Some(settings)) = (self.key.take(), self.breakers.settings) else { return false };
        let mut table = self.breakers.lock();
        let Some(slot) = table.breakers.get_mut(&key) else { return false };
        slot.breaker.record(verdict, self.probe, Instant::now(), settings.failure_threshold)
    }
}

impl Drop for BreakerPermit<'_> {
    fn drop(&mut self) {
        self.end(CallVerdict::Neutral);
    }
}

#[cfg(test)]
mod tests;
