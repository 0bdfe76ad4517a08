//! What is known of one key set, and when to ask for it again. No clock, no I/O.

use std::sync::Arc;
use std::time::Duration;

use svc_auth::Jwks;
use tokio::time::Instant;

/// The longest a fetch may take, and with it any caller's wait.
pub(crate) const FETCH_LIMIT: Duration = Duration::from_secs(5);
/// The least time between two fetches for unknown key ids.
const FORCED_EVERY: Duration = Duration::from_secs(30);
/// How long keys are fresh when their answer does not say.
const DEFAULT_AGE: Duration = Duration::from_secs(300);
const LEAST_AGE: Duration = Duration::from_secs(60);
const GREATEST_AGE: Duration = Duration::from_secs(24 * 3600);
/// The pause after a failed fetch: without one every request would ask an issuer that is in trouble, and wait for it.
const PAUSE_WITH_KEYS: Duration = Duration::from_secs(5);
/// As [`PAUSE_WITH_KEYS`], but every token is refused meanwhile.
const PAUSE_WITHOUT_KEYS: Duration = Duration::from_secs(1);

/// One key set at one instant.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    keys: Option<Arc<Jwks>>,
    /// Until then nobody needs to ask: the keys are fresh, or a fetch has just failed.
    settled_until: Option<Instant>,
    /// The latest end of the fetch that runs. Outlives a crash in that fetch, hence an instant and no flag.
    busy_until: Option<Instant>,
    /// When an unknown key id last made for a fetch.
    forced_at: Option<Instant>,
    failing: bool,
}

/// What a caller is after.
#[derive(Clone, Debug)]
pub(crate) enum Want {
    /// Keys that are fresh.
    Fresh,
    /// Other keys than these, which lack a key id.
    OtherThan(Arc<Jwks>),
}

/// What is to be done for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The keys at hand are the answer.
    Nothing,
    /// The fetch that runs will tell.
    Running,
    /// A fetch.
    Fetch,
    /// A fetch that takes the place for unknown key ids.
    ForcedFetch,
}

impl State {
    /// The keys at hand, however old.
    pub(crate) fn keys(&self) -> Option<Arc<Jwks>> {
        self.keys.clone()
    }

    /// Whether the last fetch failed.
    pub(crate) fn is_failing(&self) -> bool {
        self.failing
    }

    /// Whether nobody needs to ask. While retries fail, the keys at hand serve and nobody waits for the next one.
    pub(crate) fn is_settled(&self, now: Instant) -> bool {
        let retrying = self.failing && self.keys.is_some() && self.is_busy(now);
        retrying || self.settled_until.is_some_and(|until| now < until)
    }

    /// Whether a fetch runs, as far as can be told from here.
    pub(crate) fn is_busy(&self, now: Instant) -> bool {
        self.busy_until.is_some_and(|until| now < until)
    }

    /// What a caller's want makes necessary; `running`: a fetch runs.
    pub(crate) fn need(&self, now: Instant, want: &Want, running: bool) -> Need {
        let (settled, fetch) = match (want, &self.keys) {
            (Want::OtherThan(seen), Some(keys)) => {
                let other = !Arc::ptr_eq(seen, keys);
                let recently = self.forced_at.is_some_and(|at| now < at + FORCED_EVERY);
                (other || (recently && !running), Need::ForcedFetch)
            }
            _ => (self.is_settled(now), Need::Fetch),
        };
        match (settled, running) {
            (true, _) => Need::Nothing,
            (false, true) => Need::Running,
            (false, false) => fetch,
        }
    }

    /// A fetch begins. One for an unknown key id takes its place now: a failure counts too.
    pub(crate) fn begun(&self, now: Instant, forced: bool) -> Self {
        let forced_at = if forced { Some(now) } else { self.forced_at };
        Self { busy_until: Some(now + FETCH_LIMIT), forced_at, ..self.clone() }
    }

    /// It brought these keys.
    pub(crate) fn succeeded(&self, now: Instant, keys: Arc<Jwks>, max_age: Option<Duration>) -> Self {
        let age = max_age.unwrap_or(DEFAULT_AGE).clamp(LEAST_AGE, GREATEST_AGE);
        Self {
            keys: Some(keys),
            settled_until: Some(now + age),
            busy_until: None,
            forced_at: self.forced_at,
            failing: false,
        }
    }

    /// It brought nothing. Keys that are still fresh stay so.
    pub(crate) fn failed(&self, now: Instant) -> Self {
        let pause = if self.keys.is_some() { PAUSE_WITH_KEYS } else { PAUSE_WITHOUT_KEYS };
        let settled_until = self.settled_until.max(Some(now + pause));
        Self { settled_until, busy_until: None, failing: true, ..self.clone() }
    }
}

#[cfg(test)]
mod tests;
