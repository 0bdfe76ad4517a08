//! The minimum transfer rate, as arithmetic on given instants.

use std::time::Duration;

use tokio::time::Instant;

/// Time limits of the connections of one listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionTimeouts {
    /// Time from a new connection, or the first byte of a request, to the end of that request's head.
    pub head: Duration,
    /// Time from a response to the first byte of the next request.
    pub keep_alive: Duration,
    /// Time for a whole body.
    pub body: Duration,
    /// Period over which the transfer rate is measured.
    pub window: Duration,
    /// Bytes that must move within one window; 0 asks for none.
    pub window_bytes: u64,
}

impl ConnectionTimeouts {
    /// The shortest limit: a timer that fires this often never fires late for any of them.
    pub(crate) fn shortest(&self) -> Duration {
        self.head.min(self.keep_alive).min(self.body).min(self.window)
    }
}

/// The bytes moved in the current measuring period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransferWindow {
    start: Instant,
    moved: u64,
}

impl TransferWindow {
    pub(crate) fn starting_at(now: Instant) -> Self {
        Self { start: now, moved: 0 }
    }

    /// Counts bytes that were transferred in this window.
    pub(crate) fn record(&mut self, bytes: usize) {
        self.moved = self.moved.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    /// The instant at which this period is judged.
    pub(crate) fn ends_at(&self, timeouts: &ConnectionTimeouts) -> Instant {
        self.start + timeouts.window
    }

    /// Judges the period if it is over. Returns `true` if too little moved; otherwise the next one begins.
    pub(crate) fn is_too_slow(&mut self, now: Instant, timeouts: &ConnectionTimeouts) -> bool {
        if now < self.ends_at(timeouts) {
            return false;
        }
        if self.moved < timeouts.window_bytes.max(1) {
            return true;
        }
        *self = Self::starting_at(now);
        false
    }

    /// Excludes time in which this thread did not run.
    pub(crate) fn shift(&mut self, missed: Duration, now: Instant) {
        self.start = (self.start + missed).min(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ConnectionTimeouts = ConnectionTimeouts {
        head: Duration::from_secs(10),
        keep_alive: Duration::from_secs(75),
        body: Duration::from_secs(300),
        window: Duration::from_secs(30),
        window_bytes: 1_000,
    };

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[tokio::test(start_paused = true)]
    async fn window_with_enough_bytes_is_followed_by_the_next() {
        let start = Instant::now();
        let mut window = TransferWindow::starting_at(start);
        window.record(1_000);
        assert!(!window.is_too_slow(start + seconds(29), &LIMITS));
        assert!(!window.is_too_slow(start + seconds(30), &LIMITS));
        assert_eq!(window, TransferWindow::starting_at(start + seconds(30)));
        window.record(999);
        assert!(window.is_too_slow(start + seconds(60), &LIMITS));
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_too_slow_even_without_a_rate() {
        let start = Instant::now();
        let limits = ConnectionTimeouts { window_bytes: 0, ..LIMITS };
        let mut window = TransferWindow::starting_at(start);
        window.record(1);
        assert!(!window.is_too_slow(start + seconds(30), &limits));
        assert!(window.is_too_slow(start + seconds(60), &limits));
    }

    #[tokio::test(start_paused = true)]
    async fn missed_time_shifts_the_window_to_now() {
        let start = Instant::now();
        let mut window = TransferWindow::starting_at(start);
        window.shift(seconds(20), start + seconds(40));
        assert!(!window.is_too_slow(start + seconds(40), &LIMITS));
        window.shift(seconds(500), start + seconds(45));
        assert_eq!(window, TransferWindow::starting_at(start + seconds(45)));
    }

    #[test]
    fn the_timer_runs_at_the_shortest_limit() {
        assert_eq!(LIMITS.shortest(), seconds(10));
    }
}
