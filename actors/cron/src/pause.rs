//! Pauses between two tries, spread so that those who failed together do not return together.

use std::time::Duration;

use svc_model::rollout;

/// The shortest pause.
const SHORTEST: Duration = Duration::from_millis(250);
/// What chance may add, in hundredths.
const STEP: Duration = Duration::from_millis(7);

/// The pause of `who` before its next try, below a second.
pub(crate) fn pause(who: &str, attempt: u32) -> Duration {
    SHORTEST + STEP * u32::from(rollout::bucket(&format!("{who}:{attempt}")))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_pause_is_below_a_second_and_not_the_same_for_all() {
        let pauses: HashSet<Duration> = (0..1000).map(|n| pause(&format!("channel-{n}"), 1)).collect();
        assert!(pauses.len() > 50);
        assert!(pauses.iter().all(|pause| (SHORTEST..Duration::from_secs(1)).contains(pause)));
    }
}
