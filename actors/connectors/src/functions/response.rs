//! The response to an `http_call`.

use serde_json::Value;
use svc_engine::{ErrorCode, ParseJsonError, TaskCx, TaskError};
use svc_outbound::{AddressError, FetchError, OutboundResponse};
use svc_tokens::TokenError;

use crate::drivers::http::ExchangeError;

/// Bytes of a refused answer that an error shows.
const SHOWN: usize = 512;

/// Bytes of a refused answer that a task keeps on request: 32 of them may stand in the metadata of one
/// message.
const CAPTURED: usize = 4096;

/// The mark that may precede a JSON text without being part of it (RFC 8259, 8.1).
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

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

    /// The value of a body.
    ///
    /// # Errors
    /// `FUNCTION_ERROR` for a body that is no JSON where JSON is due, `TASK_ERROR` for one that no message
    /// could hold.
    pub(crate) fn read(
        self,
        cx: &TaskCx<'_>,
        connector: &str,
        answer: &OutboundResponse,
    ) -> Result<Value, TaskError> {
        match self {
            Self::Text => Ok(String::from_utf8_lossy(&answer.body).into_owned().into()),
            Self::Json => {
                let body = answer.body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&answer.body);
                cx.parse_json(body).map_err(|error| match error {
                    ParseJsonError::Malformed(error) => {
                        let what =
                            if body.is_empty() { "empty".to_owned() } else { format!("no JSON ({error})") };
                        let why = format!("connector '{connector}': the answer is {what}");
                        TaskError::new(ErrorCode::Function, why)
                    }
                    error => error.into_task_error(&format!("connector '{connector}': the answer")),
                })
            }
        }
    }
}

/// An answer that is no success, without what `hide` takes out of it; with its body where the task captures
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
    let body = hide(String::from_utf8_lossy(&answer.body).into_owned());
    let shown = prefix(&body, SHOWN);
    let message = format!("connector '{connector}': the answer has the status {status}: {shown}");
    let message = message.trim_end_matches([':', ' ']).to_owned();
    let body = is_captured.then(|| Box::new(capture_body(&body)));
    TaskError { http_status: Some(status), body, ..TaskError::new(ErrorCode::Http, message) }
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
        ExchangeError::Token(TokenError::Rejected { .. }) => ErrorCode::ConnectorDetail,
        ExchangeError::Token(TokenError::Forbidden(refused)) => {
            return forbidden(connector, refused, "auth.token_url");
        }
        ExchangeError::Token(TokenError::Unavailable { .. }) => ErrorCode::Io,
    };
    // Names the connector itself.
    TaskError::new(code, error.to_string())
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
