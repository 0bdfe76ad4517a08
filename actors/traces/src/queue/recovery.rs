//! Decision about a run that another node left unfinished: pure, no clock, no I/O.

use std::time::Duration;

use actix_supervision::Backoff;

/// Delays before a run is started again after its node died over it.
const SUSPECT_BACKOFF: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(8));

/// The way in which a run that was taken over continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// Its node gave the run back at its shutdown. It begins as if for the first time.
    Resume,
    /// The run may have crashed its node, like every other run there. It is restarted, and the restart is
    /// counted.
    Recover,
    /// The run was active when more than one node died. It is restarted after a pause, one suspect at a time,
    /// so that the jobs behind it are served first.
    Suspect(Duration),
    /// The run was restarted as often as allowed.
    Exhausted,
}

impl Recovery {
    /// Returns the decision for a run with that many `recoveries`, of at most `max_recoveries`.
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
