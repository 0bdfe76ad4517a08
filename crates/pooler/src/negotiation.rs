//! The request for TLS at the begin of a connection over TCP, in place of the driver's: that one does not say whether the
//! server offered TLS, and its stream cannot be wrapped.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio_postgres::config::{SslMode, SslNegotiation};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::{Config, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::link::PoolerLink;
use crate::stream::PoolerStream;

/// The message `SSLRequest`: its length and its code.
const REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
const ACCEPTED: u8 = b'S';
const DECLINED: u8 = b'N';

type TlsSession = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;
type HostConnector = <MakeRustlsConnect as MakeTlsConnect<Socket>>::TlsConnect;

/// The request for TLS, and the meaning of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsRequest {
    /// A server that declines is spoken to in plain text.
    Preferred,
    /// A server that declines loses the connection.
    Required,
    /// TLS begins without a request.
    Direct,
}

/// The reason why no TLS session began.
#[derive(Debug, thiserror::Error)]
pub enum NegotiationFailure {
    /// The server declined, and TLS is required.
    #[error("the server offers no TLS")]
    Declined,
    /// The answer was neither of the two that there are.
    #[error("the request for TLS was answered with the byte {0}: is this a PostgreSQL server?")]
    Unexpected(u8),
    /// The connection ended before the answer.
    #[error("the connection broke off before TLS began")]
    Interrupted(#[source] io::Error),
    /// The handshake failed.
    #[error("the handshake failed")]
    Handshake(#[source] io::Error),
}

/// The begin of a connection to one of several hosts.
#[derive(Clone)]
pub struct TlsNegotiation {
    /// `None`: the connection stays plain.
    tls: Option<(MakeRustlsConnect, TlsRequest)>,
    link: PoolerLink,
}

impl TlsNegotiation {
    /// Creates the begin of one connection; without `tls` it stays plain.
    pub fn new(tls: Option<(MakeRustlsConnect, TlsRequest)>) -> Self {
        Self { tls, link: PoolerLink::default() }
    }

    /// Leaves TLS to the negotiation: the driver passes each connection on before it has sent anything.
    pub fn configure(settings: &mut Config) {
        settings.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct);
    }

    /// Returns the facts known of the connection.
    pub fn link(&self) -> &PoolerLink {
        &self.link
    }

    /// Creates the begin of a connection that cancels a statement of this one.
    pub fn for_cancellation(&self) -> Self {
        Self::new(self.tls.clone())
    }
}

impl MakeTlsConnect<Socket> for TlsNegotiation {
    type Stream = PoolerStream<NegotiatedStream>;
    type TlsConnect = HostNegotiation;
    type Error = Infallible;

    fn make_tls_connect(&mut self, host: &str) -> Result<HostNegotiation, Infallible> {
        let tls = self.tls.as_mut().map(|(tls, request)| {
            let Ok(connector) = MakeTlsConnect::<Socket>::make_tls_connect(tls, host);
            (connector, *request)
        });
        Ok(HostNegotiation { tls, link: self.link.clone() })
    }
}

/// The begin of a connection to one host.
pub struct HostNegotiation {
    tls: Option<(HostConnector, TlsRequest)>,
    link: PoolerLink,
}

impl TlsConnect<Socket> for HostNegotiation {
    type Stream = PoolerStream<NegotiatedStream>;
    type Error = NegotiationFailure;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Stream, NegotiationFailure>> + Send>>;

    fn connect(self, mut socket: Socket) -> Self::Future {
        let Self { tls, link } = self;
        Box::pin(async move {
            let offered = match tls {
                Some((connector, request)) => ask(&mut socket, request).await?.then_some(connector),
                None => None,
            };
            let stream = match offered {
                Some(connector) => {
                    link.record_offer();
                    let session = connector.connect(socket).await.map_err(NegotiationFailure::Handshake)?;
                    link.record_encryption();
                    NegotiatedStream::Tls(Box::new(session))
                }
                None => {
                    link.record_plain();
                    NegotiatedStream::Plain(socket)
                }
            };
            Ok(PoolerStream::new(stream, link))
        })
    }
}

/// Asks the server for TLS. Returns `true` if it is to begin.
async fn ask<S>(socket: &mut S, request: TlsRequest) -> Result<bool, NegotiationFailure>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if request == TlsRequest::Direct {
        return Ok(true);
    }
    socket.write_all(&REQUEST).await.map_err(NegotiationFailure::Interrupted)?;
    // One byte and no more: what a third party sent behind it must not count as encrypted.
    match socket.read_u8().await.map_err(NegotiationFailure::Interrupted)? {
        ACCEPTED => Ok(true),
        DECLINED if request == TlsRequest::Preferred => Ok(false),
        DECLINED => Err(NegotiationFailure::Declined),
        other => Err(NegotiationFailure::Unexpected(other)),
    }
}

