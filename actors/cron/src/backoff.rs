//! The delay between two attempts, spread so that tasks that failed together do not return together.

use std::time::Duration;

use actix_supervision::Backoff;
use svc_model::rollout;

/// A second, of which jitter takes up to three quarters.
const RETRY_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(1), max: Duration::from_secs(1), jitter: 0.75 };

/// Returns the delay before a retry of `owner`, from 250 ms to below one second. Equal arguments give equal
/// delays.
pub(crate) fn retry_delay(owner: &str, attempt: u32) -> Duration {
    // Never 0, which would take no jitter away.
    let hundredths = u64::from(rollout::bucket(&format!("{owner}:{attempt}"))) + 1;
    RETRY_BACKOFF.jittered_delay(0, u64::MAX / 100 * hundredths)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn retry_delays_are_bounded_and_differ_by_owner() {
        let delays: HashSet<Duration> = (0..1000).map(|n| retry_delay(&format!("channel-{n}"), 1)).collect();
        assert!(delays.len() > 50);
        let bounds = Duration::from_millis(250)..Duration::from_secs(1);
        assert!(delays.iter().all(|delay| bounds.contains(delay)));
    }
}
