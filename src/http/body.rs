//! Reading bodies: bounded in size and in silence, and JSON if JSON is asked for.

use std::io::ErrorKind;
use std::rc::Rc;
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use actix_web::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use actix_web::web::{Bytes, BytesMut, Data};
use actix_web::{FromRequest, HttpRequest};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};
use svc_model::{Code, ServiceError};
use svc_transport::ConnectionState;
use tokio::time::timeout;

use super::{BytesPermit, Error};
use crate::state::AppState;

/// Longest silence within a body if the surrounding server sets no limit.
const SILENCE: Duration = Duration::from_secs(30);

/// Bytes of a content encoding that an error repeats.
const SHOWN_ENCODING: usize = 40;

/// The largest body that is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLimit {
    pub(crate) bytes: usize,
    /// The setting that allows so many.
    pub(crate) setting: &'static str,
}

impl BodyLimit {
    fn refusal(self) -> ServiceError {
        let Self { bytes, setting } = self;
        ServiceError::new(Code::PayloadTooLarge, format!("The body is larger than {bytes} bytes ({setting})"))
    }
}

/// The body of an admin request: JSON of at most `server.max_admin_body_size` bytes; 400, 413 or 415
/// otherwise.
#[derive(Debug)]
pub struct JsonBody(pub Value);

impl FromRequest for JsonBody {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let bytes = read_admin_body(&request, payload).await?;
            require_json(request.headers())?;
            Ok(Self(parse_json(&bytes)?))
        })
    }
}

/// A [`JsonBody`] with its bytes as they were sent.
#[derive(Debug)]
pub(crate) struct SentJsonBody {
    pub(crate) bytes: Bytes,
    pub(crate) value: Value,
}

impl FromRequest for SentJsonBody {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let bytes = read_admin_body(&request, payload).await?;
            require_json(request.headers())?;
            let value = parse_json(&bytes)?;
            Ok(Self { bytes, value })
        })
    }
}

/// A [`JsonBody`] of a request that needs none: an empty body is an empty object, whatever its content type.
#[derive(Debug)]
pub(crate) struct OptionalJsonBody(pub(crate) Value);

impl FromRequest for OptionalJsonBody {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let bytes = read_admin_body(&request, payload).await?;
            if bytes.is_empty() {
                return Ok(Self(Value::Object(Map::new())));
            }
            require_json(request.headers())?;
            Ok(Self(parse_json(&bytes)?))
        })
    }
}

/// Reads the body of an admin request, of at most `server.max_admin_body_size` bytes.
async fn read_admin_body(request: &HttpRequest, mut payload: Payload) -> Result<Bytes, ServiceError> {
    let state = request.app_data::<Data<AppState>>();
    let limit = BodyLimit {
        bytes: state.map_or(0, |state| state.process.settings.admin_body_bytes()),
        setting: "server.max_admin_body_size",
    };
    let mut permit = state.map(|state| state.edge.in_flight.permit());
    let body = read_body(request, &mut payload, limit, permit.as_mut());
    match state {
        Some(state) => state.process.lifecycle.receive_body(body).await,
        None => body.await,
    }
}

/// Reads the whole body into memory, counted by `permit` as it arrives, with the head that waits for it.
///
/// # Errors
/// 415 for a compressed body, 413 as soon as it is known to be larger than `limit`, 408 when it does not arrive in time or its
/// sender falls silent, 503 when the process holds too many bytes.
pub(crate) async fn read_body(
    request: &HttpRequest,
    payload: &mut Payload,
    limit: BodyLimit,
    mut permit: Option<&mut BytesPermit>,
) -> Result<Bytes, ServiceError> {
    if let Some(permit) = permit.as_deref_mut() {
        let (fields, text) = measure_head(request);
        permit.grow_for_head(fields, text)?;
    }
    if announced_length(request.headers()).is_some_and(|length| length > limit.bytes) {
        return Err(limit.refusal());
    }
    if matches!(payload, Payload::None) {
        return Ok(Bytes::new());
    }
    refuse_encoded(request.headers())?;
    // Our own connections enforce their limits; without one, only silence is bounded.
    let connection = request.conn_data::<Rc<ConnectionState>>();
    let reading = connection.map(|connection| connection.read_body());
    let silence = connection.is_none().then_some(SILENCE);
    let body = collect_body(payload, limit, silence, permit).await;
    drop(reading);
    let is_late = connection.is_some_and(|connection| connection.expiry().is_some());
    if body.is_err() && is_late { Err(ServiceError::from_code(Code::RequestTimeout)) } else { body }
}

/// Returns the fields of a head, and the bytes of its text.
pub(crate) fn measure_head(request: &HttpRequest) -> (usize, usize) {
    let headers = request.headers();
    let fields = headers.iter().map(|(name, value)| name.as_str().len() + value.len());
    (headers.len(), request.uri().path().len() + fields.sum::<usize>())
}

