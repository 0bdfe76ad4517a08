//! The decision on a run that another node left unfinished: pure, no clock, no I/O.

use std::time::Duration;

use actix_supervision::Backoff;

/// Delays before a run is started again after its node died over it.
const SUSPECT_BACKOFF: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(8));

/// The way in which a run that was taken over continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// It was handed back in good order, and is begun as if for the first time.
    Resume,
    /// It may have ended its node, like everything else that ran there: it is begun again, and that is counted.
    Recover,
    /// It was running when a node died more than once: it is begun again alone among its like and after a pause, so
    /// that what stands behind it is served before.
    Suspect(Duration),
    /// It was begun again as often as it may be.
    Exhausted,
}

impl Recovery {
    /// Decides how a run with that many restarts continues, of at most `max_recoveries`.
    pub(crate) fn decide(recoveries: i64, is_handed_back: bool, max_recoveries: u32) -> Self {
        match u32::try_from(recoveries).unwrap_or(0) {
            _ if is_handed_back => Self::Resume,
            count if count >= max_recoveries => Self::Exhausted,
            0 => Self::Recover,
            count => Self::Suspect(SUSPECT_BACKOFF.delay(count - 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_is_begun_again_so_often_and_then_fails() {
        let decided: Vec<_> = (0..4).map(|count| Recovery::decide(count, false, 3)).collect();
        let suspect = |millis| Recovery::Suspect(Duration::from_millis(millis));
        assert_eq!(decided, [Recovery::Recover, suspect(500), suspect(1000), Recovery::Exhausted]);
        assert_eq!(Recovery::decide(40, false, 1000), Recovery::Suspect(SUSPECT_BACKOFF.max));
    }

    #[test]
    fn run_that_was_handed_back_is_no_recovery() {
        for count in [0, 1, 5, 99] {
            assert_eq!(Recovery::decide(count, true, 5), Recovery::Resume);
        }
    }
}
