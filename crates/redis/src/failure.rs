//! Failures of calls to a Redis server.

use redis::RedisError;
use svc_outbound::AddressError;

/// Codes of a server that is not, or no longer, the one to ask: another one may have taken its place behind the same
/// address. A connection that was served before and gets one of them is given up.
const WRONG_SERVER: [&str; 6] = ["CLUSTERDOWN", "LOADING", "MASTERDOWN", NOAUTH, "NOREPLICAS", "READONLY"];
/// The code of a server that requires a password.
const NOAUTH: &str = "NOAUTH";

/// Returns `true` for the answer of a server that says that it is the wrong one. Servers before Redis 7 repeat the code
/// in the text of a script's error.
pub(crate) fn is_wrong_server(error: &RedisError) -> bool {
    let (code, detail) = (error.code().unwrap_or_default(), error.detail().unwrap_or_default());
    WRONG_SERVER.iter().any(|wrong| code == *wrong || detail.contains(&format!("-{wrong} ")))
}

/// Returns `true` for the answer of a server that cannot serve now, and may later, or after another one took its place.
pub(crate) fn is_unavailable(error: &RedisError) -> bool {
    let code = error.code().unwrap_or_default();
    code == "TRYAGAIN" || (code != NOAUTH && is_wrong_server(error))
}

/// The failure of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedisFailure {
    /// The host may not be dialled, or has no address now.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// There is no connection, or the server cannot serve now.
    #[error("{0}")]
    Unreachable(String),
    /// The connection broke before the answer came.
    #[error("{0}")]
    Broken(String),
    /// There was no answer in time.
    #[error("{0}")]
    Timeout(String),
    /// The server was reached, and refused.
    #[error("{0}")]
    Refused(String),
}

impl RedisFailure {
    /// Returns `true` if the server may have carried the command out.
    pub fn is_unconfirmed(&self) -> bool {
        matches!(self, Self::Broken(_) | Self::Timeout(_))
    }

    /// Returns the failure of a command that was not sent because of this one.
    pub(crate) fn into_unsent(self) -> Self {
        match self {
            Self::Broken(text) | Self::Timeout(text) => Self::Unreachable(text),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use redis::{ErrorKind, RedisError, ServerErrorKind, make_extension_error};

    use super::*;

    #[test]
    fn wrong_server_differs_from_refusing_server() {
        let read_only = RedisError::from((ErrorKind::Server(ServerErrorKind::ReadOnly), "replica"));
        let script = "Error running script: @user_script: 1: -READONLY You can't write against a replica.";
        let old_script = RedisError::from((
            ErrorKind::Server(ServerErrorKind::ResponseError),
            "An error was signalled by the server",
            script.to_owned(),
        ));
        for error in [read_only, old_script, make_extension_error("NOREPLICAS".into(), None)] {
            assert!(is_wrong_server(&error) && is_unavailable(&error), "{error:?}");
        }
        let password = make_extension_error("NOAUTH".into(), None);
        assert!(is_wrong_server(&password) && !is_unavailable(&password));
        let busy = RedisError::from((ErrorKind::Server(ServerErrorKind::TryAgain), "on the move"));
        assert!(!is_wrong_server(&busy) && is_unavailable(&busy));
        for code in ["WRONGTYPE", "OOM", "MISCONF"] {
            let refused = make_extension_error(code.into(), Some("it is READONLY-like".to_owned()));
            assert!(!is_wrong_server(&refused) && !is_unavailable(&refused), "{code}");
        }
    }
}
