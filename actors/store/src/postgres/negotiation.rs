//! The request for TLS at the begin of a connection, in place of the driver's: the stream marks errors with their
//! codes whether it is encrypted or not.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rustls::CertificateError;
use svc_pooler::{PoolerLink, PoolerStream};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::time::timeout;
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::sqlstate::MarkedStream;

/// The message `SSLRequest`: its length and its code.
const REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
const ACCEPTED: u8 = b'S';
const DECLINED: u8 = b'N';

type TlsSession = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;

/// The reason why a connection did not become encrypted.
#[derive(Debug, thiserror::Error)]
pub(super) enum TlsFailure {
    #[error(
        "the server offers no TLS and sslmode asks for it: set ssl = on in postgresql.conf, or use sslmode=prefer"
    )]
    NotOffered,
    #[error("{0}")]
    Handshake(String),
    #[error("the connection broke off before TLS began: {0}")]
    Interrupted(io::Error),
    #[error("the request for TLS was answered with the byte {0}: is this a PostgreSQL server?")]
    Unexpected(u8),
    #[error("TLS did not begin within {} s", .0.as_secs())]
    TimedOut(Duration),
}

/// Asks the server of one connection for TLS.
#[derive(Clone)]
pub(super) struct TlsNegotiation {
    /// `None`: TLS is not asked for.
    pub(super) tls: Option<MakeRustlsConnect>,
    /// Ends the connection if the server declines.
    pub(super) is_required: bool,
    pub(super) limit: Duration,
    /// Set once the connection is encrypted.
    pub(super) is_encrypted: Arc<AtomicBool>,
    pub(super) link: PoolerLink,
}

impl MakeTlsConnect<Socket> for TlsNegotiation {
    type Stream = MarkedStream<PoolerStream<NegotiatedStream>>;
    type TlsConnect = HostNegotiation;
    type Error = TlsFailure;

    fn make_tls_connect(&mut self, host: &str) -> Result<HostNegotiation, TlsFailure> {
        Ok(HostNegotiation { negotiation: self.clone(), host: host.to_owned() })
    }
}

/// Asks one host for TLS.
pub(super) struct HostNegotiation {
    negotiation: TlsNegotiation,
    host: String,
}

impl TlsConnect<Socket> for HostNegotiation {
    type Stream = MarkedStream<PoolerStream<NegotiatedStream>>;
    type Error = TlsFailure;
    type Future = BoxFuture<'static, Result<Self::Stream, TlsFailure>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let (limit, link) = (self.negotiation.limit, self.negotiation.link.clone());
            let negotiated = timeout(limit, self.negotiate(socket)).await;
            let negotiated = negotiated.unwrap_or(Err(TlsFailure::TimedOut(limit)))?;
            Ok(MarkedStream::new(PoolerStream::new(negotiated, link)))
        })
    }
}

impl HostNegotiation {
    async fn negotiate(self, mut socket: Socket) -> Result<NegotiatedStream, TlsFailure> {
        let Self { negotiation: TlsNegotiation { tls, is_required, is_encrypted, .. }, host } = self;
        let Some(mut tls) = tls else { return Ok(NegotiatedStream::Plain(socket)) };
        socket.write_all(&REQUEST).await.map_err(TlsFailure::Interrupted)?;
        // One byte and no more: what a third party sent behind it must not count as encrypted.
        match socket.read_u8().await.map_err(TlsFailure::Interrupted)? {
            ACCEPTED => {}
            DECLINED if is_required => return Err(TlsFailure::NotOffered),
            DECLINED => return Ok(NegotiatedStream::Plain(socket)),
            other => return Err(TlsFailure::Unexpected(other)),
        }
        let Ok(session) = MakeTlsConnect::<Socket>::make_tls_connect(&mut tls, &host);
        let session = session.connect(socket).await.map_err(|error| handshake_failure(&error, &host))?;
        is_encrypted.store(true, Ordering::Relaxed);
        Ok(NegotiatedStream::Tls(Box::new(session)))
    }
}

/// Returns the failure of a handshake, with its remedy where there is one.
fn handshake_failure(error: &io::Error, host: &str) -> TlsFailure {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    TlsFailure::Handshake(match cause {
        Some(rustls::Error::InvalidCertificate(reason)) => refused_certificate(reason, host),
        _ => error.to_string(),
    })
}

fn refused_certificate(reason: &CertificateError, host: &str) -> String {
    let remedy = match reason {
        // The second: another authority has the same name.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            ": name the certificate of its authority with sslrootcert=FILE".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!(": connect by a name that it holds, not by '{host}', or use sslmode=verify-ca")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => ": renew it".to_owned(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            ": compare the clocks of both machines".to_owned()
        }
        _ => String::new(),
    };
    format!("the server's certificate is refused ({reason}){remedy}")
}

/// A connection after the request for TLS.
pub(super) enum NegotiatedStream {
    Plain(Socket),
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
