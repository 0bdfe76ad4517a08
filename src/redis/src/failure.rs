//! Failures of calls to a Redis server.

use svc_outbound::AddressError;

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
