//! The end of listening without losing connections that the kernel has accepted.
//!
//! Closing a listening socket resets every connection in its backlog. The end therefore has two steps: first
//! the packets of new connections are dropped while the server accepts the backlog, then new connections are
//! refused.
//!
//! A socket of the service manager stays open in its process: it only stops to accept, and what the kernel keeps
//! meanwhile is served by the next process.

use std::io;
use std::net::{Shutdown, TcpListener};
use std::time::Duration;

use actix_web::dev::ServerHandle;
use socket2::SockRef;

/// Time for the connections of the backlog to be accepted, and for accepted ones to send their request.
const LAST_CALL: Duration = Duration::from_millis(200);

/// A second handle on the socket that a server accepts from; `None` for sockets of the service manager.
#[derive(Debug)]
pub(crate) struct ListenerShutdown(Option<TcpListener>);

impl ListenerShutdown {
    /// Prepares the end of a socket that this process has bound.
    pub(crate) fn new(listener: &TcpListener) -> io::Result<Self> {
        listener.try_clone().map(|listener| Self(Some(listener)))
    }

    /// Prepares the end of sockets that the next process goes on with.
    pub(crate) fn of_passed_sockets() -> Self {
        Self(None)
    }

    /// Stops accepting. Accepted connections go on.
    pub(crate) async fn close(&self, server: &ServerHandle) {
        let Some(listener) = &self.0 else {
            server.pause().await;
            return tokio::time::sleep(LAST_CALL).await;
        };
        let socket = SockRef::from(listener);
        // Without such a filter the backlog is closed as it is.
        if drop_new_handshakes(&socket).is_ok() {
            tokio::time::sleep(LAST_CALL).await;
        }
        server.pause().await;
        // A socket that cannot be shut down refuses connections once the server has ended.
        let _ = socket.shutdown(Shutdown::Read);
    }
}

/// Drops the packets that ask for a new connection (SYN without ACK), so that handshakes underway complete
/// and no new one begins. Their senders retry after a second and are refused then.
#[cfg(target_os = "linux")]
fn drop_new_handshakes(listener: &SockRef<'_>) -> io::Result<()> {
    use socket2::SockFilter;

    // Classic BPF over the TCP header: load the byte of flags, keep the packet when ACK is among them.
    const LOAD_BYTE: u16 = 0x30;
    const JUMP_IF_SET: u16 = 0x45;
    const RETURN: u16 = 0x06;
    const FLAGS: u32 = 13;
    const ACK: u32 = 0x10;
    listener.attach_filter(&[
        SockFilter::new(LOAD_BYTE, 0, 0, FLAGS),
        SockFilter::new(JUMP_IF_SET, 0, 1, ACK),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
        SockFilter::new(RETURN, 0, 0, 0),
    ])
}

#[cfg(not(target_os = "linux"))]
fn drop_new_handshakes(_: &SockRef<'_>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
