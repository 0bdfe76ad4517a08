//! SQLSTATE codes of PostgreSQL, made available to the classification of errors.
//!
//! The ORM exposes the text of an error and a few kinds, but not its code, and the text is in the language of
//! the server. This stream therefore puts the code before the text while the error is in transit, and passes
//! everything else through unchanged. It lies within the encryption of the connection, if there is any.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsStream};

/// The mark before the code.
const MARK: &str = "SQLSTATE ";
const CODE: usize = 5;
/// Type byte and length of a message.
const HEADER: usize = 5;
const ERROR_RESPONSE: u8 = b'E';
/// Longest error that is changed; a longer one passes unchanged.
const LONGEST: usize = 1 << 20;

/// Returns the code before the text of an error.
pub(crate) fn code(message: &str) -> Option<&str> {
    message.strip_prefix(MARK)?.get(..CODE)
}

/// A connection whose errors carry their codes before their texts.
pub(crate) struct MarkedStream<S> {
    stream: S,
    marker: Marker,
}

impl<S> MarkedStream<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, marker: Marker::default() }
    }
}

impl<S: TlsStream + Unpin> TlsStream for MarkedStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        self.stream.channel_binding()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for MarkedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if this.marker.serve(buf) {
                return Poll::Ready(Ok(()));
            }
            let before = buf.filled().len();
            match Pin::new(&mut this.stream).poll_read(cx, buf) {
                Poll::Ready(Ok(())) => {}
                other => return other,
            }
            if buf.filled().len() == before {
                // The end of the stream. An error that was cut off is dropped.
                return Poll::Ready(Ok(()));
            }
            let unchanged = this.marker.take(&buf.filled()[before..]);
            buf.set_filled(before + unchanged);
            if unchanged > 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MarkedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A parser of the messages of a server and their lengths. It holds bytes that are not parsed yet or that
/// were changed.
#[derive(Debug, Default)]
struct Marker {
    /// Bytes of the current message that are still to come and pass unchanged.
    passing: usize,
    /// The beginning of an incomplete message: a part of a header, or an error.
    held: Vec<u8>,
    /// Bytes that are passed on before anything else is read.
    ready: Vec<u8>,
    served: usize,
}

impl Marker {
    /// Passes on the ready bytes; `false` if there are none.
    fn serve(&mut self, buf: &mut ReadBuf<'_>) -> bool {
        let rest = &self.ready[self.served..];
        if rest.is_empty() {
            return false;
        }
        let size = rest.len().min(buf.remaining());
        buf.put_slice(&rest[..size]);
        self.served += size;
        if self.served == self.ready.len() {
            self.ready.clear();
            self.served = 0;
        }
        true
    }

    /// Parses received bytes. Returns how many of them, from the first, pass unchanged. The rest is held, and
    /// [`serve`](Self::serve) passes it on.
    fn take(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        if self.held.is_empty() {
            while at < bytes.len() {
                if self.passing > 0 {
                    let size = self.passing.min(bytes.len() - at);
                    (at, self.passing) = (at + size, self.passing - size);
                    continue;
                }
                match whole(&bytes[at..]) {
                    Some(size) if passes(bytes[at], size) => self.passing = size,
                    _ => break,
                }
            }
        }
        self.hold(&bytes[at..]);
        at
    }

    /// Holds bytes, and moves complete messages to `ready`.
    fn hold(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
        let mut at = 0;
        while at < self.held.len() {
            let rest = &self.held[at..];
            let Some(size) = whole(rest) else { break };
            if passes(rest[0], size) {
                let here = size.min(rest.len());
                self.ready.extend_from_slice(&rest[..here]);
                (at, self.passing) = (at + here, size - here);
            } else if let Some(error) = rest.get(..size) {
                mark(error, &mut self.ready);
                at += size;
            } else {
                break;
            }
        }
        self.held.drain(..at);
    }
}

