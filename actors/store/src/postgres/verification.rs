//! The check of a server's certificate.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use svc_outbound::{CertificateChecks, Outbound, Trust};

use super::tls_mode::TlsMode;

/// Returns the TLS settings of a mode; `None` if nothing is encrypted.
///
/// # Errors
/// A text that names the parameter: the anchors cannot be used.
pub(super) fn client_config(mode: &TlsMode) -> Result<Option<ClientConfig>, String> {
    let (trust, name) = match mode {
        TlsMode::Disable => return Ok(None),
        TlsMode::Prefer | TlsMode::Require => return unchecking().map(Some),
        TlsMode::VerifyCa(trust) => (trust, false),
        TlsMode::VerifyFull(trust) => (trust, true),
    };
    let outbound = read(trust)?;
    if outbound.anchors() == 0 {
        return Err(unusable("the system has no root certificates"));
    }
    // A certificate in the file of `sslrootcert` is trusted as it is.
    Ok(Some(outbound.tls_with_checks(CertificateChecks { name, time_of_anchor: false })))
}

/// Returns the settings of outbound connections without a check of certificates.
fn unchecking() -> Result<ClientConfig, String> {
    let mut config = read(&Trust::Only(String::new()))?.tls();
    let unchecked = UncheckedCertificate(Arc::new(ring::default_provider()));
    config.dangerous().set_certificate_verifier(Arc::new(unchecked));
    Ok(config)
}

fn read(trust: &Trust) -> Result<Outbound, String> {
    Outbound::new(trust).map_err(unusable)
}

fn unusable(error: impl fmt::Display) -> String {
    format!("sslrootcert: {error}: name a PEM file with root certificates")
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
