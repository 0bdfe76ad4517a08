//! The claim of this node on a job in line.

use std::sync::Arc;

use svc_store::Ownership;
use tokio::sync::OwnedSemaphorePermit;

/// The claim on the row of a job, and how the job is to be begun.
#[derive(Debug)]
pub(crate) struct JobClaim {
    pub(crate) ownership: Ownership,
    /// True if its start must be counted first, because a node died over it.
    pub(crate) is_recovery: bool,
    /// Its share of the jobs that are taken over at once, until it begins.
    pub(crate) share: Option<OwnedSemaphorePermit>,
    /// The turn of a job that is suspected of ending its node, until it is over.
    pub(crate) turn: Option<OwnedSemaphorePermit>,
}

impl JobClaim {
    /// On a job that this node accepted.
    pub(crate) const fn accepted(owner: Arc<str>) -> Self {
        Self::adopted(Ownership { owner, recoveries: 0 })
    }

    /// On a job that this node took over.
    pub(crate) const fn adopted(ownership: Ownership) -> Self {
        Self { ownership, is_recovery: false, share: None, turn: None }
    }
}
