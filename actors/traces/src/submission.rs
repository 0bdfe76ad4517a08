//! The row of a submission, and its outcomes.

use std::sync::Arc;

use svc_model::{Code, ServiceError};
use svc_store::{NewTrace, TraceMode, TraceStatus};
use uuid::Uuid;

use crate::job::Job;
use crate::{input, token};

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
    /// The row could not be made, or the database refused it or is away. Nothing was written.
    #[error(transparent)]
    Unwritten(ServiceError),
    /// The database did not answer: the job may run nevertheless.
    #[error(transparent)]
    Failed(ServiceError),
    /// The job began, and its row was refused or is unknown: it may have had effects, and leaves nothing to poll.
    #[error(transparent)]
    Uncertain(ServiceError),
}

/// Returns the stored input of a job.
pub(crate) fn write_input(job: &Job) -> Result<String, SubmitError> {
    input::write(job, 0).map_err(|error| {
        SubmitError::Unwritten(ServiceError::from_code(Code::SerializationError).with_internal(error))
    })
}

/// Returns the pending row of a job, without an owner. Of the token only its hash is stored.
pub(crate) fn accepted_row(job: &Job, request_id: Option<&str>, input: String, token: &str) -> NewTrace {
    NewTrace {
        channel_id: job.channel_id.clone(),
        input_json: Some(input),
        access_token_hash: Some(token::hash(token)),
        request_id: request_id.map(str::to_owned),
        run_key: job.run_key(),
        distributed_trace_id: job.distributed_trace_id(),
        ..NewTrace::new(job.trace_id, Arc::clone(&job.channel), TraceMode::Async, TraceStatus::Pending)
    }
}
