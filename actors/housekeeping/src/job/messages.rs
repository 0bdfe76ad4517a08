//! The messages of a job.

use actix::Message;

/// It is time for the next run.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Due;
