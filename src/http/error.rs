//! The service's errors as HTTP responses.

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use actix_web::{HttpResponse, ResponseError};
use svc_channels::TRACE_ID_HEADER;
use svc_model::{Code, ServiceError};

use super::RequestId;

/// The trace of the run that a response answers for.
pub(crate) const X_TRACE_ID: HeaderName = HeaderName::from_static(TRACE_ID_HEADER);

/// The error of every handler: the envelope, its status, and its headers.
///
/// The edge middleware adds the request id and logs the internal detail.
#[derive(Debug, Clone)]
pub struct Error(pub ServiceError);

impl Error {
    /// Returns the response, with the request id if it is known.
    pub(crate) fn to_response(&self, id: Option<&RequestId>) -> HttpResponse {
        let mut answer = HttpResponse::build(self.status_code()).json(self.0.body(id.map(RequestId::as_str)));
        if let Some(seconds) = self.0.retry_after() {
            answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(challenge) = self.0.challenge().and_then(|text| HeaderValue::from_str(text).ok()) {
            answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        if let Some(methods) = self.0.allow().and_then(|text| HeaderValue::from_str(text).ok()) {
            answer.headers_mut().insert(ALLOW, methods);
        }
        if let Some(id) = self.0.trace_id().and_then(|id| HeaderValue::from_str(&id.to_string()).ok()) {
            answer.headers_mut().insert(X_TRACE_ID, id);
        }
        answer
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
