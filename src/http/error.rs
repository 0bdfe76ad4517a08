//! The service's errors as HTTP responses.

use std::fmt;

use actix_web::http::header::{
    ACCEPT, ALLOW, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpResponse, ResponseError};
use serde_json::{Map, Value};
use svc_channels::{ChannelResponse, TRACE_ID_HEADER};
use svc_model::{Code, ServiceError};

use super::RequestId;

/// The trace of the run that a response answers for.
pub(crate) const X_TRACE_ID: HeaderName = HeaderName::from_static(TRACE_ID_HEADER);

/// The content type of problem details.
const PROBLEM_TYPE: &str = "application/problem+json";
const PROBLEM: HeaderValue = HeaderValue::from_static(PROBLEM_TYPE);

/// Makes the refusal of a method of a path that is known.
pub(crate) fn refuse_method(method: &Method, allowed: &'static str) -> ServiceError {
    ServiceError::method_not_allowed(format!("{method} is not allowed here; use {allowed}"))
        .with_allow(allowed)
}

/// The error of every handler: the envelope, its status, and its headers.
///
/// The edge middleware adds the request id and logs the internal detail.
#[derive(Debug, Clone)]
pub struct Error(pub ServiceError);

impl Error {
    /// Returns the response, with the request id if it is known.
    pub(crate) fn to_response(&self, id: Option<&RequestId>) -> HttpResponse {
        let mut answer = HttpResponse::build(self.status_code()).json(self.0.body(id.map(RequestId::as_str)));
        self.write_headers(answer.headers_mut());
        answer
    }

    /// Returns the response to a request whose headers ask for problem details, or else the envelope.
    pub(crate) fn to_accepted_response(&self, id: &RequestId, request: &HeaderMap) -> HttpResponse {
        if !accepts_problems(request) {
            return self.to_response(Some(id));
        }
        let mut answer = HttpResponse::build(self.status_code()).json(self.problem(id));
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, PROBLEM);
        headers.append(VARY, HeaderValue::from_static("accept"));
        self.write_headers(headers);
        answer
    }

    /// Returns the error as problem details.
    fn problem(&self, id: &RequestId) -> Value {
        to_problem(self.status_code(), self.0.body(Some(id.as_str())))
    }

    fn write_headers(&self, headers: &mut HeaderMap) {
        if let Some(seconds) = self.0.retry_after() {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(challenge) = self.0.challenge().and_then(|text| HeaderValue::from_str(text).ok()) {
            headers.insert(WWW_AUTHENTICATE, challenge);
        }
        if let Some(methods) = self.0.allow().and_then(|text| HeaderValue::from_str(text).ok()) {
            headers.insert(ALLOW, methods);
        }
        if let Some(id) = self.0.trace_id().and_then(|id| HeaderValue::from_str(&id.to_string()).ok()) {
            headers.insert(X_TRACE_ID, id);
        }
        for (name, value) in self.0.headers() {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
    }

    /// Returns the error for a bare status of the framework.
    pub(crate) fn from_status(status: StatusCode) -> Self {
        let code = match status {
            StatusCode::NOT_FOUND => Code::NotFound,
            StatusCode::METHOD_NOT_ALLOWED => Code::MethodNotAllowed,
            StatusCode::PAYLOAD_TOO_LARGE => Code::PayloadTooLarge,
            StatusCode::UNSUPPORTED_MEDIA_TYPE => Code::UnsupportedMediaType,
            status if status.is_client_error() => Code::ValidationError,
            _ => Code::InternalError,
        };
        Self(ServiceError::from_code(code))
    }
}

/// Gives the envelope of an error that was kept as problem details to a request that asks for them, as the error itself
/// would have been.
pub(crate) fn write_accepted_form(answer: &mut ChannelResponse, request: &HeaderMap) {
    if !answer.is_envelope || !accepts_problems(request) {
        return;
    }
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let Ok(envelope) = serde_json::from_slice(&answer.body) else { return };
    answer.body = to_problem(status, envelope).to_string().into();
    answer.headers.retain(|(name, _)| name != "content-type");
    answer.headers.push(("content-type".to_owned(), PROBLEM_TYPE.to_owned()));
    answer.headers.push(("vary".to_owned(), "accept".to_owned()));
}

/// Returns an envelope as problem details (RFC 9457), with its members that they have no name for.
fn to_problem(status: StatusCode, mut envelope: Value) -> Value {
    let mut problem = Map::new();
    problem.insert("type".to_owned(), "about:blank".into());
    problem.insert("title".to_owned(), status.canonical_reason().unwrap_or("Error").into());
    problem.insert("status".to_owned(), status.as_u16().into());
    if let Some(Value::Object(error)) = envelope.get_mut("error").map(Value::take) {
        let named = |(key, value): (String, Value)| match key.as_str() {
            "message" => ("detail".to_owned(), value),
            _ => (key, value),
        };
        problem.extend(error.into_iter().map(named));
    }
    Value::Object(problem)
}

/// Returns true if a request names problem details among what it accepts: a wildcard asks for the envelope.
fn accepts_problems(request: &HeaderMap) -> bool {
    let ranges =
        request.get_all(ACCEPT).filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
    let mut ranges = ranges.map(|range| range.split(';').map(str::trim));
    ranges.any(|mut range| {
        let is_problem = range.next().is_some_and(|name| name.eq_ignore_ascii_case(PROBLEM_TYPE));
        let quality = range.find_map(|parameter| parameter.strip_prefix("q=").map(str::parse::<f32>));
        is_problem && quality.is_none_or(|quality| quality.is_ok_and(|quality| quality > 0.0))
    })
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {}

impl ResponseError for Error {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.0.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        self.to_response(None)
    }
}

impl<E: Into<ServiceError>> From<E> for Error {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_problem_details_are_accepted() {
        for (accept, accepts) in [
            ("application/problem+json", true),
            ("application/json, Application/Problem+JSON; q=0.5", true),
            ("application/problem+json;q=0", false),
            ("*/*", false),
            ("application/*", false),
            ("application/json", false),
        ] {
            let mut request = HeaderMap::new();
            request.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(accepts_problems(&request), accepts, "{accept}");
        }
        assert!(!accepts_problems(&HeaderMap::new()));
    }

    #[test]
    fn problem_has_the_members_of_the_envelope() {
        let id = RequestId::generate();
        let error = ServiceError::from(svc_model::FieldError::required("a")).with_retry_after(3);
        let problem = Error(error).problem(&id);
        assert_eq!((&problem["type"], &problem["title"]), (&"about:blank".into(), &"Bad Request".into()));
        assert_eq!((&problem["status"], &problem["code"]), (&400.into(), &"VALIDATION_ERROR".into()));
        assert_eq!(problem["detail"], "a: this field is required");
        assert_eq!(problem["details"][0]["path"], "a");
        assert_eq!((&problem["request_id"], problem.get("message")), (&id.as_str().into(), None));
    }
}
