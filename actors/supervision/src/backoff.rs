//! Exponential backoff: the delays between attempts of whatever is tried again.

use std::time::Duration;

use serde::Serialize;

/// An exponential delay between attempts: `first` before the first retry, twice as long before each further
/// one, at most `max`.
///
/// ```
/// use std::time::Duration;
///
/// use actix_supervision::Backoff;
///
/// let backoff = Backoff::new(Duration::from_millis(100), Duration::from_millis(350));
/// let delays = [0, 1, 2, 3].map(|retry| backoff.delay(retry).as_millis());
/// assert_eq!(delays, [100, 200, 350, 350]);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Backoff {
    /// Delay before the first retry.
    pub first: Duration,
    /// Upper bound of every delay.
    pub max: Duration,
    /// Share of a delay, 0 to 1, that jitter may take away, so that tasks that failed together do not return
    /// together. 0 makes every delay exact.
    pub jitter: f64,
}

impl Default for Backoff {
    /// 10 ms doubling to 5 s, of which jitter takes up to a fifth.
    fn default() -> Self {
        Self { first: Duration::from_millis(10), max: Duration::from_secs(5), jitter: 0.2 }
    }
}

impl Backoff {
    /// Creates a backoff without jitter.
    pub const fn new(first: Duration, max: Duration) -> Self {
        Self { first, max, jitter: 0.0 }
    }

    /// Returns the delay before a retry, without jitter; `retry` counts from 0.
    pub fn delay(&self, retry: u32) -> Duration {
        let factor = 1u32.checked_shl(retry).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.max)
    }

    /// Returns the delay before a retry with its jitter; `random` is a uniformly distributed number.
    pub fn jittered_delay(&self, retry: u32, random: u64) -> Duration {
        let exact = self.delay(retry);
        let share = if self.jitter.is_nan() { 0.0 } else { self.jitter.clamp(0.0, 1.0) };
        let factor = 1.0 - share * (random as f64 / u64::MAX as f64);
        Duration::try_from_secs_f64(exact.as_secs_f64() * factor).map_or(exact, |delay| delay.min(exact))
    }

    /// Starts a sequence of delays, without jitter.
    pub const fn delays(self) -> BackoffDelays {
        BackoffDelays { backoff: self, retry: 0 }
    }
}

/// The growing delays of one sequence of attempts.
#[derive(Debug, Clone)]
pub struct BackoffDelays {
    backoff: Backoff,
    retry: u32,
}

impl BackoffDelays {
    /// Returns the delay before the next retry.
    pub fn next_delay(&mut self) -> Duration {
        let delay = self.backoff.delay(self.retry);
        self.retry = self.retry.saturating_add(1);
        delay
    }

    /// Starts over from the first delay, as after a success.
    pub fn reset(&mut self) {
        self.retry = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_to_maximum_until_reset() {
        let mut delays = Backoff::new(Duration::from_millis(100), Duration::from_millis(350)).delays();
        let first: Vec<_> = (0..4).map(|_| delays.next_delay().as_millis()).collect();
        assert_eq!(first, [100, 200, 350, 350]);
        delays.reset();
        assert_eq!(delays.next_delay(), Duration::from_millis(100));
    }

    #[test]
    fn largest_retry_does_not_overflow() {
        let backoff = Backoff::new(Duration::from_secs(1), Duration::MAX);
        assert_eq!(backoff.delay(u32::MAX), Duration::from_secs(u64::from(u32::MAX)));
    }

    #[test]
    fn jitter_takes_at_most_its_share() {
        let backoff = Backoff { jitter: 0.5, ..Backoff::new(Duration::from_secs(2), Duration::from_secs(2)) };
        assert_eq!(backoff.jittered_delay(0, 0), Duration::from_secs(2));
        assert_eq!(backoff.jittered_delay(7, u64::MAX), Duration::from_secs(1));
    }
}
