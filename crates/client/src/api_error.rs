//! The error envelope of the server, read leniently: an older or newer server may add members.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

/// A refusal by the server: status, stable code, message and fields.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    /// The HTTP status.
    pub status: u16,
    /// The stable code, such as `NOT_FOUND`.
    pub code: String,
    /// The message.
    pub message: String,
    /// The fields that were refused.
    pub details: Vec<FieldProblem>,
    /// The id of the request, as in the log of the server.
    pub request_id: Option<String>,
    /// The id of the trace of a run that failed, if one is stored.
    pub trace_id: Option<String>,
    /// The time after which the server wants to be asked again.
    pub retry_after: Option<Duration>,
}

/// One refused field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldProblem {
    /// The path of the field, such as `tasks[0].function.name`.
    pub path: String,
    /// The class of the problem, such as `REQUIRED`.
    pub code: String,
    /// The description.
    pub message: String,
    /// The expected value, if the server names one.
    pub expected: Option<Value>,
    /// The value it got, if the server names one.
    pub got: Option<Value>,
}

impl ApiError {
    /// Reads the envelope of an error response; `None` if the body is none.
    pub(crate) fn read(status: u16, body: &[u8], retry_after: Option<Duration>) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let error = body.get("error")?;
        Some(Self {
            status,
            code: text(error, "code")?,
            message: text(error, "message")?,
            details: error["details"].as_array().into_iter().flatten().map(FieldProblem::read).collect(),
            request_id: text(error, "request_id"),
            trace_id: text(error, "trace_id"),
            retry_after,
        })
    }
}

impl FieldProblem {
    fn read(value: &Value) -> Self {
        Self {
            path: text(value, "path").unwrap_or_default(),
            code: text(value, "code").unwrap_or_default(),
            message: text(value, "message").unwrap_or_default(),
            expected: value.get("expected").cloned(),
            got: value.get("got").cloned(),
        }
    }
}

fn text(value: &Value, member: &str) -> Option<String> {
    value.get(member)?.as_str().map(str::to_owned)
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.code, self.message)
    }
}

impl fmt::Display for FieldProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]: {}", self.path, self.code, self.message)
    }
}

impl std::error::Error for ApiError {}
