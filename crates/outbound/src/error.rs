//! Errors of outbound requests. Texts name the host and the cause, never a path, a query or a credential.

use std::error::Error;
use std::time::Duration;

use crate::address::AddressError;
use crate::cause::describe_cause;

/// The reason why a client cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A trust anchor that was given cannot be read.
    #[error("a trust anchor cannot be used ({0})")]
    Anchor(String),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up ({0})")]
    Tls(String),
    /// The client cannot be set up.
    #[error("the HTTP client cannot be set up ({0})")]
    Client(String),
}

/// The reason why a request has no response.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The address may not be dialled, or the name has none. Nothing was sent. Trying again is of no use, but
    /// for a name that is [unresolved](AddressError::Unresolved) now and may have an address later.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// No complete response within the time limit.
    #[error("no answer from '{host}' within {} ms", .limit.as_millis())]
    Timeout {
        /// The host asked, with its port if the URL names one.
        host: String,
        /// The limit that passed.
        limit: Duration,
    },
    /// No connection, or no trust in the peer's certificate.
    #[error("no connection to '{host}' ({cause})")]
    Connect {
        /// The host asked, with its port if the URL names one.
        host: String,
        cause: String,
    },
    /// The connection or the answer broke off, or was no HTTP.
    #[error("the answer of '{host}' broke off ({cause})")]
    Broken {
        /// The host asked, with its port if the URL names one.
        host: String,
        cause: String,
    },
    /// The answer is a redirect that is not followed.
    #[error("the redirect of '{host}' is not followed ({cause})")]
    Redirect {
        /// The host that sent it.
        host: String,
        cause: String,
    },
    /// The answer is longer than the caller takes.
    #[error("the answer of '{host}' is longer than {cap} bytes")]
    TooLarge {
        /// The host asked, with its port if the URL names one.
        host: String,
        /// Maximum length that the caller accepts, in bytes.
        cap: usize,
    },
}

impl FetchError {
    pub(crate) fn from_reqwest(error: &reqwest::Error, host: String, limit: Duration) -> Self {
        if let Some(refused) = causes(error).find_map(|cause| cause.downcast_ref::<AddressError>()) {
            return Self::Address(refused.clone());
        }
        if error.is_timeout() {
            return Self::Timeout { host, limit };
        }
        // The outer errors repeat the URL; the innermost says what happened.
        let cause = error.source().map(describe_cause).unwrap_or_default();
        if error.is_connect() { Self::Connect { host, cause } } else { Self::Broken { host, cause } }
    }
}

/// Returns the sources of an error, the innermost last.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}
