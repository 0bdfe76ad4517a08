//! Bounds how often a channel logs that it refused a caller: whoever is refused must not fill a disk.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Lines of one window.
const LINES: u32 = 5;

/// The length of a window.
const WINDOW: Duration = Duration::from_secs(10);

/// Lets so many lines pass in each window, and counts the others.
#[derive(Debug, Default)]
pub(super) struct LogRateLimit(Mutex<Window>);

#[derive(Debug, Default)]
struct Window {
    began: Option<Instant>,
    lines: u32,
    suppressed: u64,
}

impl LogRateLimit {
    /// Decides on a line: `Some` with the number of lines left out since the last one, where it may be
    /// written now.
    pub(super) fn allow_line(&self) -> Option<u64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn lines_of_a_window_are_bounded_and_the_next_one_tells_how_many_were_left_out() {
        let limit = LogRateLimit::default();
        let passed = |count: usize| (0..count).filter_map(|_| limit.allow_line()).collect::<Vec<_>>();
        assert_eq!(passed(100), [0, 0, 0, 0, 0]);
        tokio::time::advance(WINDOW).await;
        assert_eq!(passed(7), [95, 0, 0, 0, 0]);
        tokio::time::advance(WINDOW).await;
        assert_eq!(passed(1), [2]);
    }
}
