//! The error type that all parts of the service share.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::code::Code;
use crate::field::FieldError;

/// Maximum length of a request id in an error body, in characters.
const MAX_REQUEST_ID: usize = 200;

/// An error with a public and an internal part.
///
/// [`message`](Self::message) and [`details`](Self::details) are safe for anonymous callers. The text of
/// [`with_internal`](Self::with_internal) is only for the log; neither [`body`](Self::body) nor `Display`
/// contains it. The type is one pointer wide, so that it does not enlarge the `Result`s that carry it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: {}", .0.code, .0.message)]
pub struct ServiceError(Box<Parts>);

#[derive(Clone, Debug)]
struct Parts {
    code: Code,
    message: Cow<'static, str>,
    details: Vec<FieldError>,
    internal: Option<String>,
    retry_after: Option<u32>,
    challenge: Option<String>,
    allow: Option<Cow<'static, str>>,
    is_guess: bool,
    trace_id: Option<Uuid>,
    headers: Vec<(&'static str, String)>,
}

impl ServiceError {
    /// Creates an error with a specific message.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Parts {
            code,
            message: message.into(),
            details: Vec::new(),
            internal: None,
            retry_after: None,
            challenge: None,
            allow: None,
            is_guess: false,
            trace_id: None,
            headers: Vec::new(),
        }))
    }

    /// Creates an error with the default message of its code.
    pub fn from_code(code: Code) -> Self {
        Self::new(code, code.public_text())
    }

    /// Creates a 400 with one message and no details.
    pub fn validation(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::ValidationError, message)
    }

    /// Creates a 400 with all problems that were found.
    pub fn invalid(details: Vec<FieldError>) -> Self {
        let message: Cow<'static, str> = match details.as_slice() {
            [] => Code::ValidationError.public_text().into(),
            [one] => format!("{}: {}", one.path, one.message).into(),
            many => format!("{} problems were found, see details", many.len()).into(),
        };
        let mut error = Self::new(Code::ValidationError, message);
        error.0.details = details;
        error
    }

    /// Creates a 404.
    pub fn not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::NotFound, message)
    }

    /// Creates a 409.
    pub fn conflict(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Conflict, message)
    }

    /// Creates a 401. The text is the same for every cause, so that the response does not disclose it.
    pub fn unauthorized() -> Self {
        Self::from_code(Code::Unauthorized)
    }

    /// Creates a 403.
    pub fn forbidden(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Forbidden, message)
    }

    /// Creates a 405.
    pub fn method_not_allowed(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::MethodNotAllowed, message)
    }

    /// Creates a 429 that invites a retry after one second.
    pub fn rate_limited() -> Self {
        Self::from_code(Code::RateLimited).with_retry_after(1)
    }

    /// Creates a 503 without `Retry-After`, for conditions that do not end by themselves, such as a
    /// quarantine.
    pub fn unavailable(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::ServiceUnavailable, message)
    }

    /// Creates a 503 for exhausted capacity, which invites a retry after one second.
    pub fn at_capacity(message: impl Into<Cow<'static, str>>) -> Self {
        Self::unavailable(message).with_retry_after(1)
    }

    /// Creates a 503 for an unavailable database, which invites a retry after five seconds. `internal` goes
    /// to the log.
    pub fn storage_unavailable(internal: impl fmt::Display) -> Self {
        Self::unavailable("The storage is not available").with_retry_after(5).with_internal(internal)
    }

    /// Creates a 500 for a statement that the database rejected. `internal` goes to the log.
    pub fn storage(internal: impl fmt::Display) -> Self {
        Self::from_code(Code::StorageError).with_internal(internal)
    }

    /// Creates a 500 for an unexpected fault. `internal` goes to the log.
    pub fn internal_error(internal: impl fmt::Display) -> Self {
        Self::from_code(Code::InternalError).with_internal(internal)
    }

    /// Returns `true` if the failure does not depend on the request: the service or its database cannot serve for now.
    /// Many requests fail with it at the same time.
    pub fn is_outage(&self) -> bool {
        self.status() == Code::ServiceUnavailable.status() || self.code() == Code::StorageError
    }

    /// Creates a 504.
    pub fn timeout(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Timeout, message)
    }

    /// Adds the text for the log.
    #[must_use]
    pub fn with_internal(mut self, internal: impl fmt::Display) -> Self {
        self.0.internal = Some(internal.to_string());
        self
    }

    /// Adds `Retry-After`, in seconds.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u32) -> Self {
        self.0.retry_after = Some(seconds);
        self
    }

    /// Adds the value of `WWW-Authenticate`.
    #[must_use]
    pub fn with_challenge(mut self, challenge: impl Into<String>) -> Self {
        self.0.challenge = Some(challenge.into());
        self
    }

    /// Marks the refusal of a key that its sender may have guessed. Clients see nothing of it.
    #[must_use]
    pub fn as_guess(mut self) -> Self {
        self.0.is_guess = true;
        self
    }

    /// Returns true for the refusal of a key that its sender may have guessed.
    pub fn is_guess(&self) -> bool {
        self.0.is_guess
    }

    /// Adds the value of `Allow` to a 405: the allowed methods.
    #[must_use]
    pub fn with_allow(mut self, methods: impl Into<Cow<'static, str>>) -> Self {
        self.0.allow = Some(methods.into());
        self
    }

    /// Adds the id of the stored trace of the run that failed.
    #[must_use]
    pub fn with_trace_id(mut self, id: Uuid) -> Self {
        self.0.trace_id = Some(id);
        self
    }

    /// Adds a header to the response; `name` is in lower case.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: String) -> Self {
        self.0.headers.push((name, value));
        self
    }

    /// Returns the further headers of the response, names in lower case.
    pub fn headers(&self) -> &[(&'static str, String)] {
        &self.0.headers
    }

    /// Returns the error code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Returns the HTTP status of the code.
    pub fn status(&self) -> u16 {
        self.0.code.status()
    }

    /// Returns the public message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns all problems that were found; empty unless the code is [`Code::ValidationError`].
    pub fn details(&self) -> &[FieldError] {
        &self.0.details
    }

    /// Returns the text for the log.
    pub fn internal(&self) -> Option<&str> {
        self.0.internal.as_deref()
    }

    /// Returns the value of `Retry-After`, in seconds.
    pub fn retry_after(&self) -> Option<u32> {
        self.0.retry_after
    }

    /// Returns the value of `WWW-Authenticate`.
    pub fn challenge(&self) -> Option<&str> {
        self.0.challenge.as_deref()
    }

    /// Returns the value of `Allow`.
    pub fn allow(&self) -> Option<&str> {
        self.0.allow.as_deref()
    }

    /// Returns the id of the stored trace of the run that failed.
    pub fn trace_id(&self) -> Option<Uuid> {
        self.0.trace_id
    }

    /// Returns the body of the response: `{"error": {"code", "message", "details"?, "request_id"?, "trace_id"?}}`.
    ///
    /// `details` is present only if there are any: a list of problems, or an object of a submission that began.
    /// `request_id` is truncated to 200 characters.
    pub fn body(&self, request_id: Option<&str>) -> Value {
        let mut error = Map::new();
        error.insert("code".into(), self.0.code.name().into());
        error.insert("message".into(), self.message().into());
        if self.0.code == Code::ValidationError && !self.0.details.is_empty() {
            error.insert("details".into(), self.0.details.iter().map(FieldError::to_json).collect());
        }
        if self.0.code == Code::SubmissionUncertain {
            error.insert("details".into(), json!({"began": true}));
        }
        if let Some(id) = request_id {
            error.insert("request_id".into(), id.chars().take(MAX_REQUEST_ID).collect::<String>().into());
        }
        if let Some(id) = self.0.trace_id {
            error.insert("trace_id".into(), id.to_string().into());
        }
        Value::Object(Map::from_iter([("error".to_owned(), Value::Object(error))]))
    }
}