async fn collect_body(
    payload: &mut Payload,
    limit: BodyLimit,
    silence: Option<Duration>,
    mut permit: Option<&mut BytesPermit>,
) -> Result<Bytes, ServiceError> {
    // Small bodies arrive as one chunk, which is handed on as it is.
    let Some(mut body) = next_chunk(payload, silence).await? else { return Ok(Bytes::new()) };
    let mut count = |bytes: usize| permit.as_mut().map_or(Ok(()), |permit| permit.grow(bytes));
    count(body.len())?;
    let mut joined: Option<BytesMut> = None;
    loop {
        if joined.as_ref().map_or(body.len(), BytesMut::len) > limit.bytes {
            return Err(limit.refusal());
        }
        let Some(more) = next_chunk(payload, silence).await? else { break };
        count(more.len())?;
        joined.get_or_insert_with(|| BytesMut::from(std::mem::take(&mut body))).extend_from_slice(&more);
    }
    Ok(joined.map_or(body, BytesMut::freeze))
}

/// Reads the next chunk of a body; `None` at its end.
async fn next_chunk(payload: &mut Payload, silence: Option<Duration>) -> Result<Option<Bytes>, ServiceError> {
    let Some(silence) = silence else { return payload.next().await.transpose().map_err(broken_body) };
    match timeout(silence, payload.next()).await {
        Ok(next) => next.transpose().map_err(broken_body),
        Err(_) => Err(ServiceError::new(
            Code::RequestTimeout,
            format!("The body did not arrive: nothing came for {} seconds", silence.as_secs()),
        )),
    }
}

/// Refuses a compressed body with 415: it would be read as if it were not.
fn refuse_encoded(headers: &HeaderMap) -> Result<(), ServiceError> {
    let mut encodings =
        headers.get_all(CONTENT_ENCODING).flat_map(|value| value.as_bytes().split(|b| *b == b','));
    let is_plain = |encoding: &[u8]| encoding.is_empty() || encoding.eq_ignore_ascii_case(b"identity");
    let Some(encoding) = encodings.find(|encoding| !is_plain(encoding.trim_ascii())) else { return Ok(()) };
    let shown = &encoding[..encoding.len().min(SHOWN_ENCODING)];
    let shown = String::from_utf8_lossy(shown.trim_ascii());
    let message = format!("The body has the content encoding {shown}; send it without one");
    Err(ServiceError::new(Code::UnsupportedMediaType, message))
}

/// Returns the content type of a request; an empty one if it has none.
pub(crate) fn content_type(headers: &HeaderMap) -> &[u8] {
    headers.get(CONTENT_TYPE).map(|value| value.as_bytes()).unwrap_or_default()
}

/// Returns true for the content types of JSON: `application/json…` and `…+json`.
pub(crate) fn is_json(content_type: &[u8]) -> bool {
    starts_with_ignoring_case(content_type, b"application/json")
        || content_type.windows(5).any(|part| part.eq_ignore_ascii_case(b"+json"))
}

/// Refuses a content type other than JSON with 415.
fn require_json(headers: &HeaderMap) -> Result<(), ServiceError> {
    if is_json(content_type(headers)) {
        return Ok(());
    }
    Err(ServiceError::new(Code::UnsupportedMediaType, "The content type must be application/json"))
}

/// Parses a body as JSON; the 400 for a malformed one names the position.
pub(crate) fn parse_json(bytes: &[u8]) -> Result<Value, ServiceError> {
    serde_json::from_slice(bytes)
        .map_err(|error| ServiceError::validation(format!("Invalid JSON body: {error}")))
}

fn announced_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Returns the error of a client that disconnected or broke the framing; it is not logged as a failure.
fn broken_body(error: PayloadError) -> ServiceError {
    if matches!(&error, PayloadError::Incomplete(Some(cause)) if cause.kind() == ErrorKind::TimedOut) {
        return ServiceError::from_code(Code::RequestTimeout);
    }
    ServiceError::validation("The body could not be read")
}

fn starts_with_ignoring_case(text: &[u8], prefix: &[u8]) -> bool {
    text.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
}

#[cfg(test)]
mod tests {
    use futures_util::stream::{self, StreamExt};

    use super::*;

    #[test]
    fn a_body_that_stops_arriving_is_given_up() {
        let begun = stream::iter([Ok(Bytes::from_static(b"{\"a\":"))]).chain(stream::pending());
        let mut payload: Payload = Payload::Stream { payload: Box::pin(begun) };
        actix_rt::System::new().block_on(async {
            let silence = Some(Duration::from_millis(20));
            assert_eq!(next_chunk(&mut payload, silence).await.unwrap().unwrap(), "{\"a\":");
            let error = next_chunk(&mut payload, silence).await.unwrap_err();
            assert_eq!((error.status(), error.message().starts_with("The body did not arrive")), (408, true));
        });
    }
}
