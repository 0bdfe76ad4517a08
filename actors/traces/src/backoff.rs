//! Pauses that grow.

use std::time::Duration;

/// Doubles from the first pause to the longest.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    next: Duration,
    longest: Duration,
}

impl Backoff {
    pub(crate) const fn new(first: Duration, longest: Duration) -> Self {
        Self { next: first, longest }
    }

    /// While the database is away: from 100 ms to 5 s.
    pub(crate) const fn of_database() -> Self {
        Self::new(Duration::from_millis(100), Duration::from_secs(5))
    }

    /// The next pause.
    pub(crate) fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.longest);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_up_to_the_longest() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_millis(350));
        let pauses: Vec<_> = (0..4).map(|_| backoff.pause().as_millis()).collect();
        assert_eq!(pauses, [100, 200, 350, 350]);
    }
}
