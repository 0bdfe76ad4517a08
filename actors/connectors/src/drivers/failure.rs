//! Failures of calls over connections that do not speak HTTP.

use svc_engine::{ErrorCode, TaskError};
use svc_outbound::AddressError;

/// The failure of a call. Texts name the place and the event, never a secret or an argument of the call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallFailure {
    /// The host may not be dialled, or has no address now.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The settings lead to addresses that cannot be checked; the text begins with the protection that refuses.
    #[cfg(feature = "kafka")]
    #[error("{0}")]
    Forbidden(&'static str),
    /// There is no connection, or it broke off.
    #[error("{0}")]
    Unreachable(String),
    /// There was no answer in time.
    #[error("{0}")]
    Timeout(String),
    /// The system was reached, and refused.
    #[error("{0}")]
    Refused(String),
}

impl CallFailure {
    /// Converts to the error of a task over this connector.
    pub(crate) fn to_task_error(&self, connector: &str) -> TaskError {
        let code = match self {
            Self::Address(AddressError::Unresolved { .. }) | Self::Unreachable(_) => ErrorCode::Io,
            Self::Timeout(_) => ErrorCode::Timeout,
            Self::Address(AddressError::Malformed(_)) | Self::Refused(_) => ErrorCode::Function,
            #[cfg(feature = "kafka")]
            Self::Forbidden(refused) => return TaskError::new(ErrorCode::Function, *refused),
            // Its text begins with its own subject, "SSRF protection".
            Self::Address(refused) => return TaskError::new(ErrorCode::Function, refused.to_string()),
        };
        TaskError::new(code, format!("connector '{connector}': {self}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_call_is_not_retryable_unreachable_one_is() {
        let host = || "cache.example".to_owned();
        for (failure, code, retryable) in [
            (CallFailure::Unreachable("gone".into()), "IO_ERROR", true),
            (CallFailure::Timeout("late".into()), "TIMEOUT_ERROR", true),
            (CallFailure::Refused("no".into()), "FUNCTION_ERROR", false),
            (AddressError::Unresolved { host: host(), cause: "none".into() }.into(), "IO_ERROR", true),
        ] {
            let error = failure.to_task_error("c");
            assert_eq!((error.code.name(), error.retryable()), (code, retryable));
            assert!(error.message.starts_with("connector 'c': "), "{}", error.message);
        }
        let forbidden = AddressError::Forbidden { host: host(), address: [127, 0, 0, 1].into() };
        let error = CallFailure::from(forbidden).to_task_error("c");
        assert_eq!((error.code.name(), error.retryable()), ("FUNCTION_ERROR", false));
        assert!(error.message.starts_with("SSRF protection: "), "{}", error.message);
    }
}
