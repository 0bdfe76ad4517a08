//! The bytes of a client: in plain text, or within TLS.

use std::io::{self, IoSlice, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use actix_rt::net::TcpStream;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use super::tls::HTTP_2;

/// The first byte of every TLS connection: the content type of a handshake record (RFC 8446, 5.1).
const HANDSHAKE: u8 = 0x16;

/// The socket of a client.
pub(super) struct Socket {
    stream: TcpStream,
    /// Asks the system itself, without the poller, whose view may be out of date.
    is_direct: bool,
    /// Bytes written since they were last taken.
    sent: usize,
    /// Nothing was read yet of a connection that must begin with TLS.
    expects_tls: bool,
}

impl Socket {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, is_direct: false, sent: 0, expects_tls: false }
    }

    /// Makes a socket whose first byte must begin a TLS handshake: anything else is an error of the kind
    /// [`Unsupported`](io::ErrorKind::Unsupported), before any answer in TLS is written.
    pub(super) fn expecting_tls(stream: TcpStream) -> Self {
        Self { expects_tls: true, ..Self::new(stream) }
    }

    pub(super) fn raw(&self) -> SockRef<'_> {
        SockRef::from(&self.stream)
    }

    /// Returns the number of bytes written since the last call.
    fn take_sent(&mut self) -> usize {
        std::mem::take(&mut self.sent)
    }

    fn check_first_byte(&mut self, received: &[u8]) -> io::Result<()> {
        let Some(first) = received.first().filter(|_| self.expects_tls) else { return Ok(()) };
        self.expects_tls = false;
        if *first == HANDSHAKE { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
    }
}

/// Returns the result of a direct call; the waker is the one that an earlier call by the poller has left.
fn poll_directly<T>(mut call: impl FnMut() -> io::Result<T>) -> Poll<io::Result<T>> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
            done => return Poll::Ready(done),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        if this.is_direct {
            let count = ready!(poll_directly(|| (&*this.raw()).read(buffer.initialize_unfilled())))?;
            buffer.advance(count);
        } else {
            ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        }
        Poll::Ready(this.check_first_byte(&buffer.filled()[before..]))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let count = if this.is_direct {
            ready!(poll_directly(|| (&*this.raw()).write(bytes)))?
        } else {
            ready!(Pin::new(&mut this.stream).poll_write(context, bytes))?
        };
        this.sent += count;
        Poll::Ready(Ok(count))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let count = if this.is_direct {
            ready!(poll_directly(|| (&*this.raw()).write_vectored(parts)))?
        } else {
            ready!(Pin::new(&mut this.stream).poll_write_vectored(context, parts))?
        };
        this.sent += count;
        Poll::Ready(Ok(count))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

pub(super) enum ClientStream {
    /// Plain text.
    Plain(Socket),
    /// Within TLS, after the handshake.
    Tls(Box<TlsStream<Socket>>),
}

impl ClientStream {
    pub(super) fn socket_mut(&mut self) -> &mut Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.get_mut().0,
        }
    }

    /// Returns `true` if client and server have agreed on HTTP/2.
    pub(super) fn is_http2(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(stream) => stream.get_ref().1.alpn_protocol() == Some(HTTP_2),
        }
    }

    /// Returns the number of bytes that the system took since the last call. Within TLS that is not what was
    /// written, which may wait in a buffer.
    pub(super) fn take_sent(&mut self) -> usize {
        self.socket_mut().take_sent()
    }

    /// Runs an attempt to read or write that asks the system itself instead of the poller.
    pub(super) fn attempt_directly<T>(&mut self, attempt: impl FnOnce(&mut Self) -> T) -> T {
        self.socket_mut().is_direct = true;
        let result = attempt(self);
        self.socket_mut().is_direct = false;
        result
    }
}

/// Calls a method of the stream inside.
macro_rules! inner {
    ($stream:expr, $method:ident($($argument:expr),*)) => {
        match $stream.get_mut() {
            Self::Plain(socket) => Pin::new(socket).$method($($argument),*),
            Self::Tls(stream) => Pin::new(&mut **stream).$method($($argument),*),
        }
    };
}

impl AsyncRead for ClientStream {
    /// A client that closes its socket without ending TLS first is at the end of its input as well; bodies
    /// state their length.
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match ready!(inner!(self, poll_read(context, buffer))) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(())),
            read => Poll::Ready(read),
        }
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        inner!(self, poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        inner!(self, poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        inner!(self, poll_shutdown(context))
    }
}
