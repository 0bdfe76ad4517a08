//! The responses to clients that the transport refuses, and the begin of the shutdown.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use svc_model::{Code, ServiceError};
use svc_transport::{ConnectionRefusal, RefusalResponse, TransportDelegate};

use crate::http::{RequestId, SECURITY_HEADERS, STRICT_TRANSPORT_SECURITY};
use crate::state::AppState;

impl TransportDelegate for AppState {
    fn wait_until_draining(&self) -> LocalBoxFuture<'_, ()> {
        self.process.lifecycle.wait_until_draining().boxed_local()
    }

    fn refuse(&self, refusal: ConnectionRefusal, is_tls: bool) -> Option<RefusalResponse> {
        let error = error_of(refusal)?;
        self.metrics.record_http("OTHER", "unmatched".into(), error.status(), Duration::ZERO);
        Some(response(&error, is_tls))
    }
}

/// Returns the error for the client; `None` if a handler has responded or the client reads nothing.
fn error_of(refusal: ConnectionRefusal) -> Option<ServiceError> {
    let error = match refusal {
        ConnectionRefusal::MalformedHead => {
            ServiceError::validation("The head of the request is not valid HTTP")
        }
        ConnectionRefusal::HeadTooLarge => {
            ServiceError::new(Code::HeadTooLarge, "The head of the request is too large")
        }
        ConnectionRefusal::SlowHead => {
            ServiceError::new(Code::RequestTimeout, "The head of the request did not arrive in time")
        }
        ConnectionRefusal::TooManyConnections => {
            ServiceError::new(Code::ServiceUnavailable, "The service has as many connections as it may")
                .with_retry_after(1)
        }
        ConnectionRefusal::TooManyOfAddress => ServiceError::rate_limited(),
        ConnectionRefusal::PlainText => {
            ServiceError::validation("This port speaks TLS: use https:// in the URL")
        }
        ConnectionRefusal::SlowBody
        | ConnectionRefusal::SlowReader
        | ConnectionRefusal::FailedHandshake
        | ConnectionRefusal::SlowHandshake
        | ConnectionRefusal::Http2Flood
        | ConnectionRefusal::TooManyHeads => return None,
    };
    Some(error)
}

/// Makes a response with the envelope and a generated id: that of the request is not known.
fn response(error: &ServiceError, is_tls: bool) -> RefusalResponse {
    let id = RequestId::generate();
    let mut headers = vec![(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    let id_value = HeaderValue::from_str(id.as_str()).ok();
    headers.extend(id_value.map(|value| (HeaderName::from_static("x-request-id"), value)));
    headers.extend(error.retry_after().map(|seconds| (RETRY_AFTER, HeaderValue::from(seconds))));
    headers.extend(SECURITY_HEADERS);
    headers.extend(is_tls.then_some(STRICT_TRANSPORT_SECURITY));
    RefusalResponse {
        status: StatusCode::from_u16(error.status()).unwrap_or(StatusCode::BAD_REQUEST),
        headers,
        body: serde_json::to_vec(&error.body(Some(id.as_str()))).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_answer_has_the_envelope_and_the_id() {
        let error = error_of(ConnectionRefusal::TooManyConnections).unwrap();
        let text = String::from_utf8(response(&error, false).encode()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{head}");
        assert!(head.contains("\r\nretry-after: 1") && head.contains("x-content-type-options: nosniff"));
        assert!(!head.contains("strict-transport-security"), "{head}");
        let within_tls = String::from_utf8(response(&error, true).encode()).unwrap();
        assert!(
            within_tls.contains("\r\nstrict-transport-security: max-age=63072000; includeSubDomains\r\n")
        );
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        let id = body["error"]["request_id"].as_str().unwrap();
        assert!(head.contains(&format!("x-request-id: {id}\r\n")), "{head}");
    }
}
