//! The availability of the ledger: pure, no clock, no I/O.

use std::time::Duration;

use tokio::time::Instant;

/// Time without an answer after which the ledger counts as unavailable. A pool that is half exhausted answers
/// one call and not the next, which is no news.
const SILENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AvailabilityChange {
    /// The ledger does not answer.
    Silent,
    /// It answers again.
    Back,
}

/// The results of the latest calls.
#[derive(Debug, Default)]
pub(crate) struct DatabaseAvailability {
    failing_since: Option<Instant>,
    silent: bool,
}

impl DatabaseAvailability {
    /// Notes how a call ended.
    pub(crate) fn record(&mut self, answered: bool, now: Instant) -> Option<AvailabilityChange> {
        if answered {
            self.failing_since = None;
            return std::mem::take(&mut self.silent).then_some(AvailabilityChange::Back);
        }
        let since = *self.failing_since.get_or_insert(now);
        let turns = !self.silent && now.duration_since(since) >= SILENCE;
        self.silent |= turns;
        turns.then_some(AvailabilityChange::Silent)
    }

    pub(crate) const fn is_silent(&self) -> bool {
        self.silent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lasting_silence_reports_the_ledger_unavailable_once() {
        let start = Instant::now();
        let at = |tenths: u64| start + Duration::from_millis(tenths * 100);
        let mut answers = DatabaseAvailability::default();
        for tenth in 0..100 {
            assert_eq!(answers.record(tenth % 2 == 0, at(tenth)), None);
        }
        let turns: Vec<_> = (100..200).filter_map(|tenth| answers.record(false, at(tenth))).collect();
        assert_eq!((turns, answers.is_silent()), (vec![AvailabilityChange::Silent], true));
        assert_eq!(answers.record(true, at(200)), Some(AvailabilityChange::Back));
        assert_eq!((answers.record(true, at(201)), answers.is_silent()), (None, false));
    }
}
