//! TLS for the driver, observed: the driver does not tell whether a server offered it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_postgres::Socket;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres_rustls::MakeRustlsConnect;

type Connector = <MakeRustlsConnect as MakeTlsConnect<Socket>>::TlsConnect;

/// TLS for one connection.
#[derive(Clone)]
pub(super) struct ObservedTls {
    inner: MakeRustlsConnect,
    offered: Arc<AtomicBool>,
}

impl ObservedTls {
    pub(super) fn new(inner: MakeRustlsConnect) -> Self {
        Self { inner, offered: Arc::default() }
    }

    /// Tells whether the server has offered TLS, so that a handshake was begun.
    pub(super) fn is_offered(&self) -> bool {
        self.offered.load(Ordering::Relaxed)
    }
}

impl MakeTlsConnect<Socket> for ObservedTls {
    type Stream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;
    type TlsConnect = ObservedConnector;
    type Error = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Error;

    fn make_tls_connect(&mut self, domain: &str) -> Result<ObservedConnector, Self::Error> {
        let inner = MakeTlsConnect::<Socket>::make_tls_connect(&mut self.inner, domain)?;
        Ok(ObservedConnector { inner, offered: Arc::clone(&self.offered) })
    }
}

/// A handshake that is noted when it begins.
pub(super) struct ObservedConnector {
    inner: Connector,
    offered: Arc<AtomicBool>,
}

impl TlsConnect<Socket> for ObservedConnector {
    type Stream = <Connector as TlsConnect<Socket>>::Stream;
    type Error = <Connector as TlsConnect<Socket>>::Error;
    type Future = <Connector as TlsConnect<Socket>>::Future;

    fn connect(self, stream: Socket) -> Self::Future {
        self.offered.store(true, Ordering::Relaxed);
        self.inner.connect(stream)
    }
}
