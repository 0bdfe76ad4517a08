//! The claim of this node on a queued job.

use std::sync::Arc;

use svc_store::Ownership;
use tokio::sync::OwnedSemaphorePermit;

use crate::early_start::EarlyStart;

/// The claim on the row of a job, with the conditions under which the job begins.
#[derive(Debug)]
pub(crate) struct JobClaim {
    pub(crate) ownership: Ownership,
    /// True if the start is recorded in the database before the job runs, because a node died while it ran
    /// the job.
    pub(crate) is_recovery: bool,
    /// Permit of a job that is suspected of crashing its node: one such job runs at a time. Released when the
    /// job ends.
    pub(crate) turn: Option<OwnedSemaphorePermit>,
    /// True if the job waited in the database, to which it returns if its channel has no permit.
    pub(crate) has_waited: bool,
    /// True if it takes a share of its channel, for which others may wait.
    pub(crate) is_shared: bool,
    /// Set for a submission that may begin before its row is on disk.
    pub(crate) early: Option<Arc<EarlyStart>>,
}

impl JobClaim {
    /// Claims a job that this node accepted.
    pub(crate) const fn for_accepted(owner: Arc<str>) -> Self {
        Self::for_adopted(Ownership { owner, recoveries: 0 })
    }

    /// Claims a job that this node took over from another one.
    pub(crate) const fn for_adopted(ownership: Ownership) -> Self {
        Self { ownership, is_recovery: false, turn: None, has_waited: false, is_shared: false, early: None }
    }

    /// Begins the job. Returns `false` if its submission has withdrawn it.
    pub(crate) fn begin(&self) -> bool {
        self.early.as_ref().is_none_or(|early| early.begin())
    }
}
