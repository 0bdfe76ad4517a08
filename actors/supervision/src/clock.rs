//! The clock: nothing else in this crate reads the time or sleeps.
//!
//! Instants are tokio's, so that a paused runtime gives a whole tree virtual time.

use std::time::{Duration, SystemTime};

use tokio::time::{Instant, Sleep, Timeout};

/// Upper bound of a duration since the start, so that an instant cannot overflow.
const FAR: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// The start of a tree. Lifecycle instants are durations since then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreeClock(Instant);

impl TreeClock {
    pub(crate) fn start() -> Self {
        Self(now())
    }

    /// Time since the tree started.
    pub(crate) fn elapsed(&self) -> Duration {
        now().saturating_duration_since(self.0)
    }

    /// Returns the instant that lies `since` after the start of the tree.
    pub(crate) fn instant_at(&self, since: Duration) -> Instant {
        self.0 + since.min(FAR)
    }
}

pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Returns the wall-clock time, for the readers of the flight recorder only: nothing is decided by it.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}

pub(crate) fn sleep(duration: Duration) -> Sleep {
    tokio::time::sleep(duration)
}

pub(crate) fn sleep_until(instant: Instant) -> Sleep {
    tokio::time::sleep_until(instant)
}

pub(crate) fn timeout_at<F: Future>(instant: Instant, future: F) -> Timeout<F> {
    tokio::time::timeout_at(instant, future)
}
