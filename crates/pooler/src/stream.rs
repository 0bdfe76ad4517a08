//! The stream of a connection.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsStream};

use crate::incoming::Incoming;
use crate::link::PoolerLink;
use crate::outgoing::Outgoing;

/// Bytes that wait for the server above which no more are taken from the driver.
const MAX_WAITING: usize = 256 * 1024;
/// Bytes that are read at once behind a pooler.
const READ: usize = 16 * 1024;

/// A stream over which the driver speaks to a server, or to a pooler in front of it. It lies within the encryption of the
/// connection, if there is any.
#[derive(Debug)]
pub struct PoolerStream<S> {
    inner: S,
    link: PoolerLink,
    incoming: Incoming,
    outgoing: Outgoing,
    /// Bytes for the driver.
    read: BytesMut,
}

impl<S> PoolerStream<S> {
    /// Wraps the stream of a connection before its first message. `link` belongs to it alone.
    pub fn new(inner: S, link: PoolerLink) -> Self {
        Self {
            inner,
            link,
            incoming: Incoming::default(),
            outgoing: Outgoing::default(),
            read: BytesMut::new(),
        }
    }
}

impl<S: AsyncWrite + Unpin> PoolerStream<S> {
    /// Writes what waits for the server.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.outgoing.output.has_remaining() {
            let written = ready!(Pin::new(&mut self.inner).poll_write(cx, &self.outgoing.output))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.outgoing.output.advance(written);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: TlsStream + Unpin> TlsStream for PoolerStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        self.inner.channel_binding()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PoolerStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if !this.link.is_pooled() {
            let before = buf.filled().len();
            ready!(Pin::new(&mut this.inner).poll_read(cx, buf))?;
            if this.link.is_unknown() {
                this.incoming.observe(&buf.filled()[before..], &this.link);
            }
            return Poll::Ready(Ok(()));
        }
        while this.read.is_empty() {
            let mut bytes = [0; READ];
            let mut arrived = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut this.inner).poll_read(cx, &mut arrived))?;
            if arrived.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            this.incoming.pass(arrived.filled(), &mut this.outgoing.trips, &mut this.read);
        }
        let count = this.read.len().min(buf.remaining());
        buf.put_slice(&this.read.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PoolerStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if !self.link.is_pooled() {
            return Pin::new(&mut self.inner).poll_write(cx, buf);
        }
        if self.outgoing.output.len() >= MAX_WAITING {
            ready!(self.poll_drain(cx))?;
        }
        self.outgoing.take(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if !self.link.is_pooled() {
            return Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        }
        let first = bufs.iter().find(|buf| !buf.is_empty()).map_or(&[][..], |buf| buf);
        self.poll_write(cx, first)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
