//! What a channel actor is told.

use actix::Message;
use svc_model::ServiceError;

use crate::answer::Answer;
use crate::request::DataRequest;

/// One message for the channel. Read-only: a payload that makes the run panic costs its own answer and nothing else.
#[derive(Debug, Message)]
#[rtype(result = "Result<Answer, ServiceError>")]
pub struct Submit(pub DataRequest);

/// Asks which version of the channel the actor runs. It takes its turn in the mailbox, so an answer proves that the
/// actor lives.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "i64")]
pub struct Probe;
