//! The trust anchors of TLS connections.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::error::SetupError;

/// The source of the trust anchors, which are read once.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// The anchors of the system, or instead of them those in the file `SSL_CERT_FILE` and the directories
    /// `SSL_CERT_DIR`.
    #[default]
    System,
    /// These anchors alone, as PEM.
    Only(String),
}

/// The TLS settings, their anchors, and the errors of reading them.
pub(crate) struct TlsSetup {
    pub(crate) config: ClientConfig,
    pub(crate) anchors: Vec<CertificateDer<'static>>,
    pub(crate) warnings: Vec<String>,
}

impl Trust {
    /// Loads the anchors. An unreadable store is a warning: a service without anchors must still start.
    pub(crate) fn load(&self) -> Result<TlsSetup, SetupError> {
        let mut roots = RootCertStore::empty();
        let (mut anchors, mut warnings) = (Vec::new(), Vec::new());
        match self {
            Self::System => {
                let native = rustls_native_certs::load_native_certs();
                warnings.extend(native.errors.iter().map(ToString::to_string));
                let read = native.certs.len();
                anchors.extend(native.certs.into_iter().filter(|anchor| roots.add(anchor.clone()).is_ok()));
                let ignored = read - anchors.len();
                if ignored > 0 {
                    warnings.push(format!("{ignored} certificates are not usable as trust anchors"));
                }
            }
            Self::Only(pem) => {
                for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                    let certificate = certificate.map_err(|error| SetupError::Anchor(error.to_string()))?;
                    roots.add(certificate.clone()).map_err(|error| SetupError::Anchor(error.to_string()))?;
                    anchors.push(certificate);
                }
            }
        }
        // The provider is named here, so that none has to be installed for the whole process.
        let (provider, roots) = (Arc::new(ring::default_provider()), Arc::new(roots));
        let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| SetupError::Tls(error.to_string()))?
            .with_root_certificates(Arc::clone(&roots))
            .with_no_client_auth();
        // Without anchors there is none, and no certificate is trusted.
        if let Ok(chains) = WebPkiServerVerifier::builder_with_provider(roots, provider).build() {
            let verifier = AnchoredCertificate { chains, anchors: anchors.clone() };
            config.dangerous().set_certificate_verifier(Arc::new(verifier));
        }
        Ok(TlsSetup { config, anchors, warnings })
    }
}

/// Accepts a certificate that leads to an anchor, or is one.
#[derive(Debug)]
struct AnchoredCertificate {
    chains: Arc<WebPkiServerVerifier>,
    anchors: Vec<CertificateDer<'static>>,
}

/// The reason of the library for a certificate of an authority in the place of that of a server.
const OF_AN_AUTHORITY: &str = "CaUsedAsEndEntity";

impl ServerCertVerifier for AnchoredCertificate {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.chains.verify_server_cert(certificate, intermediates, host, ocsp_response, now) {
            // As `openssl req -x509` makes it. Its time has been checked before, its name has not. Its uses are not
            // checked: its key could sign any other certificate.
            Err(Error::InvalidCertificate(CertificateError::Other(reason)))
                if reason.0.to_string() == OF_AN_AUTHORITY && self.anchors.contains(certificate) =>
            {
                let parsed = ParsedCertificate::try_from(certificate)?;
                verify_server_name(&parsed, host).map(|()| ServerCertVerified::assertion())
            }
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
