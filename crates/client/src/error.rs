//! Errors of the client. No text holds a key or a body that was sent.

use std::error::Error as _;
use std::time::Duration;

use svc_outbound::{SetupError, describe_cause};

use crate::api_error::ApiError;

/// The reason why a request has no usable response.
///
/// ```no_run
/// use serde_json::Value;
/// use svc_client::{Client, admin_path};
///
/// # async fn show(client: &Client) {
/// match client.get::<Value>(&admin_path(&["channels", "orders"])).await {
///     Ok(channel) => println!("{channel}"),
///     Err(error) => match error.api() {
///         Some(refusal) if refusal.code == "NOT_FOUND" => println!("there is no such channel"),
///         _ => println!("{error}"),
///     },
/// }
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address of the server cannot be used.
    #[error("{text} is no server address: {cause}")]
    Address {
        /// The text that was given.
        text: String,
        /// The cause and the remedy.
        cause: String,
    },
    /// A text cannot be the name of a header.
    #[error("{item} is empty, or holds a character that the name of a header cannot have, such as a space")]
    HeaderName {
        /// The text.
        item: &'static str,
    },
    /// A value holds characters that a header cannot.
    #[error("the {item} cannot be sent in a header: it holds a line break or another control character")]
    HeaderText {
        /// The value.
        item: &'static str,
    },
    /// A trust anchor or the certificate of the client cannot be used.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// There is no connection, or no trust in the server's certificate. Nothing was sent.
    #[error("no connection to {server} ({cause})")]
    Unreachable {
        /// The server.
        server: String,
        /// The cause.
        cause: String,
    },
    /// There was no complete response in time.
    #[error("no answer from {server} within {} s", .limit.as_secs_f64())]
    Timeout {
        /// The server.
        server: String,
        /// The limit that passed.
        limit: Duration,
    },
    /// The connection broke, or the response was no HTTP.
    #[error("the answer of {server} broke off ({cause})")]
    Broken {
        /// The server.
        server: String,
        /// The cause.
        cause: String,
    },
    /// The server names another address, which is not followed.
    #[error(
        "{server} redirects to {target}; redirects are not followed, use that address if it is the server's"
    )]
    Redirect {
        /// The server.
        server: String,
        /// The address that it names.
        target: String,
    },
    /// The server refused the request.
    #[error(transparent)]
    Api(Box<ApiError>),
    /// The response is none of this API: another program answers there, or a proxy.
    #[error(
        "{server} answered {status} with {content}, which is no answer of svc-server; another program or a proxy answers there"
    )]
    Foreign {
        /// The server.
        server: String,
        /// The HTTP status.
        status: u16,
        /// The content type of the response.
        content: String,
    },
    /// The response does not have the expected shape: the server is of another version.
    #[error("the answer to {request} does not have the expected shape ({cause})")]
    Shape {
        /// Method and path of the request.
        request: String,
        /// The cause.
        cause: String,
    },
}

impl ClientError {
    pub(crate) fn from_reqwest(error: &reqwest::Error, server: String, limit: Duration) -> Self {
        if error.is_timeout() && !error.is_connect() {
            return Self::Timeout { server, limit };
        }
        // The outer errors repeat the URL; the innermost says what happened.
        let cause = error.source().map_or_else(|| error.to_string(), describe_cause);
        if error.is_connect() { Self::Unreachable { server, cause } } else { Self::Broken { server, cause } }
    }

    /// Returns the refusal of the server, if that is the reason.
    #[must_use]
    pub fn api(&self) -> Option<&ApiError> {
        match self {
            Self::Api(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the HTTP status, if there was a response.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Api(error) => Some(error.status),
            Self::Foreign { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Returns `true` if the server may have carried out the request although there is no response.
    #[must_use]
    pub fn is_outcome_unknown(&self) -> bool {
        matches!(self, Self::Timeout { .. } | Self::Broken { .. })
    }
}

impl From<ApiError> for ClientError {
    fn from(error: ApiError) -> Self {
        Self::Api(Box::new(error))
    }
}
