//! Messages of a job.

use actix::Message;

/// Requests the next run.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Due;
