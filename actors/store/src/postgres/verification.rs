//! The check of a server's certificate.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use svc_outbound::{Outbound, Trust};

use super::tls_mode::TlsMode;

/// Returns the TLS settings of a mode; `None` if nothing is encrypted.
///
/// # Errors
/// A text that names the parameter: the anchors cannot be used.
pub(super) fn client_config(mode: &TlsMode) -> Result<Option<ClientConfig>, String> {
    let (trust, checks_name) = match mode {
        TlsMode::Disable => return Ok(None),
        TlsMode::Prefer | TlsMode::Require => {
            let unchecked = UncheckedCertificate(Arc::new(ring::default_provider()));
            return Ok(Some(verifying(&read(&Trust::Only(String::new()))?, Arc::new(unchecked))));
        }
        TlsMode::VerifyCa(trust) => (trust, false),
        TlsMode::VerifyFull(trust) => (trust, true),
    };
    let outbound = read(trust)?;
    let anchors = outbound.anchor_certificates().to_vec();
    if anchors.is_empty() {
        return Err(unusable("the system has no root certificates"));
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(anchors.iter().cloned());
    let provider = Arc::new(ring::default_provider());
    let issuer = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let issuer = issuer.map_err(unusable)?;
    Ok(Some(verifying(&outbound, Arc::new(AnchoredCertificate { issuer, anchors, checks_name }))))
}

fn read(trust: &Trust) -> Result<Outbound, String> {
    Outbound::new(trust).map_err(unusable)
}

fn unusable(error: impl fmt::Display) -> String {
    format!("sslrootcert: {error}: name a PEM file with root certificates")
}

/// Returns the settings of outbound connections with this check of certificates.
fn verifying(outbound: &Outbound, verifier: Arc<dyn ServerCertVerifier>) -> ClientConfig {
    let mut config = outbound.tls();
    config.dangerous().set_certificate_verifier(verifier);
    config
}

/// Accepts every certificate. The handshake still proves that the server has the key of the one it shows.
#[derive(Debug)]
struct UncheckedCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for UncheckedCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Accepts a certificate that leads to an anchor, or is one.
#[derive(Debug)]
struct AnchoredCertificate {
    issuer: Arc<WebPkiServerVerifier>,
    anchors: Vec<CertificateDer<'static>>,
    /// Accepts no certificate that does not name the host.
    checks_name: bool,
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
        let outcome = if self.anchors.contains(certificate) {
            // Self-signed, and trusted as it is.
            let parsed = ParsedCertificate::try_from(certificate)?;
            verify_server_name(&parsed, host).map(|()| ServerCertVerified::assertion())
        } else {
            self.issuer.verify_server_cert(certificate, intermediates, host, ocsp_response, now)
        };
        match outcome {
            // The name is checked after everything else.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_name => Ok(ServerCertVerified::assertion()),
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.issuer.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.issuer.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.issuer.supported_verify_schemes()
    }
}
