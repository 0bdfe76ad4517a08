//! The errors of a call to a channel actor, as its caller gets them.

use actix_supervision::{CallError, CallErrorKind};
use svc_model::{Code, ServiceError};

/// Builds the 503 of a quarantined channel. It carries no `Retry-After`: waiting does not help. The reason
/// may name paths and settings, so it is in the log and in `/health` for operators, never in the response.
pub fn quarantined() -> ServiceError {
    ServiceError::unavailable(UNAVAILABLE)
}

/// Problems of fields in the text of a refusal.
const SHOWN_PROBLEMS: usize = 5;

/// The message of a channel that is quarantined, to callers and in the traces they can read.
pub const UNAVAILABLE: &str = "Channel is unavailable";

/// Builds the 503 of a channel that has no capacity now.
pub fn at_capacity(channel: &str) -> ServiceError {
    ServiceError::at_capacity(format!("Channel '{channel}' is at capacity"))
}

/// Builds the 503 of a channel that takes no messages any more: its node ends, or another version takes its place.
pub fn stopping(channel: &str) -> ServiceError {
    ServiceError::unavailable(format!("Channel '{channel}' is stopping")).with_retry_after(1)
}

/// Builds the 500 of a message whose run crashed.
pub(crate) fn crashed() -> ServiceError {
    ServiceError::new(Code::InternalError, "Internal server error")
}

/// Describes the refusal of a message that has no caller, with the first problems of its fields.
pub(crate) fn describe_guard_refusal(error: &ServiceError) -> String {
    let problems = error.details().iter().take(SHOWN_PROBLEMS).map(ToString::to_string);
    let problems: Vec<_> = problems.collect();
    match (error.details().len().saturating_sub(problems.len()), problems.as_slice()) {
        (_, []) => format!("guard_refused: {}", error.message()),
        (0, _) => format!("guard_refused: {}", problems.join("; ")),
        (more, _) => format!("guard_refused: {}; and {more} more", problems.join("; ")),
    }
}

/// Converts the error of a call to the channel of that name.
pub fn from_call_error<M>(channel: &str, error: &CallError<M>) -> ServiceError {
    match &error.kind {
        CallErrorKind::Full => at_capacity(channel),
        CallErrorKind::Draining | CallErrorKind::Stopped => stopping(channel),
        CallErrorKind::Restarting { retry_after } => {
            let seconds = retry_after.as_secs() + u64::from(retry_after.subsec_nanos() > 0);
            ServiceError::unavailable(format!("Channel '{channel}' is restarting"))
                .with_retry_after(u32::try_from(seconds.max(1)).unwrap_or(u32::MAX))
        }
        CallErrorKind::Quarantined { reason } => quarantined().with_internal(reason),
        CallErrorKind::Crashed => {
            crashed().with_internal(format!("channel '{channel}' crashed while it handled the message"))
        }
        CallErrorKind::Expired => {
            ServiceError::timeout(format!("Channel '{channel}' did not answer in time"))
        }
    }
}
