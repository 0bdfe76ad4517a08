//! The refusals of a channel on this node, counted by guard, status and inner reason. A message that is admitted counts
//! nothing here.

use parking_lot::Mutex;
use svc_model::Timestamp;

/// The pause of a channel, which a message meets behind every guard.
pub(crate) const PAUSE: &str = "pause";
/// The inner reason of its refusals.
pub(crate) const PAUSED: &str = "paused";

/// The refusals of one guard for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedRefusal {
    /// The guard, or the step before the guards.
    pub guard: &'static str,
    /// The status that the callers got.
    pub status: u16,
    /// The inner reason, which no caller sees.
    pub reason: &'static str,
    /// Number of refusals.
    pub count: u64,
    /// The time of the last one.
    pub last_seen: Timestamp,
}

/// The refusals of a channel since a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalTotals {
    /// The time since which this node counts them.
    pub since: Timestamp,
    /// The counts, those of the last refusals first.
    pub counts: Vec<CountedRefusal>,
}

/// The counts of one channel. They stay through reloads. Guards and reasons are names of the program, so that there are few
/// of them.
#[derive(Debug)]
pub(crate) struct RefusalCounts {
    since: Timestamp,
    counts: Mutex<Vec<CountedRefusal>>,
}

impl Default for RefusalCounts {
    fn default() -> Self {
        Self { since: Timestamp::now(), counts: Mutex::default() }
    }
}

impl RefusalCounts {
    /// Counts one refusal.
    pub(crate) fn count(&self, guard: &'static str, status: u16, reason: &'static str) {
        let last_seen = Timestamp::now();
        let mut counts = self.counts.lock();
        let is_same =
            |known: &CountedRefusal| (known.guard, known.status, known.reason) == (guard, status, reason);
        match counts.iter_mut().find(|known| is_same(known)) {
            Some(known) => {
                known.count += 1;
                known.last_seen = last_seen;
            }
            None => counts.push(CountedRefusal { guard, status, reason, count: 1, last_seen }),
        }
    }

    /// Returns the counts.
    pub(crate) fn totals(&self) -> RefusalTotals {
        let mut counts = self.counts.lock().clone();
        counts.sort_by(|one, other| {
            let order = other.last_seen.cmp(&one.last_seen);
            order.then_with(|| (one.guard, one.reason).cmp(&(other.guard, other.reason)))
        });
        RefusalTotals { since: self.since, counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_by_guard_status_and_reason() {
        let counts = RefusalCounts::default();
        for (guard, status, reason) in [
            ("credentials", 401, "missing"),
            ("credentials", 401, "bad_signature"),
            ("credentials", 401, "missing"),
            ("rate_limit", 429, "over_limit"),
        ] {
            counts.count(guard, status, reason);
        }
        let totals = counts.totals();
        let mut shown: Vec<_> =
            totals.counts.iter().map(|known| (known.reason, known.status, known.count)).collect();
        shown.sort_unstable();
        assert_eq!(shown, [("bad_signature", 401, 1), ("missing", 401, 2), ("over_limit", 429, 1)]);
        assert!(totals.counts.iter().all(|known| known.last_seen >= totals.since));
    }
}
