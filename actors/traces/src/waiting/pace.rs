//! The size of the pages in which waiting work is claimed: pure, no clock, no I/O.

use std::time::Duration;

use tokio::time::Instant;

/// Most rows claimed at once. Each may be as large as a payload.
const LARGEST_PAGE: usize = 128;
/// Most rows claimed for one free worker.
const MOST_FOR_WORKER: usize = 16;
/// Time within which a full page must have begun for the next one to be larger.
const SHORT: Duration = Duration::from_millis(50);

/// The pace of claims: a page has a row for each free worker, and more while pages begin faster than they are claimed.
#[derive(Debug)]
pub(super) struct ClaimPace {
    for_worker: usize,
    /// The instant at which the last page was full.
    full_since: Option<Instant>,
}

impl ClaimPace {
    pub(super) const fn new() -> Self {
        Self { for_worker: 1, full_since: None }
    }

    /// Returns the size of the next page for that many free workers.
    pub(super) fn next_page(&mut self, free: usize, now: Instant) -> usize {
        let is_fast =
            self.full_since.take().is_some_and(|since| now.saturating_duration_since(since) < SHORT);
        self.for_worker = if is_fast { (self.for_worker * 2).min(MOST_FOR_WORKER) } else { 1 };
        free.saturating_mul(self.for_worker).clamp(1, LARGEST_PAGE)
    }

    /// Records that a page was full.
    pub(super) fn record_full_page(&mut self, now: Instant) {
        self.full_since = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_grows_while_full_pages_begin_at_once() {
        let (mut pace, begun) = (ClaimPace::new(), Instant::now());
        let mut pages = Vec::new();
        for turn in 0..6 {
            let now = begun + turn * Duration::from_millis(10);
            pages.push(pace.next_page(4, now));
            pace.record_full_page(now);
        }
        assert_eq!(pages, [4, 8, 16, 32, 64, 64]);
        assert_eq!(pace.next_page(9, begun + Duration::from_millis(60)), LARGEST_PAGE);
        assert_eq!(pace.next_page(4, begun + Duration::from_millis(70)), 4, "the page was not full");
        pace.record_full_page(begun);
        assert_eq!(pace.next_page(4, begun + Duration::from_secs(1)), 4, "its work runs long");
    }
}
