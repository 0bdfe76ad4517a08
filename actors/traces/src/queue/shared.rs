//! The state of the queue that survives a restart of its actor.

use std::sync::Arc;

use super::adoption::Adoption;
use super::job_queue::JobQueue;
use crate::cancel::watch::CancelWatch;
use crate::waiting::WaitingClaimer;

/// State shared by every instance of the actor.
pub(crate) struct QueueShared {
    /// The jobs that wait for a worker.
    pub(crate) waiting: Arc<JobQueue>,
    /// The takeover of work that nodes without a lease left.
    pub(crate) adoption: Arc<Adoption>,
    /// The claims of work that waits in the database.
    pub(crate) claimer: Arc<WaitingClaimer>,
    /// The watch for orders to cancel.
    pub(crate) cancels: Arc<CancelWatch>,
}
