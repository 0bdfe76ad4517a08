//! Bounds how often the same event is logged, such as a refused caller or a full disk: the log must not fill a disk.

use std::time::Duration;

use parking_lot::Mutex;
use svc_model::ServiceError;
use tokio::time::Instant;

/// Lines of one window.
const LINES: u32 = 5;

/// The length of a window.
const WINDOW: Duration = Duration::from_secs(10);

/// Lets so many lines pass in each window, and counts the others.
#[derive(Debug, Default)]
pub struct LogRateLimit(Mutex<Window>);

#[derive(Debug, Default)]
struct Window {
    began: Option<Instant>,
    lines: u32,
    suppressed: u64,
}

impl LogRateLimit {
    /// Decides on a line: `Some` with the number of lines left out since the last one, if it may be
    /// written now.
    pub fn allow_line(&self) -> Option<u64> {
        let now = Instant::now();
        let mut window = self.0.lock();
        if window.began.is_none_or(|began| now.duration_since(began) >= WINDOW) {
            window.began = Some(now);
            window.lines = 0;
        }
        if window.lines >= LINES {
            window.suppressed += 1;
            return None;
        }
        window.lines += 1;
        Some(std::mem::take(&mut window.suppressed))
    }
}

impl LogRateLimit {
    /// Decides on a line about a failed request, as [`allow_line`](Self::allow_line) does if an outage is the cause; any
    /// other line is written.
    pub fn allow_failure(&self, error: &ServiceError) -> Option<u64> {
        if error.is_outage() { self.allow_line() } else { Some(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn suppressed_lines_are_counted_in_the_next_window() {
        let limit = LogRateLimit::default();
        let passed = |count: usize| (0..count).filter_map(|_| limit.allow_line()).collect::<Vec<_>>();
        assert_eq!(passed(100), [0, 0, 0, 0, 0]);
        tokio::time::advance(WINDOW).await;
        assert_eq!(passed(7), [95, 0, 0, 0, 0]);
        tokio::time::advance(WINDOW).await;
        assert_eq!(passed(1), [2]);
    }

    #[tokio::test(start_paused = true)]
    async fn only_failures_of_an_outage_are_bounded() {
        let limit = LogRateLimit::default();
        let passed = |error: &ServiceError| (0..100).filter(|_| limit.allow_failure(error).is_some()).count();
        assert_eq!(passed(&ServiceError::storage_unavailable("the disk is full")), 5);
        assert_eq!(passed(&ServiceError::internal_error("a panic")), 100);
    }
}