impl From<Vec<FieldError>> for ServiceError {
    fn from(details: Vec<FieldError>) -> Self {
        Self::invalid(details)
    }
}

impl From<FieldError> for ServiceError {
    fn from(detail: FieldError) -> Self {
        Self::invalid(vec![detail])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn body_holds_only_the_known_members() {
        let bare = ServiceError::not_found("no such thing");
        assert_eq!(bare.body(None), json!({"error": {"code": "NOT_FOUND", "message": "no such thing"}}));
        let detail = FieldError::required("channel.name");
        let full = ServiceError::invalid(vec![detail.clone(), detail.clone()]);
        assert_eq!(
            full.body(Some("r-1")),
            json!({"error": {
                "code": "VALIDATION_ERROR",
                "message": "2 problems were found, see details",
                "details": [detail.to_json(), detail.to_json()],
                "request_id": "r-1"
            }})
        );
        let run = Uuid::now_v7();
        let traced = ServiceError::from_code(Code::EngineError).with_trace_id(run).body(None);
        assert_eq!(traced["error"]["trace_id"], run.to_string());
        assert_eq!(ServiceError::from(detail).message(), "channel.name: this field is required");
    }

    #[test]
    fn a_long_request_id_is_cut() {
        let body = ServiceError::unauthorized().body(Some(&"é".repeat(300)));
        assert_eq!(body["error"]["request_id"].as_str().unwrap().chars().count(), 200);
    }

    #[test]
    fn internal_detail_is_not_shown() {
        let error = ServiceError::storage("password=hunter2").with_challenge("Bearer").with_retry_after(3);
        assert!(!error.body(Some("r")).to_string().contains("hunter2"));
        assert!(!error.to_string().contains("hunter2"));
        assert_eq!(error.internal(), Some("password=hunter2"));
        assert_eq!((error.challenge(), error.retry_after()), (Some("Bearer"), Some(3)));
    }

    #[test]
    fn transient_errors_have_retry_after() {
        assert_eq!(ServiceError::rate_limited().retry_after(), Some(1));
        assert_eq!(ServiceError::at_capacity("busy").retry_after(), Some(1));
        assert_eq!(ServiceError::storage_unavailable("gone").retry_after(), Some(5));
        assert_eq!(ServiceError::unavailable("quarantined").retry_after(), None);
    }

    #[test]
    fn an_error_is_one_pointer_wide() {
        assert_eq!(size_of::<Result<(), ServiceError>>(), size_of::<usize>());
    }
}
