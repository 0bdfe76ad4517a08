//! Circuit breakers: calls to a backend that keeps failing are rejected without reaching it.
//!
//! There is one breaker for each channel and connector, made at the first call. When as many consecutive
//! calls as the threshold have failed, the breaker opens; after the recovery time one call is admitted, which
//! closes the breaker or opens it again. A breaker ends with its channel, and with the settings of its connector: they
//! may have been its trouble, and another connector may take the name.

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

/// A breaker of one connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectorBreaker {
    /// Its key, by which it is reset.
    pub key: String,
    /// Name of the channel.
    pub channel: String,
    pub state: BreakerState,
}

/// A breaker of a host whose address messages compute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostBreaker {
    /// Name of the connector over which the host is called.
    pub connector: String,
    /// Host and port.
    pub host: String,
    pub state: BreakerState,
}

/// All breakers of a node.
#[derive(Default)]
pub(crate) struct Breakers {
    settings: Option<BreakerSettings>,
    table: Mutex<BreakerTable>,
}

#[derive(Default)]
struct BreakerTable {
    breakers: HashMap<BreakerKey, TrackedBreaker>,
    /// Counts calls, to find the least recently used breaker.
    calls: u64,
}

/// The channel and the connector of a breaker. Operators know it by its text, `{channel}:{connector}`.
#[derive(Clone, PartialEq, Eq, Hash)]
struct BreakerKey {
    text: String,
    /// Length of the channel in the text.
    channel_length: usize,
    /// The name of the channel, if the text has it escaped.
    escaped: Option<Box<str>>,
}

impl BreakerKey {
    fn new(channel: &str, connector: &str) -> Self {
        let part = key_part(channel);
        let escaped = (part != channel).then(|| channel.into());
        Self { text: format!("{part}:{connector}"), channel_length: part.len(), escaped }
    }

    fn channel(&self) -> &str {
        self.escaped.as_deref().unwrap_or(&self.text[..self.channel_length])
    }

    fn connector(&self) -> &str {
        &self.text[self.channel_length + 1..]
    }
}

struct TrackedBreaker {
    breaker: Breaker,
    /// Number of the call that made it.
    made: u64,
    /// Number of the last call.
    used: u64,
}

/// The permit of an admitted call. Dropped without a [`verdict`](Self::settle), it gives its place back.
pub(crate) struct BreakerPermit<'b> {
    breakers: &'b Breakers,
    /// The key of the breaker, and the number of the call that made it.
    admitted_by: Option<(BreakerKey, u64)>,
    probe: bool,
}

impl Breakers {
    pub(crate) fn new(settings: Option<BreakerSettings>) -> Self {
        Self { settings, table: Mutex::default() }
    }

    /// Returns the permit of a call that counts for no breaker.
    pub(crate) fn permit_uncounted(&self) -> BreakerPermit<'_> {
        BreakerPermit { breakers: self, admitted_by: None, probe: false }
    }

    /// Admits a call; `None` if the breaker rejects it.
    pub(crate) fn admit(&self, channel: &str, connector: &str) -> Option<BreakerPermit<'_>> {
        let Some(settings) = self.settings else {
            return Some(BreakerPermit { breakers: self, admitted_by: None, probe: false });
        };
        let key = BreakerKey::new(channel, connector);
        let mut table = self.lock();
        table.make_room(&key, settings.max_breakers);
        table.calls += 1;
        let calls = table.calls;
        let slot = match table.breakers.entry(key.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                new.insert(TrackedBreaker { breaker: Breaker::default(), made: calls, used: calls })
            }
        };
        slot.used = calls;
        let probe = match slot.breaker.admit(Instant::now(), settings.recovery) {
            Admission::Refused => return None,
            Admission::Free => false,
            Admission::Probe => true,
        };
        Some(BreakerPermit { breakers: self, admitted_by: Some((key, slot.made)), probe })
    }

    /// Returns the breakers by their keys; `None` if breakers are off.
    pub(crate) fn list(&self) -> Option<Vec<(String, BreakerState)>> {
        self.settings?;
        let table = self.lock();
        let mut list: Vec<_> =
            table.breakers.iter().map(|(key, slot)| (key.text.clone(), slot.breaker.state())).collect();
        list.sort_by(|(one, _), (other, _)| one.cmp(other));
        Some(list)
    }

    /// Returns the breakers of a connector: key, channel and state of each.
    pub(crate) fn list_for_connector(&self, connector: &str) -> Vec<ConnectorBreaker> {
        let table = self.lock();
        let own = table.breakers.iter().filter(|(key, _)| key.connector() == connector);
        let mut list: Vec<_> = own
            .map(|(key, slot)| ConnectorBreaker {
                key: key.text.clone(),
                channel: key.channel().to_owned(),
                state: slot.breaker.state(),
            })
            .collect();
        list.sort_by(|one, other| one.key.cmp(&other.key));
        list
    }

    /// Returns the hosts whose breakers are not closed, with the state of each. The breakers are those of the hosts of one
    /// connector.
    pub(crate) fn list_failing_hosts(&self) -> Vec<(String, BreakerState)> {
        let table = self.lock();
        let states = table.breakers.iter().map(|(key, slot)| (key.connector(), slot.breaker.state()));
        let failing = states.filter(|(_, state)| *state != BreakerState::Closed);
        failing.map(|(host, state)| (host.to_owned(), state)).collect()
    }

    pub(crate) fn reset(&self, key: &str) -> bool {
        let mut table = self.lock();
        let slots = table.breakers.iter_mut().filter(|(known, _)| known.text == key);
        slots.map(|(_, slot)| slot.breaker = Breaker::default()).count() > 0
    }

    /// Drops the breakers of a connector. Calls in flight count for none of those that later calls make.
    pub(crate) fn forget_connector(&self, connector: &str) {
        self.lock().breakers.retain(|key, _| key.connector() != connector);
    }

    /// Drops the breakers of the channels that `serves` does not accept.
    pub(crate) fn retain_channels(&self, serves: impl Fn(&str) -> bool) {
        self.lock().breakers.retain(|key, _| serves(key.channel()));
    }

    fn lock(&self) -> MutexGuard<'_, BreakerTable> {
        self.table.lock()
    }
}

impl BreakerTable {
    fn make_room(&mut self, key: &BreakerKey, max: usize) {
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
        let (Some((key, made)), Some(settings)) = (self.admitted_by.take(), self.breakers.settings) else {
            return false;
        };
        let mut table = self.breakers.lock();
        let Some(slot) = table.breakers.get_mut(&key).filter(|slot| slot.made == made) else { return false };
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
