//! Responses without a handler: for a malformed head, an exceeded limit, a connection too many.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;

use actix_http::body::BoxBody;
use actix_http::error::{DispatchError, ParseError};
use actix_http::header::{HeaderName, HeaderValue, HttpDate};
use actix_http::{Response, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::timeout;

use super::state::Expiry;
use super::stream::ClientStream;
use super::timer::LINGER;

/// Longest answer the dispatcher gives by itself: a status line, a length, a date.
const BARE: usize = 200;

/// Reasons for which the service ends a connection by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionRefusal {
    /// The head of a request is not HTTP.
    MalformedHead,
    /// The head of a request is larger than the dispatcher's buffer.
    HeadTooLarge,
    /// The head of a request did not end in time.
    SlowHead,
    /// A body did not arrive in time, or too slowly.
    SlowBody,
    /// An answer is not read, or too slowly.
    SlowReader,
    /// The listener serves as many connections as it may.
    TooManyConnections,
    /// This address has as many connections as it may.
    TooManyOfAddress,
    /// The TLS handshake failed.
    FailedHandshake,
    /// The TLS handshake did not end in time.
    SlowHandshake,
    /// The client speaks plain HTTP on a TLS port.
    PlainText,
    /// The client makes and resets requests, or sends frames, for their cost alone (RFC 9113, 10.5).
    Http2Flood,
    /// The heads of the requests in progress on a connection have reached their bound of memory.
    TooManyHeads,
}

impl ConnectionRefusal {
    pub(crate) const ALL: [Self; 12] = [
        Self::MalformedHead,
        Self::HeadTooLarge,
        Self::SlowHead,
        Self::SlowBody,
        Self::SlowReader,
        Self::TooManyConnections,
        Self::TooManyOfAddress,
        Self::FailedHandshake,
        Self::SlowHandshake,
        Self::PlainText,
        Self::Http2Flood,
        Self::TooManyHeads,
    ];

    /// The name in metrics and logs.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::MalformedHead => "malformed_head",
            Self::HeadTooLarge => "head_too_large",
            Self::SlowHead => "slow_head",
            Self::SlowBody => "slow_body",
            Self::SlowReader => "slow_reader",
            Self::TooManyConnections => "too_many_connections",
            Self::TooManyOfAddress => "too_many_connections_of_address",
            Self::FailedHandshake => "tls_handshake_failed",
            Self::SlowHandshake => "slow_tls_handshake",
            Self::PlainText => "plain_text",
            Self::Http2Flood => "http2_flood",
            Self::TooManyHeads => "too_many_heads",
        }
    }

    /// Returns the reason for which the service ended a connection, if it did.
    pub(super) fn from_end(expired: Option<Expiry>, error: Option<&DispatchError>) -> Option<Self> {
        match (expired, error) {
            (Some(Expiry::Head), _) => Some(Self::SlowHead),
            (Some(Expiry::Body), _) => Some(Self::SlowBody),
            (Some(Expiry::Answer), _) => Some(Self::SlowReader),
            (_, Some(DispatchError::Parse(ParseError::TooLarge))) => Some(Self::HeadTooLarge),
            (_, Some(DispatchError::Parse(_))) => Some(Self::MalformedHead),
            _ => None,
        }
    }

    /// Returns the reason for which a handshake failed; `None` if the client has gone away.
    pub(super) fn from_handshake(error: &io::Error) -> Option<Self> {
        match error.kind() {
            io::ErrorKind::Unsupported => Some(Self::PlainText),
            io::ErrorKind::InvalidData => Some(Self::FailedHandshake),
            _ => None,
        }
    }
}

/// Returns the start of a response that the dispatcher wrote by itself at the end of a buffer; every response
/// of a handler has a request id.
pub(super) fn bare_refusal(output: &[u8]) -> Option<usize> {
    if !output.ends_with(b"\r\n\r\n") {
        return None;
    }
    let from = output.len().saturating_sub(BARE);
    let start = from + last_position(&output[from..], b"HTTP/1.")?;
    let head = &output[start..];
    let is_refusal = head.get(9..10) == Some(b"4") && last_position(head, b"x-request-id").is_none();
    is_refusal.then_some(start)
}

fn last_position(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).rposition(|window| window == part)
}

/// A response without a handler.
pub struct RefusalResponse {
    pub status: StatusCode,
    /// Its headers but for those of the connection and the date.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub body: Vec<u8>,
}

impl RefusalResponse {
    /// Encodes the response for HTTP/1.1.
    #[expect(clippy::disallowed_methods, reason = "the date of an answer is that of the machine")]
    pub fn encode(self) -> Vec<u8> {
        let Self { status, headers, body } = self;
        let date = HttpDate::from(std::time::SystemTime::now());
        let mut head = format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\ndate: {date}\r\n",
            body.len(),
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap_or_default()));
        }
        head.push_str("\r\n");
        [head.into_bytes(), body].concat()
    }
}

/// Makes a response without a handler, within TLS.
pub(super) fn response(refusal: RefusalResponse) -> Response<BoxBody> {
    let RefusalResponse { status, headers, body } = refusal;
    let mut response = Response::build(status);
    for header in headers {
        response.insert_header(header);
    }
    response.body(body).map_into_boxed_body()
}

/// Sends a last response and closes in order, so that a client that still sends gets to read it.
pub(super) async fn deliver(mut stream: ClientStream, answer: &[u8]) {
    // A client that takes neither the response nor the end of the connection gets no more time.
    let _ = timeout(LINGER, async {
        let mut rest = answer;
        while !rest.is_empty() {
            let count = poll_fn(|context| Pin::new(&mut stream).poll_write(context, rest)).await?;
            rest = &rest[count..];
        }
        poll_fn(|context| Pin::new(&mut stream).poll_flush(context)).await?;
        poll_fn(|context| Pin::new(&mut stream).poll_shutdown(context)).await?;
        let mut scratch = [0; 4096];
        loop {
            let mut buffer = ReadBuf::new(&mut scratch);
            poll_fn(|context| Pin::new(&mut stream).poll_read(context, &mut buffer)).await?;
            if buffer.filled().is_empty() {
                return Ok::<_, io::Error>(());
            }
        }
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAD: &[u8] =
        b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\ndate: Sun, 22 Nov 2026 21:00:00 GMT\r\n\r\n";

    #[test]
    fn dispatcher_answer_is_found_at_the_output_end() {
        assert_eq!(bare_refusal(BAD), Some(0));
        let first = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-request-id: a\r\n\r\n{}";
        assert_eq!(bare_refusal(&[first, BAD].concat()), Some(first.len()));
    }

    #[test]
    fn answers_of_handlers_are_not_taken_for_refusals() {
        for output in [
            b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nx-request-id: a\r\n\r\n".as_slice(),
            b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
            b"HTTP/1.1 100 Continue\r\n\r\n",
            b"HTTP/1.1 204 No Content\r\n\r\n",
            b"",
        ] {
            assert_eq!(bare_refusal(output), None, "{}", String::from_utf8_lossy(output));
        }
    }
}
