//! The outcomes of a submission.

use svc_model::ServiceError;
use uuid::Uuid;

/// The answer to an accepted submission. Its row is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedJob {
    /// Id of the trace to poll.
    pub trace_id: Uuid,
    /// Token that authorizes reading the trace: 32 hexadecimal digits. Only its SHA-256 is stored.
    pub trace_token: String,
}

/// The reason why a job was not accepted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SubmitError {
    /// The queue is full or closed. Nothing was written.
    #[error(transparent)]
    Shed(ServiceError),
    /// The database refused the row or is away. Nothing was written.
    #[error(transparent)]
    Unwritten(ServiceError),
    /// The row could not be made, or the database did not answer: then the job may run nevertheless.
    #[error(transparent)]
    Failed(ServiceError),
    /// The job began, and its row was refused or is unknown: it may have had effects, and leaves nothing to poll.
    #[error(transparent)]
    Uncertain(ServiceError),
}