/// Returns the size of the message that begins here, including its header; `None` if the header is
/// incomplete.
fn whole(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(1..HEADER)?.try_into().ok()?;
    // The length counts itself but not the type byte.
    Some((u32::from_be_bytes(length) as usize).saturating_add(1).max(HEADER))
}

const fn passes(kind: u8, size: usize) -> bool {
    kind != ERROR_RESPONSE || size > LONGEST
}

/// Writes an error with its code before its text.
fn mark(error: &[u8], out: &mut Vec<u8>) {
    let (header, body) = error.split_at(HEADER);
    let fields = || body.split(|byte| *byte == 0).filter(|field| !field.is_empty());
    let code = fields().find_map(|field| field.strip_prefix(b"C")).filter(|code| code.len() == CODE);
    let Some(code) = code else { return out.extend_from_slice(error) };
    let mut marked = Vec::with_capacity(body.len() + MARK.len() + CODE + 2);
    for field in fields() {
        marked.push(field[0]);
        if field[0] == b'M' {
            marked.extend_from_slice(MARK.as_bytes());
            marked.extend_from_slice(code);
            marked.extend_from_slice(b": ");
        }
        marked.extend_from_slice(&field[1..]);
        marked.push(0);
    }
    marked.push(0);
    match u32::try_from(marked.len() + HEADER - 1) {
        Ok(length) => {
            out.push(header[0]);
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(&marked);
        }
        Err(_) => out.extend_from_slice(error),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap();
        [&[kind][..], &length.to_be_bytes(), body].concat()
    }

    /// Reads a stream that arrives in pieces of one size, into a buffer of another size.
    async fn read(sent: &[u8], piece: usize, buffer: usize) -> Vec<u8> {
        let mut builder = tokio_test_io(sent, piece);
        let mut read = Vec::new();
        let mut space = vec![0; buffer];
        loop {
            match builder.read(&mut space).await.unwrap() {
                0 => return read,
                size => read.extend_from_slice(&space[..size]),
            }
        }
    }

    struct Pieces<'s> {
        sent: &'s [u8],
        piece: usize,
    }

    impl AsyncRead for Pieces<'_> {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let size = self.piece.min(self.sent.len()).min(buf.remaining());
            let (now, later) = self.sent.split_at(size);
            buf.put_slice(now);
            self.sent = later;
            Poll::Ready(Ok(()))
        }
    }

    fn tokio_test_io(sent: &[u8], piece: usize) -> MarkedStream<Pieces<'_>> {
        MarkedStream::new(Pieces { sent, piece })
    }

    #[tokio::test]
    async fn errors_are_marked_however_the_bytes_arrive() {
        let german = "Verklemmung entdeckt".as_bytes();
        let error = [b"SERROR\0VERROR\0C40P01\0M", german, b"\0DProzess 1\0\0"].concat();
        let marked = [b"SERROR\0VERROR\0C40P01\0MSQLSTATE 40P01: ", german, b"\0DProzess 1\0\0"].concat();
        let row = message(b'D', &[b'E'; 300]);
        let sent = [
            row.clone(),
            message(b'E', &error),
            message(b'Z', b"I"),
            message(b'E', b"Mwithout a code\0\0"),
            row.clone(),
            message(b'I', b""),
        ]
        .concat();
        let expected = [
            row.clone(),
            message(b'E', &marked),
            message(b'Z', b"I"),
            message(b'E', b"Mwithout a code\0\0"),
            row,
            message(b'I', b""),
        ]
        .concat();
        for piece in [1, 2, 3, 4, 5, 7, 64, 305, 310, 1000] {
            for buffer in [1, 6, 50, 4096] {
                assert_eq!(read(&sent, piece, buffer).await, expected, "{piece} {buffer}");
            }
        }
    }

    #[test]
    fn codes_are_read_from_marked_texts_alone() {
        assert_eq!(code("SQLSTATE 40P01: deadlock detected"), Some("40P01"));
        assert_eq!(code("deadlock detected"), None);
        assert_eq!(code("SQLSTATE 4"), None);
    }
}
