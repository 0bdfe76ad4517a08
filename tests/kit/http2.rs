//! A client of HTTP/2 within TLS that sends any frame.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use crate::server::ServerProcess;
use crate::tls::IssuedCertificate;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

/// A part of a body.
pub const DATA: u8 = 0;
/// The head of a request or a response, or the trailers of a body.
pub const HEADERS: u8 = 1;
/// The end of one request before its time.
pub const RST_STREAM: u8 = 3;
/// The settings of one side.
pub const SETTINGS: u8 = 4;
/// A question that is answered at once.
pub const PING: u8 = 6;
/// The end of a connection.
pub const GOAWAY: u8 = 7;
/// A further part of a head.
pub const CONTINUATION: u8 = 9;

/// The flag of the last frame of one side.
pub const END_STREAM: u8 = 1;
/// The flag of a head that ends with its frame.
pub const END_HEADERS: u8 = 4;

/// Nothing is wrong (RFC 9113, 7).
pub const NO_ERROR: u32 = 0;
/// The request was not looked at and may be sent again.
pub const REFUSED_STREAM: u32 = 7;
/// The request is no longer wanted.
pub const CANCEL: u32 = 8;
/// The client makes work for its own sake.
pub const ENHANCE_YOUR_CALM: u32 = 11;

/// The settings `INITIAL_WINDOW_SIZE`.
pub const WINDOW: u16 = 4;

/// The encoded status 200.
pub const OK: u8 = 0x88;

/// Longest wait for a frame.
const PATIENCE: Duration = Duration::from_secs(60);

/// A received frame.
#[derive(Debug)]
pub struct Frame {
    /// The type.
    pub kind: u8,
    /// The request; 0 for the connection.
    pub stream: u32,
    /// The content.
    pub payload: Vec<u8>,
}

impl Frame {
    /// Returns the code of a `RST_STREAM` or, behind the last stream, of a `GOAWAY`.
    #[must_use]
    pub fn code(&self) -> u32 {
        let at = if self.kind == GOAWAY { 4 } else { 0 };
        let code = self.payload.get(at..).and_then(|rest| rest.first_chunk());
        code.map_or(0, |code| u32::from_be_bytes(*code))
    }
}

/// An HTTP/2 connection after its preface.
#[derive(Debug)]
pub struct RawClient(StreamOwned<ClientConnection, TcpStream>);

impl RawClient {
    /// Connects and agrees on HTTP/2, without a byte of it.
    ///
    /// # Errors
    /// Any socket error, or settings that TLS does not take.
    pub fn connect(server: &ServerProcess, issued: &IssuedCertificate) -> io::Result<Self> {
        Self::connect_as(server, issued, None)
    }

    /// Connects with a certificate of the client.
    ///
    /// # Errors
    /// Any socket error, or settings that TLS does not take.
    pub fn connect_as(
        server: &ServerProcess,
        issued: &IssuedCertificate,
        own: Option<&IssuedCertificate>,
    ) -> io::Result<Self> {
        let mut settings = Arc::unwrap_or_clone(issued.client_settings(own)?);
        settings.alpn_protocols = vec![b"h2".to_vec()];
        let socket = TcpStream::connect(server.address())?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
        let session = ClientConnection::new(Arc::new(settings), name).map_err(io::Error::other)?;
        Ok(Self(StreamOwned::new(session, socket)))
    }

    /// Connects with these settings.
    ///
    /// # Errors
    /// Any socket error, or settings that TLS does not take.
    pub fn open(
        server: &ServerProcess,
        issued: &IssuedCertificate,
        settings: &[(u16, u32)],
    ) -> io::Result<Self> {
        let mut client = Self::connect(server, issued)?;
        client.greet(settings)?;
        Ok(client)
    }

    /// Sends the preface with these settings.
    ///
    /// # Errors
    /// The server has closed.
    pub fn greet(&mut self, settings: &[(u16, u32)]) -> io::Result<()> {
        let settings: Vec<u8> = settings
            .iter()
            .flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        let preface =
            [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(SETTINGS, 0, 0, &settings)].concat();
        if self.send(&preface) { Ok(()) } else { Err(io::ErrorKind::ConnectionReset.into()) }
    }

    /// Sends bytes; `false` once the server has closed.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.0.write_all(bytes).and_then(|()| self.0.flush()).is_ok()
    }

    /// Returns the next frame; `None` once the server has closed.
    pub fn receive(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).ok()?;
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        self.0.read_exact(&mut payload).ok()?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some(Frame { kind: head[3], stream, payload })
    }

    /// Returns the next frame of this kind; `None` once the server has closed.
    pub fn receive_kind(&mut self, kind: u8) -> Option<Frame> {
        loop {
            let frame = self.receive()?;
            if frame.kind == kind {
                return Some(frame);
            }
        }
    }

    /// Returns the encoded status of the next response and the code of the next farewell, in whatever order they come;
    /// `None` once the server has closed.
    pub fn receive_answer_and_farewell(&mut self) -> Option<(u8, u32)> {
        let (mut answer, mut farewell) = (None, None);
        loop {
            if let (Some(answer), Some(farewell)) = (answer, farewell) {
                return Some((answer, farewell));
            }
            match self.receive()? {
                frame if frame.kind == HEADERS => answer = frame.payload.first().copied(),
                frame if frame.kind == GOAWAY => farewell = Some(frame.code()),
                _ => {}
            }
        }
    }

    /// Waits until the server has seen everything sent so far; `false` once it has closed.
    pub fn sync(&mut self) -> bool {
        self.send(&frame(PING, 0, 0, &[0; 8])) && self.receive_kind(PING).is_some()
    }
}

/// Encodes a frame.
#[must_use]
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Encodes the head of `GET path`.
#[must_use]
pub fn get(path: &str) -> Vec<u8> {
    [&[0x82, 0x87][..], &indexed(4, path), &indexed(1, "localhost")].concat()
}

/// Encodes the head of a JSON request to the channel `e`.
#[must_use]
pub fn post() -> Vec<u8> {
    let content_type = [&[0x0f, 0x10][..], &text("application/json")].concat();
    [&[0x83, 0x87][..], &indexed(4, "/api/v1/data/e"), &indexed(1, "localhost"), &content_type].concat()
}

/// Encodes a field, not to be indexed; name and value have at most 126 bytes.
#[must_use]
pub fn field(name: &str, value: &str) -> Vec<u8> {
    [&[0][..], &text(name), &text(value)].concat()
}

/// Encodes a field whose name is in the static table, not to be indexed.
fn indexed(name: u8, value: &str) -> Vec<u8> {
    [&[name][..], &text(value)].concat()
}

fn text(value: &str) -> Vec<u8> {
    [&[u8::try_from(value.len()).unwrap_or(u8::MAX)], value.as_bytes()].concat()
}