/// A connection after the request for TLS.
pub enum NegotiatedStream {
    /// Without TLS.
    Plain(Socket),
    /// Within a TLS session.
    Tls(Box<TlsSession>),
}

impl TlsStream for NegotiatedStream {
    fn channel_binding(&self) -> ChannelBinding {
        match self {
            Self::Plain(_) => ChannelBinding::none(),
            Self::Tls(session) => session.channel_binding(),
        }
    }
}

impl AsyncRead for NegotiatedStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_read(cx, buf),
            Self::Tls(session) => Pin::new(session).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for NegotiatedStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write(cx, buf),
            Self::Tls(session) => Pin::new(session).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, bufs),
            Self::Tls(session) => Pin::new(session).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(socket) => socket.is_write_vectored(),
            Self::Tls(session) => session.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Self::Tls(session) => Pin::new(session).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Self::Tls(session) => Pin::new(session).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::DuplexStream;

    use super::*;

    /// Asks a server that gives this answer and then closes. Returns the outcome, the server with the request, and the
    /// client with what it has not read.
    async fn ask_for(
        request: TlsRequest,
        answer: &[u8],
    ) -> (Result<bool, NegotiationFailure>, DuplexStream, DuplexStream) {
        let (mut client, mut server) = tokio::io::duplex(64);
        server.write_all(answer).await.unwrap();
        server.shutdown().await.unwrap();
        let outcome = ask(&mut client, request).await;
        (outcome, server, client)
    }

    #[tokio::test]
    async fn declining_server_is_used_if_tls_is_preferred() {
        for (request, answer, expected) in [
            (TlsRequest::Preferred, b"S", Some(true)),
            (TlsRequest::Preferred, b"N", Some(false)),
            (TlsRequest::Required, b"S", Some(true)),
            (TlsRequest::Required, b"N", None),
        ] {
            let (outcome, mut server, _client) = ask_for(request, answer).await;
            let mut sent = [0; 8];
            server.read_exact(&mut sent).await.unwrap();
            assert_eq!(sent, REQUEST);
            match outcome {
                Err(NegotiationFailure::Declined) => assert_eq!(expected, None),
                outcome => assert_eq!(outcome.ok(), expected, "{request:?}"),
            }
        }
    }

    #[tokio::test]
    async fn answer_of_another_protocol_ends_the_connection() {
        for request in [TlsRequest::Preferred, TlsRequest::Required] {
            let (outcome, ..) = ask_for(request, b"E").await;
            assert!(matches!(outcome, Err(NegotiationFailure::Unexpected(b'E'))), "{outcome:?}");
            let (outcome, ..) = ask_for(request, b"").await;
            assert!(matches!(outcome, Err(NegotiationFailure::Interrupted(_))), "{outcome:?}");
        }
    }

    #[tokio::test]
    async fn byte_after_the_answer_belongs_to_the_session() {
        let (outcome, _server, mut client) = ask_for(TlsRequest::Required, b"Sx").await;
        assert!(matches!(outcome, Ok(true)), "{outcome:?}");
        assert_eq!(client.read_u8().await.unwrap(), b'x');
    }

    #[tokio::test]
    async fn direct_tls_is_begun_without_a_request() {
        let (outcome, mut server, client) = ask_for(TlsRequest::Direct, b"").await;
        assert!(matches!(outcome, Ok(true)), "{outcome:?}");
        drop(client);
        assert_eq!(server.read(&mut [0]).await.unwrap(), 0);
    }
}
