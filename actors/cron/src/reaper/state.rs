//! The times of the search for absent channels: pure, no clock, no I/O.

use std::time::Duration;

use tokio::time::Instant;

/// The looks for channels that serve nowhere.
///
/// A cursor is overdue as well while the database, or every node, was away, and whoever serves it needs time
/// to catch up. So a look is due only when this node has seen the ledger answer for as long as a cursor must
/// be overdue.
#[derive(Debug)]
pub(crate) struct AbsenceSweep {
    overdue: Duration,
    every: Duration,
    well_since: Option<Instant>,
    last: Option<Instant>,
}

impl AbsenceSweep {
    pub(crate) const fn new(overdue: Duration, every: Duration) -> Self {
        Self { overdue, every, well_since: None, last: None }
    }

    /// Records that the ledger answers; returns true if a search is due.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        let well_since = *self.well_since.get_or_insert(now);
        let is_due = now.duration_since(well_since) >= self.overdue
            && self.last.is_none_or(|last| now.duration_since(last) >= self.every);
        if is_due {
            self.last = Some(now);
        }
        is_due
    }

    /// Records that the ledger did not answer.
    pub(crate) const fn record_failure(&mut self) {
        self.well_since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absences_count_after_the_ledger_answered_long_enough() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut absences = AbsenceSweep::new(Duration::from_secs(60), Duration::from_secs(30));
        let due: Vec<u64> = (0..130).filter(|second| absences.is_due(at(*second))).collect();
        assert_eq!(due, [60, 90, 120]);
        absences.record_failure();
        let due: Vec<u64> = (200..300).filter(|second| absences.is_due(at(*second))).collect();
        assert_eq!(due, [260, 290]);
    }
}
