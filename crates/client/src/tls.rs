//! TLS settings of the client: those of every outbound connection, and the client's own certificate.

use std::fmt;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::ResolvesClientCert;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use svc_outbound::{Outbound, SetupError, Trust};

/// A certificate with its key, as PEM, for a server that asks clients for one. Never printed.
#[derive(Clone)]
pub struct ClientIdentity {
    /// The certificate, and those that lead to its authority.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientIdentity").finish_non_exhaustive()
    }
}

/// Returns the TLS settings with these trust anchors and this certificate.
pub(crate) fn settings(trust: &Trust, identity: Option<&ClientIdentity>) -> Result<ClientConfig, SetupError> {
    let mut config = Outbound::new(trust)?.tls();
    if let Some(identity) = identity {
        config.client_auth_cert_resolver = resolver(identity)?;
    }
    Ok(config)
}

fn resolver(identity: &ClientIdentity) -> Result<Arc<dyn ResolvesClientCert>, SetupError> {
    let unusable = |error: &dyn fmt::Display| SetupError::Tls(format!("client certificate: {error}"));
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect();
    let chain = chain.map_err(|error| unusable(&error))?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).map_err(|error| unusable(&error))?;
    let certified = CertifiedKey::from_der(chain, key, &ring::default_provider());
    Ok(Arc::new(SingleCertAndKey::from(certified.map_err(|error| unusable(&error))?)))
}
