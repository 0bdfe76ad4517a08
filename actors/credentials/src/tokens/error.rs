//! The error of a token that cannot be obtained.

use std::sync::Arc;
use std::time::Duration;

use svc_outbound::AddressError;

/// A token that cannot be obtained. The texts name the connector, the status and the code of the token
/// endpoint, and never the rest of its answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It was refused, or the settings can bring none: asking again is of no use until something changes.
    #[error("connector '{connector}': {reason}")]
    Rejected {
        /// Name of the connector.
        connector: Arc<str>,
        /// The cause.
        reason: String,
    },
    /// The token endpoint may not be asked.
    #[error(transparent)]
    Forbidden(AddressError),
    /// There is none now; asking again may help.
    #[error("connector '{connector}': {reason}")]
    Unavailable {
        /// Name of the connector.
        connector: Arc<str>,
        /// The cause.
        reason: String,
        /// The wait that the token endpoint asked for.
        retry_after: Option<Duration>,
    },
}

impl TokenError {
    pub(crate) fn rejected(connector: &Arc<str>, reason: impl Into<String>) -> Self {
        Self::Rejected { connector: Arc::clone(connector), reason: reason.into() }
    }

    pub(crate) fn unavailable(connector: &Arc<str>, reason: impl Into<String>) -> Self {
        Self::Unavailable { connector: Arc::clone(connector), reason: reason.into(), retry_after: None }
    }

    /// Returns the wait that the token endpoint asked for, if it is busy.
    pub(crate) const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Unavailable { retry_after, .. } => *retry_after,
            Self::Rejected { .. } | Self::Forbidden(_) => None,
        }
    }

    /// Returns `true` if an immediate retry is pointless.
    pub const fn is_final(&self) -> bool {
        !matches!(self, Self::Unavailable { .. })
    }
}
