//! Reading bodies: bounded in size and in silence, and JSON if JSON is asked for.

use std::io::ErrorKind;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use actix_web::http::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, TRANSFER_ENCODING, UPGRADE,
};
use actix_web::web::{Bytes, BytesMut, Data};
use actix_web::{FromRequest, HttpRequest};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};
use svc_api::PACKAGE_SIGNATURE_HEADER;
use svc_channels::{ContentKind, parse_json_text};
use svc_model::config::ContentEncoding;
use svc_model::{Code, ServiceError};
use svc_transport::ConnectionState;
use tokio::time::timeout;

use super::{BytesPermit, Error};
use crate::state::AppState;

/// Longest silence within a body if the surrounding server sets no limit.
const SILENCE: Duration = Duration::from_secs(30);

/// The setting that bounds the bodies of admin requests.
const ADMIN_BODY_SETTING: &str = "server.max_admin_body_size";

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
    /// Returns the limit of the data plane.
    pub(crate) fn of_payloads(state: &AppState) -> Self {
        Self { bytes: state.process.settings.payload_bytes(), setting: "ingest.max_payload_size" }
    }

    /// Returns the limit of admin requests.
    fn of_admin_requests(state: &AppState) -> Self {
        Self { bytes: state.process.settings.admin_body_bytes(), setting: ADMIN_BODY_SETTING }
    }

    /// Returns the limit of requests that upload a component: as much more as it has in base64.
    fn of_components(state: &AppState) -> Self {
        let component = usize::try_from(state.config.plugins.max_component_bytes).unwrap_or(usize::MAX);
        let text = (component / 3 + 1).saturating_mul(4);
        let bytes = state.process.settings.admin_body_bytes().saturating_add(text);
        Self { bytes, setting: "plugins.max_component_bytes" }
    }

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
        extract(request, payload, BodyLimit::of_admin_requests, |request, bytes| {
            read_json(request, &bytes).map(Self)
        })
    }
}

/// A [`JsonBody`] that may be longer by a component in base64.
#[derive(Debug)]
pub(crate) struct ComponentBody(pub(crate) Value);

impl FromRequest for ComponentBody {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        extract(request, payload, BodyLimit::of_components, |request, bytes| {
            read_json(request, &bytes).map(Self)
        })
    }
}

/// A [`JsonBody`] with its bytes as they were sent. The signed file of a package may be longer by a component.
#[derive(Debug)]
pub(crate) struct SentJsonBody {
    pub(crate) bytes: Bytes,
    pub(crate) value: Value,
}

impl FromRequest for SentJsonBody {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let is_signed = request.headers().contains_key(PACKAGE_SIGNATURE_HEADER);
        let limit: fn(&AppState) -> BodyLimit =
            if is_signed { BodyLimit::of_components } else { BodyLimit::of_admin_requests };
        extract(request, payload, limit, Self::read)
    }
}

impl SentJsonBody {
    fn read(request: &HttpRequest, bytes: Bytes) -> Result<Self, ServiceError> {
        let value = read_json(request, &bytes)?;
        Ok(Self { bytes, value })
    }
}

/// A [`SentJsonBody`] that may be longer by a component in base64.
#[derive(Debug)]
pub(crate) struct SentComponentBody(pub(crate) SentJsonBody);

impl FromRequest for SentComponentBody {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        extract(request, payload, BodyLimit::of_components, |request, bytes| {
            SentJsonBody::read(request, bytes).map(Self)
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
        extract(request, payload, BodyLimit::of_admin_requests, |request, bytes| match bytes.is_empty() {
            true => Ok(Self(Value::Object(Map::new()))),
            false => read_json(request, &bytes).map(Self),
        })
    }
}

/// Reads the body of an admin request within a limit, and has `parse` make a value of it.
fn extract<T: 'static>(
    request: &HttpRequest,
    payload: &mut Payload,
    limit: fn(&AppState) -> BodyLimit,
    parse: fn(&HttpRequest, Bytes) -> Result<T, ServiceError>,
) -> LocalBoxFuture<'static, Result<T, Error>> {
    let (request, payload) = (request.clone(), payload.take());
    Box::pin(async move {
        let bytes = read_admin_body(&request, payload, limit).await?;
        parse(&request, bytes).map_err(Error::from)
    })
}

/// Reads a body that has to be JSON.
fn read_json(request: &HttpRequest, bytes: &[u8]) -> Result<Value, ServiceError> {
    require_json(request.headers())?;
    parse_json(bytes)
}

/// Reads the body of an admin request.
async fn read_admin_body(
    request: &HttpRequest,
    mut payload: Payload,
    limit: fn(&AppState) -> BodyLimit,
) -> Result<Bytes, ServiceError> {
    let state = request.app_data::<Data<AppState>>();
    let nothing = BodyLimit { bytes: 0, setting: ADMIN_BODY_SETTING };
    let limit = state.map_or(nothing, |state| limit(state));
    let mut permit = state.map(|state| state.edge.in_flight.permit());
    let body = read_body(request, &mut payload, limit, &[], permit.as_mut());
    match state {
        Some(state) => state.process.lifecycle.receive_body(pin!(body)).await,
        None => body.await,
    }
}

