//! The pace of a run and its conduct after failures: pure, no clock, no I/O.

use std::time::Duration;

/// Maximum number of rows of a page: one statement takes them.
const LARGEST_PAGE: u32 = 500;
/// Pages a second of a run with a pace.
const PAGES_A_SECOND: u32 = 4;
/// Failures in a row that no outage explains, after which a run ends.
const MOST_REFUSALS: u32 = 5;
/// Longest delay after a failure.
const LONGEST_DELAY: Duration = Duration::from_secs(10);

/// The conduct after a failed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterFailure {
    /// The step is tried again after this delay.
    Retry(Duration),
    /// The run ends as failed.
    GiveUp,
}

/// The pace of a run, and its failures in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunPace {
    /// Rows a second; 0 for no pace.
    rate: u32,
    failures: u32,
    refusals: u32,
}

impl RunPace {
    pub(super) const fn new(rate: u32) -> Self {
        Self { rate, failures: 0, refusals: 0 }
    }

    /// Returns the number of rows of a page.
    pub(super) fn page_size(&self) -> u32 {
        match self.rate {
            0 => LARGEST_PAGE,
            rate => (rate / PAGES_A_SECOND).clamp(1, LARGEST_PAGE),
        }
    }

    /// Records a page of so many rows, which took so long. Returns the delay before the next one.
    pub(super) fn record_page(&mut self, rows: usize, took: Duration) -> Duration {
        (self.failures, self.refusals) = (0, 0);
        if self.rate == 0 {
            return Duration::ZERO;
        }
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        let due = Duration::from_secs(1).saturating_mul(rows) / self.rate;
        due.saturating_sub(took)
    }

    /// Records a failed step. Outages are waited out; what the database or a rule refuses again and again ends the run.
    pub(super) fn record_failure(&mut self, is_outage: bool) -> AfterFailure {
        self.failures = self.failures.saturating_add(1);
        self.refusals = if is_outage { 0 } else { self.refusals + 1 };
        if self.refusals >= MOST_REFUSALS {
            return AfterFailure::GiveUp;
        }
        let delay = Duration::from_millis(250).saturating_mul(1 << self.failures.min(6));
        AfterFailure::Retry(delay.min(LONGEST_DELAY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_and_delay_keep_the_rate() {
        for (rate, page, rows, took_ms, expected_ms) in [
            (500, 125, 125, 0, 250),
            (500, 125, 125, 100, 150),
            (500, 125, 125, 900, 0),
            (500, 125, 0, 0, 0),
            (2000, 500, 500, 50, 200),
            (1, 1, 1, 0, 1000),
            (100_000, 500, 500, 0, 5),
            (0, 500, 500, 0, 0),
        ] {
            let mut pace = RunPace::new(rate);
            assert_eq!(pace.page_size(), page, "{rate}");
            let delay = pace.record_page(rows, Duration::from_millis(took_ms));
            assert_eq!(delay, Duration::from_millis(expected_ms), "{rate} {rows} {took_ms}");
        }
    }

    #[test]
    fn outages_are_waited_out_and_refusals_end_the_run() {
        let mut pace = RunPace::new(500);
        for _ in 0..100 {
            assert!(
                matches!(pace.record_failure(true), AfterFailure::Retry(delay) if delay <= LONGEST_DELAY)
            );
        }
        for _ in 1..MOST_REFUSALS {
            assert!(matches!(pace.record_failure(false), AfterFailure::Retry(_)));
        }
        assert_eq!(pace.record_failure(false), AfterFailure::GiveUp);
        pace.record_page(1, Duration::ZERO);
        assert!(matches!(pace.record_failure(false), AfterFailure::Retry(_)), "a page starts the count anew");
    }
}
