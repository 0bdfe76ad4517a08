//! TLS at the begin of a connection, within a limit of time: failures name their remedies, and the stream marks errors with
//! their codes whether it is encrypted or not.

use std::io;
use std::time::Duration;

use futures_util::future::BoxFuture;
use rustls::CertificateError;
use svc_pooler::{HostNegotiation, NegotiatedStream, NegotiationFailure, PoolerStream, TlsNegotiation};
use tokio::time::timeout;
use tokio_postgres::Socket;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};

use crate::connections::sqlstate::MarkedStream;

/// The stream of a connection over TCP.
pub(super) type StoreStream = MarkedStream<PoolerStream<NegotiatedStream>>;

/// The reason why a connection did not become encrypted.
#[derive(Debug, thiserror::Error)]
pub(super) enum TlsFailure {
    #[error(
        "the server offers no TLS and sslmode asks for it: set ssl = on in postgresql.conf, or use sslmode=prefer"
    )]
    NotOffered,
    #[error("{0}")]
    Handshake(String),
    #[error(transparent)]
    NotBegun(NegotiationFailure),
    #[error("TLS did not begin within {} s", .0.as_secs())]
    TimedOut(Duration),
}

impl TlsFailure {
    fn from_negotiation(failure: NegotiationFailure, host: &str) -> Self {
        match failure {
            NegotiationFailure::Declined => Self::NotOffered,
            NegotiationFailure::Handshake(error) => handshake_failure(&error, host),
            failure @ (NegotiationFailure::Unexpected(_) | NegotiationFailure::Interrupted(_)) => {
                Self::NotBegun(failure)
            }
        }
    }

    /// Returns whether the same server may take a plain connection.
    pub(super) fn may_succeed_plain(&self) -> bool {
        matches!(self, Self::Handshake(_) | Self::NotBegun(NegotiationFailure::Interrupted(_)))
    }
}

/// The begin of one connection.
#[derive(Clone)]
pub(super) struct StoreNegotiation {
    pub(super) tls: TlsNegotiation,
    pub(super) limit: Duration,
}

impl MakeTlsConnect<Socket> for StoreNegotiation {
    type Stream = StoreStream;
    type TlsConnect = StoreHost;
    type Error = TlsFailure;

    fn make_tls_connect(&mut self, host: &str) -> Result<StoreHost, TlsFailure> {
        let Ok(negotiation) = self.tls.make_tls_connect(host);
        Ok(StoreHost { negotiation, limit: self.limit, host: host.to_owned() })
    }
}

/// The begin of a connection to one host.
pub(super) struct StoreHost {
    negotiation: HostNegotiation,
    limit: Duration,
    host: String,
}

impl TlsConnect<Socket> for StoreHost {
    type Stream = StoreStream;
    type Error = TlsFailure;
    type Future = BoxFuture<'static, Result<StoreStream, TlsFailure>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let negotiated = timeout(self.limit, self.negotiation.connect(socket)).await;
            let negotiated = negotiated.map_err(|_| TlsFailure::TimedOut(self.limit))?;
            let stream = negotiated.map_err(|failure| TlsFailure::from_negotiation(failure, &self.host))?;
            Ok(MarkedStream::new(stream))
        })
    }
}

/// Returns the failure of a handshake, with its remedy if there is one.
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