/// Reads the whole body into memory as it is sent, counted by `permit` as it arrives, with the head that waits for it.
///
/// # Errors
/// 415 for a body with an encoding that is not `accepted`, 413 as soon as it is known to be larger than `limit`, 408
/// when it does not arrive in time or its sender falls silent, 503 when the process holds too many bytes.
pub(crate) async fn read_body(
    request: &HttpRequest,
    payload: &mut Payload,
    limit: BodyLimit,
    accepted: &[ContentEncoding],
    mut permit: Option<&mut BytesPermit>,
) -> Result<Bytes, ServiceError> {
    if let Some(permit) = permit.as_deref_mut() {
        let (fields, text) = measure_head(request);
        permit.grow_for_head(fields, text)?;
    }
    let length = announced_length(request.headers());
    if length.is_some_and(|length| length > limit.bytes) {
        return Err(limit.refusal());
    }
    if matches!(payload, Payload::None) || (length.is_none() && is_upgrade_without_body(request.headers())) {
        return Ok(Bytes::new());
    }
    read_encodings(request.headers(), accepted)?;
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
    // Only inside another server, so that it is not part of the future of every body.
    match Box::pin(timeout(silence, payload.next())).await {
        Ok(next) => next.transpose().map_err(broken_body),
        Err(_) => Err(ServiceError::new(
            Code::RequestTimeout,
            format!("The body did not arrive: nothing came for {} seconds", silence.as_secs()),
        )),
    }
}

/// Returns the encodings of a body in the order in which they were applied.
///
/// # Errors
/// 415 for an encoding that is not accepted: the body would be read as if it were not compressed.
pub(crate) fn read_encodings(
    headers: &HeaderMap,
    accepted: &[ContentEncoding],
) -> Result<Vec<ContentEncoding>, ServiceError> {
    let encodings =
        headers.get_all(CONTENT_ENCODING).flat_map(|value| value.as_bytes().split(|b| *b == b','));
    let encodings = encodings.map(<[u8]>::trim_ascii);
    let compressing = encodings.filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case(b"identity"));
    compressing
        .map(|name| {
            let known = std::str::from_utf8(name).ok().and_then(ContentEncoding::from_name);
            known.filter(|encoding| accepted.contains(encoding)).ok_or_else(|| refusal(name, accepted))
        })
        .collect()
}

fn refusal(encoding: &[u8], accepted: &[ContentEncoding]) -> ServiceError {
    let shown = String::from_utf8_lossy(&encoding[..encoding.len().min(SHOWN_ENCODING)]);
    let remedy = if accepted.is_empty() {
        "send it without one".to_owned()
    } else {
        let names: Vec<_> = accepted.iter().map(|encoding| encoding.name()).collect();
        format!("the channel takes {} or none", names.join(", "))
    };
    let message = format!("The body has the content encoding {shown}; {remedy}");
    ServiceError::new(Code::UnsupportedMediaType, message)
}

/// Returns the content type of a request; an empty one if it has none.
pub(crate) fn content_type(headers: &HeaderMap) -> &[u8] {
    headers.get(CONTENT_TYPE).map(|value| value.as_bytes()).unwrap_or_default()
}

/// Refuses a content type other than JSON with 415.
fn require_json(headers: &HeaderMap) -> Result<(), ServiceError> {
    if ContentKind::parse(content_type(headers)) == ContentKind::Json {
        return Ok(());
    }
    Err(ServiceError::new(Code::UnsupportedMediaType, "The content type must be application/json"))
}

/// Parses a body as JSON; the 400 for a malformed one names the position.
pub(crate) fn parse_json(bytes: &[u8]) -> Result<Value, ServiceError> {
    parse_json_text(bytes).map_err(|error| ServiceError::validation(format!("Invalid JSON body: {error}")))
}

fn announced_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Returns `true` for a request without a length that asks for another protocol. It has no body, and the framework takes
/// the rest of its connection for one.
fn is_upgrade_without_body(headers: &HeaderMap) -> bool {
    headers.contains_key(UPGRADE) && !headers.contains_key(TRANSFER_ENCODING)
}

/// Returns the error of a client that disconnected or broke the framing; it is not logged as a failure.
fn broken_body(error: PayloadError) -> ServiceError {
    if matches!(&error, PayloadError::Incomplete(Some(cause)) if cause.kind() == ErrorKind::TimedOut) {
        return ServiceError::from_code(Code::RequestTimeout);
    }
    ServiceError::validation("The body could not be read")
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;
    use futures_util::stream::{self, StreamExt};

    use super::*;

    fn headers(encodings: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for encoding in encodings {
            headers.append(CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        headers
    }

    #[test]
    fn encodings_are_listed_in_order_of_application() {
        use ContentEncoding::{Brotli, Gzip};
        let read = |lines: &[&'static str]| read_encodings(&headers(lines), &[Gzip, Brotli]).unwrap();
        assert_eq!(read(&["GZip, identity", "br"]), [Gzip, Brotli]);
        assert!(read(&[]).is_empty() && read(&["identity", ""]).is_empty());
    }

    #[test]
    fn encoding_outside_the_accepted_is_named_with_them() {
        for (accepted, remedy) in [
            (&[][..], "send it without one"),
            (&[ContentEncoding::Gzip, ContentEncoding::Zstd][..], "the channel takes gzip, zstd or none"),
        ] {
            let refused = read_encodings(&headers(&["br"]), accepted).unwrap_err();
            let message = format!("The body has the content encoding br; {remedy}");
            assert_eq!((refused.status(), refused.message()), (415, message.as_str()));
        }
    }

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
