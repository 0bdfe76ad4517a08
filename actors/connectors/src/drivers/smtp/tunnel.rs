//! A TLS connection, in the form the mail library takes.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// The library waits for a greeting on every connection, and after `STARTTLS` no server sends another.
const GREETING: &[u8] = b"220 TLS\r\n";

/// A connection under TLS.
#[derive(Debug)]
pub(super) struct Tunnel {
    /// Bytes that are read before those of the server.
    greeting: &'static [u8],
    stream: TlsStream<TcpStream>,
}

impl Tunnel {
    /// Wraps a connection under TLS from its first byte: the server greets.
    pub(super) fn implicit(stream: TlsStream<TcpStream>) -> Self {
        Self { greeting: &[], stream }
    }

    /// Wraps a connection after `STARTTLS`: the server has greeted already.
    pub(super) fn from_tls(stream: TlsStream<TcpStream>) -> Self {
        Self { greeting: GREETING, stream }
    }
}

impl AsyncTokioStream for Tunnel {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.get_ref().0.peer_addr()
    }
}

impl AsyncRead for Tunnel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.greeting.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buf);
        }
        let (now, later) = self.greeting.split_at(self.greeting.len().min(buf.remaining()));
        buf.put_slice(now);
        self.greeting = later;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tunnel {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
