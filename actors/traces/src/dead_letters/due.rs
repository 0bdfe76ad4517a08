//! The instant at which the next dead letter is due, as far as this process knows.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The reason for a look for due letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookReason {
    /// A letter is known to be due.
    Due,
    /// The poll interval has passed.
    Poll,
}

/// A timer for the retries of dead letters: set by the writers of letters, awaited by the actor that retries
/// them.
#[derive(Debug)]
pub(crate) struct DueTimer(watch::Sender<Option<Instant>>);

impl DueTimer {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    /// Records that a letter is due after `delay`. The earliest instant wins.
    pub(crate) fn record(&self, delay: Duration) {
        let at = Instant::now() + delay;
        self.0.send_if_modified(|earliest| {
            let is_earlier = earliest.is_none_or(|known| at < known);
            if is_earlier {
                *earliest = Some(at);
            }
            is_earlier
        });
    }

    /// Clears the recorded instant. The caller reads all letters next.
    pub(crate) fn reset(&self) {
        self.0.send_replace(None);
    }

    /// Waits until a letter is due, at most for `longest`. Returns which of the two came first. Cancel-safe.
    pub(crate) async fn wait(&self, longest: Duration) -> LookReason {
        let (mut changes, latest) = (self.0.subscribe(), Instant::now() + longest);
        loop {
            let noted = *changes.borrow_and_update();
            tokio::select! {
                () = sleep_until(noted.map_or(latest, |at| at.min(latest))) => {
                    let is_due = noted.is_some_and(|at| at <= latest);
                    return if is_due { LookReason::Due } else { LookReason::Poll };
                }
                // The sender is part of `self`, so the channel cannot be closed.
                _ = changes.changed() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    async fn measure_wait(timer: &DueTimer) -> Duration {
        let begun = Instant::now();
        timer.wait(30 * SECOND).await;
        begun.elapsed()
    }

    fn is_about(waited: Duration, seconds: u32) -> bool {
        waited >= seconds * SECOND && waited < seconds * SECOND + SECOND / 2
    }

    #[tokio::test(start_paused = true)]
    async fn earliest_letter_or_poll_ends_the_wait() {
        let timer = DueTimer::new();
        assert!(is_about(measure_wait(&timer).await, 30));
        timer.record(8 * SECOND);
        timer.record(2 * SECOND);
        timer.record(4 * SECOND);
        assert!(is_about(measure_wait(&timer).await, 2));
        timer.reset();
        timer.record(100 * SECOND);
        assert!(is_about(measure_wait(&timer).await, 30), "no longer than a poll");
    }

    #[tokio::test(start_paused = true)]
    async fn letter_that_is_written_during_the_wait_shortens_it() {
        let timer = DueTimer::new();
        timer.record(20 * SECOND);
        let later = async {
            tokio::time::advance(3 * SECOND).await;
            timer.record(SECOND);
        };
        let (waited, ()) = tokio::join!(measure_wait(&timer), later);
        assert!(is_about(waited, 4), "{waited:?}");
    }
}
