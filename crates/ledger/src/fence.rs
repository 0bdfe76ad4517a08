//! The time after which a worker must assume that its lease is lost.

use std::time::Duration;

/// Returns the time after which a run is cancelled, counted from the instant at which the last successful
/// renewal was
/// *sent*.
///
/// The result is the lease minus a margin. The margin is one heartbeat, but at most half of the time that the
/// lease leaves after one heartbeat. A run therefore ends before another worker may take it over, and a
/// single late renewal does not end it.
pub fn lease_fence(lease: Duration, heartbeat: Duration) -> Duration {
    let margin = heartbeat.min(lease.saturating_sub(heartbeat) / 2);
    lease.saturating_sub(margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ends_between_heartbeat_and_lease_end() {
        let seconds = Duration::from_secs;
        assert_eq!(lease_fence(seconds(60), seconds(15)), seconds(45));
        assert_eq!(lease_fence(seconds(5), seconds(4)), Duration::from_millis(4500));
        for lease in 2..100 {
            for heartbeat in 1..lease {
                let fence = lease_fence(seconds(lease), seconds(heartbeat));
                assert!(fence < seconds(lease) && fence > seconds(heartbeat), "{lease} {heartbeat}");
            }
        }
    }
}
