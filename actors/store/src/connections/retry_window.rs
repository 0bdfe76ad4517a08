//! The wait for a server that is not there yet.

use std::time::Duration;

use actix_supervision::{Backoff, BackoffDelays};
use tokio::time::Instant;

/// Pauses between attempts to reach a server.
const CONNECT_BACKOFF: Backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(5));

/// The time in which a server that is not there yet is tried again, and the pause before the next attempt.
#[derive(Clone, Debug)]
pub struct RetryWindow {
    end: Instant,
    delays: BackoffDelays,
}

impl RetryWindow {
    /// Begins a window. An empty one has one attempt.
    pub fn new(length: Duration) -> Self {
        Self { end: Instant::now() + length, delays: CONNECT_BACKOFF.delays() }
    }

    /// Returns the pause before another attempt, the last of which is at the end of the window; `None` after it.
    pub fn next_pause(&mut self) -> Option<Duration> {
        let left = self.end.saturating_duration_since(Instant::now());
        let pause = self.delays.next_delay().min(left);
        (!pause.is_zero()).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_double_and_end_with_the_window() {
        let mut window = RetryWindow::new(Duration::from_secs(20));
        let mut pauses = Vec::new();
        while let Some(pause) = window.next_pause() {
            pauses.push(pause.as_millis());
            advance(pause).await;
        }
        assert_eq!(pauses, [250, 500, 1000, 2000, 4000, 5000, 5000, 2250]);
        assert_eq!(RetryWindow::new(Duration::ZERO).next_pause(), None);
    }
}
