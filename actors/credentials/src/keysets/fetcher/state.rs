//! The pure state of one key set: its keys, their freshness and the next fetch. No clock, no I/O.

use std::sync::Arc;
use std::time::Duration;

use actix_supervision::Backoff;

use svc_auth::Jwks;
use tokio::time::Instant;

/// Time limit of a fetch, and of the wait of its callers.
pub(crate) const FETCH_LIMIT: Duration = Duration::from_secs(5);
/// The time after which a fetch without an end counts as lost. None is lost in an orderly service.
const LOST_AFTER: Duration = Duration::from_secs(6);
/// Minimum time between two fetches for unknown key ids. Other fetches do not count: the first unknown key id
/// causes a fetch at once, even if the keys are fresh.
const FORCED_EVERY: Duration = Duration::from_secs(30);
/// The freshness of keys whose response does not specify one.
const DEFAULT_AGE: Duration = Duration::from_secs(300);
const LEAST_AGE: Duration = Duration::from_secs(60);
const GREATEST_AGE: Duration = Duration::from_secs(24 * 3600);
/// The pause after a failed fetch, twice as long after every further one: without it each request would ask
/// an issuer that is in trouble, and wait for it.
const FAILURE_BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));

/// One key set at one instant.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    keys: Option<Arc<Jwks>>,
    /// Until then no caller needs to ask: the keys are fresh, or a fetch has just failed.
    settled_until: Option<Instant>,
    /// A fetch runs, and is lost if it has not ended by then.
    busy_until: Option<Instant>,
    /// The start of the last fetch for an unknown key id.
    forced_at: Option<Instant>,
    /// Fetches that failed since the last one that did not.
    failures: u32,
}

/// Returns the freshness of keys that came with this `max-age`.
pub(crate) fn lifetime(max_age: Option<Duration>) -> Duration {
    max_age.unwrap_or(DEFAULT_AGE).clamp(LEAST_AGE, GREATEST_AGE)
}

/// The demand of a caller.
#[derive(Clone, Debug)]
pub(crate) enum Want {
    /// Keys that are fresh.
    Fresh,
    /// Other keys than these, which lack a key id.
    OtherThan(Arc<Jwks>),
}

/// The action that a demand requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The keys at hand are the answer.
    Nothing,
    /// The running fetch decides.
    Running,
    Fetch,
    /// A fetch that takes the place for unknown key ids.
    ForcedFetch,
}

impl State {
    /// Returns the keys at hand, however old.
    pub(crate) fn keys(&self) -> Option<Arc<Jwks>> {
        self.keys.clone()
    }

    /// Returns `true` if the last fetch failed.
    pub(crate) fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// Returns `true` if no caller needs a fetch. While retries fail, the cached keys serve and no caller waits
    /// for the next retry.
    pub(crate) fn is_settled(&self, now: Instant) -> bool {
        let retrying = self.is_failing() && self.keys.is_some() && self.is_busy(now);
        retrying || self.settled_until.is_some_and(|until| now < until)
    }

    /// Returns `true` while a fetch runs.
    pub(crate) fn is_busy(&self, now: Instant) -> bool {
        self.busy_until.is_some_and(|until| now < until)
    }

    /// Returns the action that a demand requires.
    pub(crate) fn need(&self, now: Instant, want: &Want) -> Need {
        let running = self.is_busy(now);
        let (settled, fetch) = match (want, &self.keys) {
            (Want::OtherThan(seen), Some(keys)) => {
                let recently = self.forced_at.is_some_and(|then| now < then + FORCED_EVERY);
                (!Arc::ptr_eq(seen, keys) || (recently && !running), Need::ForcedFetch)
            }
            _ => (self.is_settled(now), Need::Fetch),
        };
        match (settled, running) {
            (true, _) => Need::Nothing,
            (false, true) => Need::Running,
            (false, false) => fetch,
        }
    }

    /// Records that a fetch begins. A forced one counts from now on, even if it fails.
    pub(crate) fn begin_fetch(&self, now: Instant, forced: bool) -> Self {
        let forced_at = if forced { Some(now) } else { self.forced_at };
        Self { busy_until: Some(now + LOST_AFTER), forced_at, ..self.clone() }
    }

    /// Records the keys of a fetch, fresh for `lifetime`.
    pub(crate) fn record_success(&self, now: Instant, keys: Arc<Jwks>, lifetime: Duration) -> Self {
        Self {
            keys: Some(keys),
            settled_until: Some(now + lifetime),
            busy_until: None,
            forced_at: self.forced_at,
            failures: 0,
        }
    }

    /// Records a fetch that brought no keys. Keys that are still fresh stay so.
    pub(crate) fn record_failure(&self, now: Instant) -> Self {
        let pause = FAILURE_BACKOFF.delay(self.failures);
        let settled_until = self.settled_until.max(Some(now + pause));
        let failures = self.failures.saturating_add(1);
        Self { settled_until, busy_until: None, failures, ..self.clone() }
    }
}

#[cfg(test)]
mod tests;
