//! The start of a connection, in place of that of the driver, which does not report if a server offered TLS, and whose
//! stream cannot be wrapped.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use svc_pooler::{PoolerLink, PoolerStream};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::drivers::sql::encryption::Encryption;

/// The message `SSLRequest`: its length and its code.
const REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
const ACCEPTED: u8 = b'S';

type TlsSession = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;
type Connector = <MakeRustlsConnect as MakeTlsConnect<Socket>>::TlsConnect;

/// The begin of the connections of one session: the connection itself, and those that cancel its statements.
#[derive(Clone)]
pub(crate) struct ObservedTls {
    inner: MakeRustlsConnect,
    encryption: Encryption,
    /// TLS begins without a request for it.
    is_direct: bool,
    offered: Arc<AtomicBool>,
    link: PoolerLink,
}

impl ObservedTls {
    pub(super) fn new(inner: MakeRustlsConnect, encryption: Encryption, is_direct: bool) -> Self {
        Self { inner, encryption, is_direct, offered: Arc::default(), link: PoolerLink::default() }
    }

    /// Tells whether the server has offered TLS, so that a handshake was begun.
    pub(super) fn is_offered(&self) -> bool {
        self.offered.load(Ordering::Relaxed)
    }

    /// Returns what is known of the connection.
    pub(super) fn link(&self) -> &PoolerLink {
        &self.link
    }

    /// Returns the same for a connection that cancels a statement.
    pub(super) fn for_cancellation(&self) -> Self {
        Self { link: PoolerLink::default(), ..self.clone() }
    }
}

impl MakeTlsConnect<Socket> for ObservedTls {
    type Stream = PoolerStream<NegotiatedSocket>;
    type TlsConnect = ObservedConnector;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> Result<ObservedConnector, io::Error> {
        let Ok(inner) = MakeTlsConnect::<Socket>::make_tls_connect(&mut self.inner, domain);
        Ok(ObservedConnector { inner, begin: self.clone() })
    }
}

/// The begin of one connection.
pub(crate) struct ObservedConnector {
    inner: Connector,
    begin: ObservedTls,
}

impl TlsConnect<Socket> for ObservedConnector {
    type Stream = PoolerStream<NegotiatedSocket>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Stream>>;

    fn connect(self, socket: Socket) -> Self::Future {
        let link = self.begin.link.clone();
        Box::pin(async move { Ok(PoolerStream::new(self.negotiate(socket).await?, link)) })
    }
}

impl ObservedConnector {
    /// Asks for TLS if it is wanted, and begins it if it is offered.
    async fn negotiate(self, mut socket: Socket) -> io::Result<NegotiatedSocket> {
        let Self { inner, begin } = self;
        if begin.encryption == Encryption::Never {
            return Ok(NegotiatedSocket::Plain(socket));
        }
        if begin.is_direct && begin.encryption == Encryption::Preferred {
            return Err(io::Error::other("sslnegotiation=direct needs sslmode=require"));
        }
        if !begin.is_direct {
            socket.write_all(&REQUEST).await?;
            // One byte and no more: what a third party sent behind it must not count as encrypted.
            if socket.read_u8().await? != ACCEPTED {
                return match begin.encryption {
                    Encryption::Required => Err(io::Error::other("server does not support TLS")),
                    _ => Ok(NegotiatedSocket::Plain(socket)),
                };
            }
        }
        begin.offered.store(true, Ordering::Relaxed);
        Ok(NegotiatedSocket::Tls(Box::new(inner.connect(socket).await?)))
    }
}

/// A connection after the request for TLS.
pub(crate) enum NegotiatedSocket {
    Plain(Socket),
    Tls(Box<TlsSession>),
}

impl TlsStream for NegotiatedSocket {
    fn channel_binding(&self) -> ChannelBinding {
        match self {
            Self::Plain(_) => ChannelBinding::none(),
            Self::Tls(session) => session.channel_binding(),
        }
    }
}

impl AsyncRead for NegotiatedSocket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_read(cx, buf),
            Self::Tls(session) => Pin::new(session).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for NegotiatedSocket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write(cx, buf),
            Self::Tls(session) => Pin::new(session).poll_write(cx, buf),
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
