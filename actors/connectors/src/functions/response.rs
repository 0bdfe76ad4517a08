//! The response to an `http_call`.

use std::num::NonZeroU16;
use std::time::Duration;

use encoding_rs::{Encoding, UTF_8};
use serde_json::Value;
use svc_credentials::tokens::TokenError;
use svc_engine::{ErrorCode, ParseJsonError, TaskCx, TaskError};
use svc_outbound::header::{CONTENT_TYPE, HeaderValue};
use svc_outbound::{AddressError, FetchError, OutboundResponse};

use crate::drivers::http::ExchangeError;

/// Bytes of a refused answer that an error shows.
const SHOWN: usize = 512;

/// Bytes of a refused answer that a task keeps on request: 32 of them may be in the metadata of one
/// message.
const CAPTURED: usize = 4096;

/// The format in which a response body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseFormat {
    Json,
    Text,
}

impl ResponseFormat {
    pub(crate) fn from_name(name: Option<&str>) -> Self {
        if name == Some("text") { Self::Text } else { Self::Json }
    }

    /// The value of a body; null for a response without one (204, 205, and any that is empty).
    ///
    /// # Errors
    /// `FUNCTION_ERROR` for a body that is no JSON if JSON is due, `TASK_ERROR` for one that no message
    /// could hold.
    pub(crate) fn read(
        self,
        cx: &TaskCx<'_>,
        connector: &str,
        answer: &OutboundResponse,
    ) -> Result<Value, TaskError> {
        if answer.body.is_empty() {
            return Ok(Value::Null);
        }
        match self {
            Self::Text => Ok(decode_text(answer).into()),
            Self::Json => {
                // A text in UTF-8, as nearly all are, is parsed from its bytes.
                let (encoding, mark) = detect_encoding(answer);
                let decoded = (encoding != UTF_8).then(|| decode_text(answer));
                let body = decoded.as_deref().map_or(&answer.body[mark..], str::as_bytes);
                cx.parse_json(body).map_err(|error| match error {
                    ParseJsonError::Malformed(error) => {
                        let why = format!("connector '{connector}': the answer is no JSON ({error})");
                        TaskError::new(ErrorCode::Function, why)
                    }
                    error => error.into_task_error(&format!("connector '{connector}': the answer")),
                })
            }
        }
    }
}

/// Returns the encoding of a body and the length of its byte order mark, which is no part of the text: by the mark,
/// else by the `charset` of its content type, else UTF-8.
fn detect_encoding(answer: &OutboundResponse) -> (&'static Encoding, usize) {
    if let Some(marked) = Encoding::for_bom(&answer.body) {
        return marked;
    }
    let content_type = answer.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let charset = content_type.split(|byte| *byte == b';').skip(1).find_map(|parameter| {
        let split = parameter.iter().position(|byte| *byte == b'=')?;
        let (name, value) = parameter.split_at(split);
        let is_charset = name.trim_ascii().eq_ignore_ascii_case(b"charset");
        is_charset.then(|| value[1..].trim_ascii())
    });
    // A label in quotes is the same label.
    let charset = charset.map(|label| match label {
        [b'"', quoted @ .., b'"'] => quoted,
        plain => plain,
    });
    (charset.and_then(Encoding::for_label).unwrap_or(UTF_8), 0)
}

/// Returns the text of a body; what its encoding does not have is replaced.
fn decode_text(answer: &OutboundResponse) -> String {
    let (encoding, mark) = detect_encoding(answer);
    encoding.decode_without_bom_handling(&answer.body[mark..]).0.into_owned()
}

/// An answer that is no success, without what `hide` takes out of it; with its body if the task captures
/// it.
pub(crate) fn refused_error(
    connector: &str,
    hide: impl FnOnce(String) -> String,
    answer: &OutboundResponse,
    is_captured: bool,
) -> TaskError {
    let status = answer.status.as_u16();
    // Cut after hiding, which reads no more of it than it has to: a secret across the edge would be hidden in
    // part only.
    let body = hide(decode_text(answer));
    let shown = prefix(&body, SHOWN);
    let message = format!("connector '{connector}': the answer has the status {status}: {shown}");
    let message = message.trim_end_matches([':', ' ']).to_owned();
    let body = is_captured.then(|| Box::new(capture_body(&body)));
    TaskError {
        http_status: Some(status),
        body,
        retry_after_secs: answer.retry_after().and_then(whole_seconds),
        ..TaskError::new(ErrorCode::Http, message)
    }
}

/// Returns the whole seconds of a wait, which is an hour at most, rounded up; `None` for no wait.
fn whole_seconds(wait: Duration) -> Option<NonZeroU16> {
    NonZeroU16::new(u16::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u16::MAX))
}

/// A body as later tasks read it: the JSON it is, else its text. One that is too long is a text that is cut.
fn capture_body(body: &str) -> Value {
    let head = prefix(body, CAPTURED);
    match serde_json::from_str(head) {
        Ok(value) if head.len() == body.len() => value,
        _ => head.into(),
    }
}

/// The text up to so many bytes.
fn prefix(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Converts the failure of a request that may need a token.
pub(crate) fn unanswered_error(connector: &str, error: &ExchangeError) -> TaskError {
    let code = match error {
        ExchangeError::Fetch(error) => return unfetched_error(connector, error),
        ExchangeError::Forbidden { refused, place } => return forbidden(connector, refused, place),
        ExchangeError::NoComputedUrls => {
            return TaskError::new(ErrorCode::ConnectorDetail, format!("connector '{connector}': {error}"));
        }
        ExchangeError::Token(TokenError::Rejected { .. }) => ErrorCode::ConnectorDetail,
        ExchangeError::Token(TokenError::Forbidden(refused)) => {
            return forbidden(connector, refused, "auth.token_url");
        }
        ExchangeError::Token(TokenError::Unavailable { .. }) => ErrorCode::Io,
    };
    let asked = match error {
        ExchangeError::Token(TokenError::Unavailable { retry_after, .. }) => *retry_after,
        _ => None,
    };
    // Names the connector itself.
    TaskError { retry_after_secs: asked.and_then(whole_seconds), ..TaskError::new(code, error.to_string()) }
}

/// Makes the error of a forbidden address: the protection with the setting that permits it, and the place of the
/// address.
fn forbidden(connector: &str, refused: &AddressError, place: &str) -> TaskError {
    TaskError::new(ErrorCode::Function, format!("{refused} (connector '{connector}': {place})"))
}

/// Converts the failure of a request.
pub(crate) fn unfetched_error(connector: &str, error: &FetchError) -> TaskError {
    let code = match error {
        FetchError::Address(AddressError::Unresolved { .. }) => ErrorCode::Io,
        // Its text begins with its own subject, "SSRF protection".
        FetchError::Address(refused) => return TaskError::new(ErrorCode::Function, refused.to_string()),
        FetchError::Timeout { .. } => ErrorCode::Timeout,
        FetchError::Connect { .. } | FetchError::Broken { .. } => ErrorCode::Io,
        FetchError::TooLarge { .. } | FetchError::Redirect { .. } => ErrorCode::Function,
    };
    TaskError::new(code, format!("connector '{connector}': {error}"))
}
