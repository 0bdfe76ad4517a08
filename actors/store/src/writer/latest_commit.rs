//! The time of the latest transaction that succeeded.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// Time after a transaction that succeeded within which the next one is expected to succeed as well.
const LATELY: Duration = Duration::from_millis(500);

/// No transaction has succeeded, or a later one has failed.
const NEVER: u64 = u64::MAX;

/// The time of the latest transaction, if it succeeded. Recorded before its callers are answered: one that was refused
/// finds that the next row is not expected to succeed.
pub(super) struct LatestCommit {
    opened_at: Instant,
    /// Milliseconds from `opened_at`, or [`NEVER`].
    ended_at: AtomicU64,
}

impl LatestCommit {
    pub(super) fn new() -> Self {
        Self { opened_at: Instant::now(), ended_at: AtomicU64::new(NEVER) }
    }

    /// Records that a transaction has ended now. One with a row that was refused has not succeeded.
    pub(super) fn record(&self, has_succeeded: bool) {
        self.ended_at.store(if has_succeeded { self.age() } else { NEVER }, Ordering::Relaxed);
    }

    /// Returns `true` if the latest transaction succeeded, and moments ago.
    pub(super) fn is_recent(&self) -> bool {
        let ended_at = self.ended_at.load(Ordering::Relaxed);
        ended_at != NEVER && Duration::from_millis(self.age().saturating_sub(ended_at)) < LATELY
    }

    fn age(&self) -> u64 {
        u64::try_from(self.opened_at.elapsed().as_millis()).unwrap_or(NEVER - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_outweighs_an_earlier_success() {
        let latest = LatestCommit::new();
        assert!(!latest.is_recent(), "nothing was written yet");
        latest.record(true);
        assert!(latest.is_recent());
        latest.record(false);
        assert!(!latest.is_recent());
    }
}
