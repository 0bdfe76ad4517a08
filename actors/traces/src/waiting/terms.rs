//! The terms under which work is accepted that may not run yet.

use svc_store::{DueTime, WaitReason, WaitTerms};

/// The terms under which a job is accepted that may not run yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobTerms {
    /// The instant before which it does not run.
    pub due: Option<DueTime>,
    /// The key of which it takes a share while it runs; `None` if its channel has no shares, empty for a share of the
    /// channel alone.
    pub share: Option<String>,
    /// True if its channel is paused.
    pub is_paused: bool,
    /// Most work of its channel that may wait.
    pub max_waiting: u64,
}

impl JobTerms {
    /// Returns the terms of its row. Work that is due later waits for that instant, even if its channel is paused.
    pub(crate) fn into_wait(self) -> WaitTerms {
        let reason = match self.due {
            Some(_) => WaitReason::Scheduled,
            None if self.is_paused => WaitReason::Paused,
            None => WaitReason::Share,
        };
        WaitTerms { reason, due: self.due, share: self.share }
    }
}
