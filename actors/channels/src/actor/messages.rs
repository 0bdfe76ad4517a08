//! What a channel actor is told.

use std::time::Duration;

use actix::Message;
use svc_model::ServiceError;
use svc_traces::{Job, JobResult};

use crate::request::DataRequest;
use crate::response::ChannelResponse;
use crate::scheduled_run::{ScheduledRun, ScheduledRunResult};

/// One message for the channel. Read-only: a payload that makes the run panic costs its own answer and nothing else.
#[derive(Debug, Message)]
#[rtype(result = "Result<ChannelResponse, ServiceError>")]
pub struct Submit(pub DataRequest);

/// An accepted job to be run now. Read-only, as [`Submit`] is.
#[derive(Debug, Message)]
#[rtype(result = "JobResult")]
pub struct RunJob {
    /// What to run.
    pub job: Job,
    /// How long it may take at most; the channel may allow less.
    pub limit: Duration,
}

/// A run that is due now. Read-only, as [`Submit`] is; it is dropped when it is called off or its caller leaves.
#[derive(Debug, Message)]
#[rtype(result = "ScheduledRunResult")]
pub struct RunScheduled(pub ScheduledRun);

/// Asks which version of the channel the actor runs. It takes its turn in the mailbox, so an answer proves that the
/// actor lives.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "i64")]
pub struct ProbeVersion;
