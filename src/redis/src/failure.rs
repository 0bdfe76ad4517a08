//! Failures of calls to a Redis server.

use svc_outbound::AddressError;

/// The failure of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedisFailure {
    /// The host may not be dialled, or has no address now.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// There is no connection, it broke off, or the server cannot serve now.
    #[error("{0}")]
    Unreachable(String),
    /// There was no answer in time.
    #[error("{0}")]
    Timeout(String),
    /// The server was reached, and refused.
    #[error("{0}")]
    Refused(String),
}
