//! The trust anchors of TLS connections.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::anchored_certificate::AnchoredCertificate;
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

/// The TLS settings, their anchors and the check against these, and the errors of reading them.
pub(crate) struct TlsSetup {
    pub(crate) config: ClientConfig,
    pub(crate) anchors: Arc<[CertificateDer<'static>]>,
    /// `None` without anchors.
    pub(crate) verifier: Option<AnchoredCertificate>,
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
        let anchors: Arc<[CertificateDer<'static>]> = anchors.into();
        let verifier = AnchoredCertificate::new(roots, provider, Arc::clone(&anchors));
        // Without anchors there is none, and no certificate is trusted.
        if let Some(verifier) = &verifier {
            config.dangerous().set_certificate_verifier(Arc::new(verifier.clone()));
        }
        Ok(TlsSetup { config, anchors, verifier, warnings })
    }
}
