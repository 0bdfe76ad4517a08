//! The wait for a server that is not there yet.

use std::time::Duration;

use tokio::time::Instant;

/// First pause between attempts to reach a server; doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The time in which a server that is not there yet is tried again, and the pause before the next attempt.
#[derive(Clone, Debug)]
pub struct RetryWindow {
    end: Instant,
    pause: Duration,
}

impl RetryWindow {
    /// Begins a window. An empty one has one attempt.
    pub fn new(length: Duration) -> Self {
        Self { end: Instant::now() + length, pause: FIRST_PAUSE }
    }

    /// Returns the pause before another attempt; `None` if the window is over by then.
    pub fn next_pause(&mut self) -> Option<Duration> {
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        (Instant::now() + pause <= self.end).then_some(pause)
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
        assert_eq!(pauses, [250, 500, 1000, 2000, 4000, 5000, 5000]);
        assert_eq!(RetryWindow::new(Duration::ZERO).next_pause(), None);
    }
}
