//! TLS of a listener, and the certificate that a client has proved.

use std::fmt;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use tokio_rustls::TlsAcceptor;

/// The name of HTTP/2 among the protocols within TLS.
pub const HTTP_2: &[u8] = b"h2";

/// The TLS settings of a listener, which may be replaced while connections go on.
pub trait TlsProvider: Send + Sync {
    /// Returns the acceptor of the next connection.
    fn acceptor(&self) -> TlsAcceptor;

    /// Returns true while a certificate of a client counts: it has not expired, and its authority is still named. The
    /// own certificate of the client comes first in the chain.
    fn accepts_client(&self, chain: &[CertificateDer<'static>]) -> bool;
}

/// The certificate that a client has proved in the handshake of its connection.
pub(crate) struct ClientCertificate {
    chain: Vec<CertificateDer<'static>>,
    provider: Arc<dyn TlsProvider>,
}

impl ClientCertificate {
    /// Takes the certificate of a client, which comes first, and those after it.
    pub(crate) fn new(chain: &[CertificateDer<'_>], provider: Arc<dyn TlsProvider>) -> Self {
        let chain = chain.iter().map(|certificate| certificate.clone().into_owned()).collect();
        Self { chain, provider }
    }

    /// Returns true while the certificate counts.
    pub(crate) fn is_accepted(&self) -> bool {
        self.provider.accepts_client(&self.chain)
    }
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCertificate").finish_non_exhaustive()
    }
}
