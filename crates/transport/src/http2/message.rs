//! Requests and responses, between the types of HTTP/2 and those of the application.

use std::net::SocketAddr;

use actix_http::body::{BodySize, MessageBody};
use actix_http::header::{
    CONNECTION, CONTENT_LENGTH, COOKIE, DATE, HOST, HeaderName, HeaderValue, HttpDate, TRANSFER_ENCODING,
    UPGRADE,
};
use actix_http::{HttpMessage, Method, Payload, Request, Response, StatusCode, Uri, Version};

use super::limits::FIELD_BYTES;
use crate::state::TlsPeer;

/// Headers of HTTP/1.1 that mean its connection (RFC 9113, 8.2.2).
const OF_THE_CONNECTION: [HeaderName; 5] = [
    CONNECTION,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Bytes that the protocol counts for a header in addition to its name and value (RFC 9113, 6.5.2).
const HEADER_OVERHEAD: usize = 32;

/// Returns the size of a head as the protocol counts it.
pub(super) fn head_size(parts: &http::request::Parts) -> usize {
    let uri = &parts.uri;
    let pseudo = [
        (":method", parts.method.as_str().len()),
        (":scheme", uri.scheme_str().map_or(0, str::len)),
        (":authority", uri.authority().map_or(0, |authority| authority.as_str().len())),
        (":path", uri.path_and_query().map_or(0, |target| target.as_str().len())),
    ];
    let pseudo = pseudo.iter().map(|(name, length)| name.len() + length);
    let headers = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len());
    pseudo.chain(headers).map(|length| length + HEADER_OVERHEAD).sum()
}

/// Returns the estimated bytes of memory that a head takes until it is answered.
pub(super) fn head_memory(parts: &http::request::Parts) -> usize {
    head_size(parts) + parts.headers.len() * FIELD_BYTES
}

/// Makes the request of a handler, as HTTP/1.1 would bring it: with `host`, and with one header of all
/// cookies.
pub(super) fn request(
    parts: &http::request::Parts,
    payload: Payload,
    (address, tls): (Option<SocketAddr>, TlsPeer),
) -> Request {
    let mut request = Request::with_payload(payload);
    let head = request.head_mut();
    head.method = Method::from_bytes(parts.method.as_str().as_bytes()).unwrap_or_default();
    let target = parts.uri.path_and_query().and_then(|target| target.as_str().parse::<Uri>().ok());
    head.uri = target.unwrap_or_default();
    head.version = Version::HTTP_2;
    head.peer_addr = address;
    let mut cookies: Vec<&[u8]> = Vec::new();
    for (name, value) in &parts.headers {
        if *name == http::header::COOKIE {
            cookies.push(value.as_bytes());
            continue;
        }
        let name = HeaderName::from_bytes(name.as_str().as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value.as_bytes())) {
            head.headers.append(name, value);
        }
    }
    let authority = parts.uri.authority().map(|authority| authority.as_str().as_bytes());
    let added = [
        (HOST, authority.filter(|_| !parts.headers.contains_key(http::header::HOST)).map(<[u8]>::to_vec)),
        (COOKIE, (!cookies.is_empty()).then(|| cookies.join(b"; ".as_slice()))),
    ];
    for (name, value) in added {
        if let Some(value) = value.and_then(|value| HeaderValue::from_bytes(&value).ok()) {
            head.headers.insert(name, value);
        }
    }
    request.extensions_mut().insert(tls);
    request
}

/// Splits the response of a handler into the head that is sent and its body.
#[expect(clippy::disallowed_methods, reason = "the date of an answer is that of the machine")]
pub(super) fn response<B: MessageBody>(response: Response<B>) -> (http::Response<()>, B) {
    let (response, body) = response.into_parts();
    let status = response.status();
    let mut head = http::Response::new(());
    *head.status_mut() = http::StatusCode::from_u16(status.as_u16()).unwrap_or_default();
    *head.version_mut() = http::Version::HTTP_2;
    let headers = head.headers_mut();
    let mut append = |name: &HeaderName, value: &[u8]| {
        let name = http::HeaderName::from_bytes(name.as_str().as_bytes());
        if let (Ok(name), Ok(value)) = (name, http::HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    };
    let has_length = !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if let (true, BodySize::Sized(length)) = (has_length, body.size()) {
        append(&CONTENT_LENGTH, length.to_string().as_bytes());
    }
    for (name, value) in response.headers() {
        if *name != CONTENT_LENGTH && !OF_THE_CONNECTION.contains(name) {
            append(name, value.as_bytes());
        }
    }
    if !response.headers().contains_key(DATE) {
        let date = HttpDate::from(std::time::SystemTime::now());
        append(&DATE, date.to_string().as_bytes());
    }
    (head, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_size_counts_headers_with_their_overhead() {
        let head = |request: http::request::Builder| head_size(&request.body(()).unwrap().into_parts().0);
        let bare = head(http::Request::get("https://a/b"));
        assert_eq!(bare, 7 + 3 + 7 + 5 + 10 + 1 + 5 + 2 + 4 * 32);
        assert_eq!(head(http::Request::get("https://a/b").header("x-mine", "12")), bare + 6 + 2 + 32);
    }

    #[test]
    fn requests_look_like_those_of_http_1() {
        let (parts, ()) = http::Request::post("https://svc.example:8443/api/v1/data/e?a=b")
            .header("cookie", "a=1")
            .header("x-mine", "1")
            .header("cookie", "b=2")
            .body(())
            .unwrap()
            .into_parts();
        let request = request(&parts, Payload::None, (None, TlsPeer::default()));
        assert_eq!((request.method(), request.path()), (&Method::POST, "/api/v1/data/e"));
        assert_eq!(request.uri().query(), Some("a=b"));
        let header = |name: &str| request.headers().get_all(name).collect::<Vec<_>>();
        assert_eq!(header("host"), ["svc.example:8443"]);
        assert_eq!(header("cookie"), ["a=1; b=2"]);
        assert_eq!(header("x-mine"), ["1"]);
        assert!(request.extensions().get::<TlsPeer>().is_some());
    }

    #[test]
    fn responses_lose_the_headers_of_a_connection() {
        let made = Response::build(StatusCode::OK)
            .insert_header(("connection", "close"))
            .insert_header(("x-mine", "1"))
            .body("text");
        let (head, _) = response(made);
        assert_eq!(head.headers()["content-length"], "4");
        assert_eq!(head.headers()["x-mine"], "1");
        assert!(head.headers().contains_key("date") && !head.headers().contains_key("connection"));
        let (head, _) = response(Response::build(StatusCode::NO_CONTENT).finish());
        assert!(!head.headers().contains_key("content-length"));
    }
}
