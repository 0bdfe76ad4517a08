//! Idle connections that wait for the next mail.

use std::time::Duration;

use tokio::time::Instant;

/// Most idle connections.
const MOST: usize = 4;
/// Time after which an idle connection is closed.
pub(super) const AGE: Duration = Duration::from_secs(60);

/// The connections that wait, the one that has waited longest first.
pub(super) struct Idle<C> {
    parked: Vec<(C, Instant)>,
}

impl<C> Default for Idle<C> {
    fn default() -> Self {
        Self { parked: Vec::new() }
    }
}

impl<C> Idle<C> {
    /// Removes and returns the connection used last, if it was not idle too long.
    pub(super) fn take(&mut self, now: Instant) -> Option<C> {
        self.parked.pop_if(|(_, since)| now < *since + AGE).map(|(connection, _)| connection)
    }

    /// Keeps a connection; returns the one that is too many.
    pub(super) fn park(&mut self, connection: C, now: Instant) -> Option<C> {
        self.parked.push((connection, now));
        (self.parked.len() > MOST).then(|| self.parked.remove(0).0)
    }

    /// Removes and returns the connections that were idle too long.
    pub(super) fn remove_expired(&mut self, now: Instant) -> Vec<C> {
        let expired = self.parked.partition_point(|(_, since)| now >= *since + AGE);
        self.parked.drain(..expired).map(|(connection, _)| connection).collect()
    }

    /// Drops all connections.
    pub(super) fn clear(&mut self) {
        self.parked.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_four_idle_newest_used_first() {
        let now = Instant::now();
        let mut idle = Idle::default();
        let surplus: Vec<_> = (0..6).filter_map(|number| idle.park(number, now)).collect();
        assert_eq!(surplus, [0, 1]);
        let taken: Vec<_> = std::iter::from_fn(|| idle.take(now)).collect();
        assert_eq!(taken, [5, 4, 3, 2]);
    }

    #[test]
    fn none_waits_longer_than_a_minute() {
        let start = Instant::now();
        let mut idle = Idle::default();
        let later = |seconds| start + Duration::from_secs(seconds);
        idle.park("old", start);
        idle.park("young", later(30));
        assert!(idle.remove_expired(later(59)).is_empty());
        assert_eq!(idle.remove_expired(later(60)), ["old"]);
        assert_eq!(idle.take(later(89)), Some("young"));
        idle.park("young", later(30));
        assert_eq!(idle.take(later(90)), None);
        assert_eq!(idle.remove_expired(later(90)), ["young"]);
    }
}
