//! Errors of a MongoDB deployment. No text repeats anything of a connection string.

use std::time::Duration;

use mongodb::error::{Error, ErrorKind, WriteFailure};
use svc_engine::{ErrorCode, TaskError};
use svc_outbound::AddressError;

use crate::drivers::integrity::Integrity;

/// Bytes of a server's own text that an error shows.
const SHOWN: usize = 512;
/// Code of a server that gave up at its time limit.
const MAX_TIME_EXPIRED: i32 = 50;
/// Codes of a server that is not, or no longer, the primary: it was stepped down, ends, or recovers. A later attempt
/// may find another.
const NOT_PRIMARY: [i32; 8] = [91, 189, 10_058, 10_107, 11_600, 11_602, 13_435, 13_436];
/// Codes of a server that lost a connection of its own.
const NETWORK: [i32; 4] = [6, 7, 89, 9001];

/// The failure of an operation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum MongoError {
    /// No server is reachable, or the connection broke.
    #[error("{0}")]
    Unreachable(String),
    /// The server is not, or no longer, the primary.
    #[error("the server does not take it now ({0})")]
    NotPrimary(String),
    /// A server at a forbidden address, or without an address.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A socket of the machine, if addresses must be public.
    #[error("SSRF protection: a socket of the machine is not allowed; use a host, or allow_private_urls")]
    Socket,
    /// The operation took too long.
    #[error("no answer within {} ms", .0.as_millis())]
    Deadline(Duration),
    /// The server refused.
    #[error("{0}")]
    Refused(String),
    /// A constraint of the collection refuses the write. Holds no value of the document.
    #[error("the write violates a {kind} constraint ({code})")]
    Violation {
        /// The kind of constraint.
        kind: Integrity,
        /// The code of the server.
        code: i32,
    },
    /// The result has more documents than its bound.
    #[error("the result has more than {0} documents; set a limit or filter more")]
    TooMany(u64),
    /// The result has more bytes than its bound.
    #[error("the result takes more than {0} bytes: project or filter more, or raise query.max_result_bytes")]
    TooLarge(usize),
}

impl MongoError {
    /// The error of a task over this connector.
    pub(crate) fn to_task_error(&self, connector: &str) -> TaskError {
        let code = match self {
            Self::Unreachable(_) | Self::NotPrimary(_) | Self::Address(AddressError::Unresolved { .. }) => {
                ErrorCode::Io
            }
            // They say themselves what they protect from.
            Self::Address(_) | Self::Socket => return TaskError::new(ErrorCode::Function, self.to_string()),
            Self::Deadline(_) => ErrorCode::Timeout,
            Self::Refused(_) => ErrorCode::Function,
            Self::Violation { kind, .. } => kind.error_code(),
            Self::TooMany(_) | Self::TooLarge(_) => ErrorCode::Validation,
        };
        TaskError::new(code, format!("connector '{connector}': {self}"))
    }

    /// The error that a server's code and text come to. The text of a violation repeats the values, and is
    /// left out.
    pub(super) fn from_server_code(code: i32, name: &str, message: &str) -> Self {
        if let Some(kind) = integrity(code) {
            return Self::Violation { kind, code };
        }
        let not_now = || if name.is_empty() { code.to_string() } else { name.to_owned() };
        if NOT_PRIMARY.contains(&code) {
            return Self::NotPrimary(not_now());
        }
        if NETWORK.contains(&code) {
            return Self::Unreachable(format!("the server does not take it now ({})", not_now()));
        }
        let name = if name.is_empty() { String::new() } else { format!(" {name}") };
        Self::Refused(format!("the server answered with error {code}{name}: {}", truncate(message)))
    }

    /// Converts an error of the driver; `limit` is the time limit of the operation.
    pub(crate) fn from_driver(error: &Error, limit: Duration) -> Self {
        match error.kind.as_ref() {
            ErrorKind::Command(failed) if failed.code == MAX_TIME_EXPIRED => Self::Deadline(limit),
            ErrorKind::Command(failed) => Self::from_server_code(failed.code, &failed.code_name, &failed.message),
            ErrorKind::Write(WriteFailure::WriteError(failed)) => {
                Self::from_server_code(failed.code, failed.code_name.as_deref().unwrap_or_default(), &failed.message)
            }
            ErrorKind::Write(WriteFailure::WriteConcernError(failed)) => {
                Self::from_server_code(failed.code, &failed.code_name, &failed.message)
            }
            ErrorKind::Authentication { .. } => {
                Self::Refused("the server refused the credentials of the connection string".to_owned())
            }
            ErrorKind::ServerSelection { .. } => Self::Unreachable(
                "no server could be reached within connect_timeout_ms; check that it runs, and its address and TLS".to_owned(),
            ),
            ErrorKind::Io(cause) => Self::Unreachable(format!("the connection failed ({})", cause.kind())),
            ErrorKind::ConnectionPoolCleared { .. } => {
                Self::Unreachable("the connection failed, as others to this server did".to_owned())
            }
            ErrorKind::ProxyConnect { .. } => Self::Unreachable("the server cannot be reached".to_owned()),
            ErrorKind::DnsResolve { .. } => {
                Self::Unreachable("the host of the connection string cannot be resolved".to_owned())
            }
            ErrorKind::InvalidTlsConfig { .. } => {
                Self::Refused("the TLS files the connection string names cannot be used".to_owned())
            }
            ErrorKind::IncompatibleServer { .. } => {
                Self::Refused("the server is too old for this operation".to_owned())
            }
            ErrorKind::InvalidArgument { message, .. } => Self::Refused(truncate(message).to_owned()),
            _ => Self::Refused("the driver could not carry it out".to_owned()),
        }
    }
}

/// The kind of constraint that a code is about.
const fn integrity(code: i32) -> Option<Integrity> {
    match code {
        11_000 | 11_001 | 12_582 => Some(Integrity::Unique),
        // A document that the validator of its collection refuses.
        121 => Some(Integrity::Check),
        _ => None,
    }
}

/// Cuts a text to the length that an error shows.
fn truncate(text: &str) -> &str {
    &text[..text.floor_char_boundary(SHOWN)]
}
