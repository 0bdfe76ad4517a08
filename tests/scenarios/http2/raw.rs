//! A client that sends any frame.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use svc_testkit::server::ServerProcess;
use svc_testkit::tls::IssuedCertificate;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const CONTINUATION: u8 = 9;

pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;

/// Codes of errors (RFC 9113, 7).
pub(super) const NO_ERROR: u32 = 0;
pub(super) const REFUSED_STREAM: u32 = 7;
pub(super) const CANCEL: u32 = 8;
pub(super) const ENHANCE_YOUR_CALM: u32 = 11;

/// The settings `INITIAL_WINDOW_SIZE`.
pub(super) const WINDOW: u16 = 4;

/// The encoded status 200.
pub(super) const OK: u8 = 0x88;

/// Longest wait for a frame.
const PATIENCE: Duration = Duration::from_secs(60);

/// A received frame.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: u8,
    pub(super) stream: u32,
    pub(super) payload: Vec<u8>,
}

impl Frame {
    /// Returns the code of a `RST_STREAM` or, behind the last stream, of a `GOAWAY`.
    pub(super) fn code(&self) -> u32 {
        let at = if self.kind == GOAWAY { 4 } else { 0 };
        u32::from_be_bytes(self.payload[at..at + 4].try_into().unwrap())
    }
}

/// An HTTP/2 connection after its preface.
pub(super) struct RawClient(StreamOwned<ClientConnection, TcpStream>);

impl RawClient {
    /// Connects and agrees on HTTP/2, without a byte of it.
    pub(super) fn connect(server: &ServerProcess, issued: &IssuedCertificate) -> Self {
        let mut settings = Arc::unwrap_or_clone(issued.client_settings(None).unwrap());
        settings.alpn_protocols = vec![b"h2".to_vec()];
        let socket = TcpStream::connect(server.address()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let session = ClientConnection::new(Arc::new(settings), name).unwrap();
        Self(StreamOwned::new(session, socket))
    }

    /// Connects with these settings.
    pub(super) fn open(server: &ServerProcess, issued: &IssuedCertificate, settings: &[(u16, u32)]) -> Self {
        let mut client = Self::connect(server, issued);
        let settings: Vec<u8> = settings
            .iter()
            .flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        let preface =
            [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(SETTINGS, 0, 0, &settings)].concat();
        assert!(client.send(&preface));
        client
    }

    /// Sends bytes; `false` once the server has closed.
    pub(super) fn send(&mut self, bytes: &[u8]) -> bool {
        self.0.write_all(bytes).and_then(|()| self.0.flush()).is_ok()
    }

    /// Returns the next frame; `None` once the server has closed.
    pub(super) fn receive(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).ok()?;
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        self.0.read_exact(&mut payload).ok()?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some(Frame { kind: head[3], stream, payload })
    }

    /// Returns the next frame of this kind; `None` once the server has closed.
    pub(super) fn receive_kind(&mut self, kind: u8) -> Option<Frame> {
        loop {
            let frame = self.receive()?;
            if frame.kind == kind {
                return Some(frame);
            }
        }
    }

    /// Waits until the server has seen everything sent so far; `false` once it has closed.
    pub(super) fn sync(&mut self) -> bool {
        self.send(&frame(PING, 0, 0, &[0; 8])) && self.receive_kind(PING).is_some()
    }
}

/// Encodes a frame.
pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Encodes the head of `GET path`.
pub(super) fn get(path: &str) -> Vec<u8> {
    [&[0x82, 0x87][..], &field(4, path), &field(1, "x")].concat()
}

/// Encodes the head of a JSON request to the echo channel.
pub(super) fn post() -> Vec<u8> {
    let content_type = [&[0x0f, 0x10][..], &text("application/json")].concat();
    [&[0x83, 0x87][..], &field(4, "/api/v1/data/e"), &field(1, "x"), &content_type].concat()
}

/// Encodes a header whose name is in the static table, not to be indexed.
fn field(name: u8, value: &str) -> Vec<u8> {
    [&[name][..], &text(value)].concat()
}

fn text(value: &str) -> Vec<u8> {
    [&[u8::try_from(value.len()).unwrap()], value.as_bytes()].concat()
}
