//! The check of a server's certificate against the trust anchors.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// The checks of a certificate that a driver may leave out. Every other connection makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateChecks {
    /// Accepts no certificate that does not name the host.
    pub name: bool,
    /// Accepts no certificate outside its time if it is itself an anchor. One that leads to an anchor is never
    /// accepted outside its time.
    pub time_of_anchor: bool,
}

impl CertificateChecks {
    const ALL: Self = Self { name: true, time_of_anchor: true };
}

/// Accepts a certificate that leads to an anchor, or is one.
#[derive(Clone, Debug)]
pub(crate) struct AnchoredCertificate {
    chains: Arc<WebPkiServerVerifier>,
    anchors: Arc<[CertificateDer<'static>]>,
    checks: CertificateChecks,
}

/// The reason of the library for a certificate of an authority in the place of that of a server.
const OF_AN_AUTHORITY: &str = "CaUsedAsEndEntity";

impl AnchoredCertificate {
    /// Creates the check; `None` without anchors. `roots` are those of `anchors`.
    pub(crate) fn new(
        roots: Arc<RootCertStore>,
        provider: Arc<CryptoProvider>,
        anchors: Arc<[CertificateDer<'static>]>,
    ) -> Option<Self> {
        let chains = WebPkiServerVerifier::builder_with_provider(roots, provider).build().ok()?;
        Some(Self { chains, anchors, checks: CertificateChecks::ALL })
    }

    pub(crate) fn with_checks(&self, checks: CertificateChecks) -> Self {
        Self { checks, ..self.clone() }
    }

    /// Accepts an anchor that names the host. Its uses are not checked: its key could sign any other certificate.
    fn accept_anchor(
        certificate: &CertificateDer<'_>,
        host: &ServerName<'_>,
    ) -> Result<ServerCertVerified, Error> {
        let parsed = ParsedCertificate::try_from(certificate)?;
        verify_server_name(&parsed, host).map(|()| ServerCertVerified::assertion())
    }
}

impl ServerCertVerifier for AnchoredCertificate {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let is_anchor = self.anchors.contains(certificate);
        let outcome = if is_anchor && !self.checks.time_of_anchor {
            Self::accept_anchor(certificate, host)
        } else {
            match self.chains.verify_server_cert(certificate, intermediates, host, ocsp_response, now) {
                // As `openssl req -x509` makes it. Its time has been checked before, its name has not.
                Err(Error::InvalidCertificate(CertificateError::Other(reason)))
                    if is_anchor && reason.0.to_string() == OF_AN_AUTHORITY =>
                {
                    Self::accept_anchor(certificate, host)
                }
                outcome => outcome,
            }
        };
        match outcome {
            // The name is checked after everything else.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks.name => Ok(ServerCertVerified::assertion()),
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}
