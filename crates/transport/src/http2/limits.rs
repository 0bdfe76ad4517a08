//! The bounds of HTTP/2 connections.

use std::net::SocketAddr;

use actix_http::Response;
use actix_http::body::BoxBody;
use h2::server::Builder;

use crate::delegate::TransportDelegate;
use crate::refusal::ConnectionRefusal;
use crate::state::TlsPeer;
use crate::transfer_window::ConnectionTimeouts;

/// Requests of one connection that are served at once; a client waits with more (RFC 9113, 6.5.2, advises no
/// fewer).
const REQUESTS: u32 = 100;
/// Largest head in bytes, counted as the protocol counts it.
pub(super) const HEAD: usize = 32 * 1024;
/// Fields of a head, about as many as HTTP/1.1 takes: each costs memory, whatever its length.
pub(super) const FIELDS: usize = 100;
/// Maximum bytes of memory of the heads of all requests in progress on one connection: a hundred heads of twenty
/// fields.
pub(super) const HEADS: usize = 1024 * 1024;
/// Bytes that a field of a head takes in memory in addition to its text: its place in the map of the request, some 400
/// bytes as measured, and in the copy that the message has.
pub const FIELD_BYTES: usize = 512;
/// Largest head that is decoded, so that its refusal can say why. The protocol refuses a larger one without a body.
const DECODED_HEAD: u32 = 64 * 1024;
/// Bytes of a body that are taken before its handler asks for them.
const BODY_WINDOW: u32 = 64 * 1024;
/// Bytes of all bodies of a connection that are taken before their handlers ask for them.
const CONNECTION_WINDOW: u32 = 512 * 1024;
/// Bytes of a response that wait for the client.
pub(super) const SEND_BUFFER: usize = 32 * 1024;

/// The client of an HTTP/2 connection.
pub(crate) struct Http2Client {
    pub(crate) address: Option<SocketAddr>,
    pub(crate) tls: TlsPeer,
}

/// The limits of a connection, and the reporter of those that a client exceeds.
pub(crate) struct Http2Limits<'a> {
    pub(crate) timeouts: ConnectionTimeouts,
    pub(crate) report: &'a dyn Fn(ConnectionRefusal),
    /// Reports a refused request and makes its response, if the client gets one.
    pub(crate) refuse: &'a dyn Fn(ConnectionRefusal) -> Option<Response<BoxBody>>,
    /// Announces that the connection ends after the requests in progress.
    pub(crate) delegate: &'a dyn TransportDelegate,
}

/// Returns the settings that the client gets.
pub(super) fn settings() -> Builder {
    let mut settings = Builder::new();
    settings
        .max_concurrent_streams(REQUESTS)
        .max_header_list_size(DECODED_HEAD)
        .initial_window_size(BODY_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buffer_size(SEND_BUFFER);
    settings
}
