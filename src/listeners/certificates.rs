//! The certificate of the listeners: loaded at the start, replaced while connections go on.
//!
//! A connection keeps the settings it was accepted with; the next one gets the newest. The certificate of a client is
//! verified anew whenever it is asked for. Files that cannot be
//! used change nothing: the previous certificate stays in use, and the log and `/health` report it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig};
use sha2::{Digest, Sha256};
use slog::{Logger, error, info};
use svc_outbound::describe_cause;
use svc_transport::{HTTP_2, TlsProvider};
use tokio::runtime::Handle;
use tokio_rustls::TlsAcceptor;

use super::certificate_expiry::read_expiry;
use crate::config::{TlsSection, TlsVersion};

/// Time between two looks at the files.
const INTERVAL: Duration = Duration::from_secs(1);
/// The protocols within TLS, in the order of preference.
const PROTOCOLS: [&[u8]; 2] = [HTTP_2, b"http/1.1"];

/// The certificate in use, with its key and the authorities of clients.
pub(crate) struct Certificates {
    section: TlsSection,
    current: ArcSwap<TlsSettings>,
    last: Mutex<LastAttempt>,
    log: Logger,
}

/// The settings that are in use.
struct TlsSettings {
    server: Arc<ServerConfig>,
    /// The verifier of the certificates of clients; `None` if no authority is named.
    clients: Option<Arc<dyn ClientCertVerifier>>,
    /// The end of the validity of the certificate, in seconds of Unix time.
    expiry: Option<i64>,
}

/// The files that were tried last, and the reason for which they are not in use.
struct LastAttempt {
    fingerprint: Fingerprint,
    problem: Option<String>,
}

/// The digest of the files, or of the error of reading them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fingerprint([u8; 32]);

impl Fingerprint {
    fn from_files(files: &Result<CertificateFiles, String>) -> Self {
        let mut digest = Sha256::new();
        match files {
            Ok(files) => {
                for file in [Some(&files.chain), Some(&files.key), files.client_ca.as_ref()] {
                    // The length separates the files.
                    digest.update(file.map_or(0, Vec::len).to_be_bytes());
                    digest.update(file.map_or(&[][..], Vec::as_slice));
                }
            }
            Err(problem) => digest.update(problem),
        }
        Self(digest.finalize().into())
    }
}

/// The contents of the files.
struct CertificateFiles {
    chain: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

impl CertificateFiles {
    fn read(section: &TlsSection) -> Result<Self, String> {
        let read = |key: &str, path: &str| {
            std::fs::read(path).map_err(|error| {
                format!("server.tls.{key}: cannot read {path:?}: {}", describe_cause(&error))
            })
        };
        let client_ca = Some(&section.client_ca_path).filter(|path| !path.is_empty());
        Ok(Self {
            chain: read("cert_path", &section.cert_path)?,
            key: read("key_path", &section.key_path)?,
            client_ca: client_ca.map(|path| read("client_ca_path", path)).transpose()?,
        })
    }

    /// Makes the settings of a server. An error names the file that is wrong.
    fn build(&self, section: &TlsSection) -> Result<TlsSettings, String> {
        let chain = parse_certificates(&self.chain)
            .map_err(|problem| format!("server.tls.cert_path: {:?}: {problem}", section.cert_path))?;
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|_| {
            format!(
                "server.tls.key_path: {:?} holds no private key as PEM without a passphrase",
                section.key_path
            )
        })?;
        let versions: &[_] = match section.min_version {
            TlsVersion::Tls12 => &[&TLS13, &TLS12],
            TlsVersion::Tls13 => &[&TLS13],
        };
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(|error| format!("server.tls.min_version: {error}"))?;
        let clients: Option<Arc<dyn ClientCertVerifier>> = match &self.client_ca {
            None => None,
            Some(authorities) => {
                let refused = |problem: String| {
                    format!("server.tls.client_ca_path: {:?}: {problem}", section.client_ca_path)
                };
                let mut roots = RootCertStore::empty();
                for authority in parse_certificates(authorities).map_err(refused)? {
                    roots.add(authority).map_err(|error| refused(error.to_string()))?;
                }
                // A client may come without a certificate: only the admin API asks for it.
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                    .allow_unauthenticated()
                    .build()
                    .map_err(|error| refused(error.to_string()))?;
                Some(verifier)
            }
        };
        let builder = match &clients {
            None => builder.with_no_client_auth(),
            Some(verifier) => builder.with_client_cert_verifier(Arc::clone(verifier)),
        };
        let expiry = chain.first().and_then(|certificate| read_expiry(certificate));
        let mut config = builder.with_single_cert(chain, key).map_err(|error| {
            format!(
                "server.tls: the key in {:?} does not fit the certificate in {:?}: {error}",
                section.key_path, section.cert_path
            )
        })?;
        let protocols = if section.http2 { &PROTOCOLS[..] } else { &PROTOCOLS[1..] };
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Ok(TlsSettings { server: Arc::new(config), clients, expiry })
    }
}

fn parse_certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|error| format!("not a certificate as PEM: {error}"))?;
    if certificates.is_empty() { Err("holds no certificate as PEM".to_owned()) } else { Ok(certificates) }
}

impl Certificates {
    /// Loads the files.
    ///
    /// # Errors
    /// The setting, its file and the problem.
    pub(crate) fn load(section: &TlsSection, log: Logger) -> Result<Arc<Self>, String> {
        let files = CertificateFiles::read(section);
        let fingerprint = Fingerprint::from_files(&files);
        let current = ArcSwap::from_pointee(files?.build(section)?);
        let last = Mutex::new(LastAttempt { fingerprint, problem: None });
        Ok(Arc::new(Self { section: section.clone(), current, last, log }))
    }

    /// Starts to look for changed files each second, on a runtime, until the certificates are dropped.
    pub(crate) fn watch(self: &Arc<Self>, runtime: &Handle) {
        runtime.spawn(follow_changes(Arc::downgrade(self)));
    }

    /// Returns the reason for which the newest files are not in use.
    pub(crate) fn problem(&self) -> Option<String> {
        self.last.lock().problem.clone()
    }

    /// Returns the end of the validity of the certificate in use, in seconds of Unix time.
    pub(crate) fn expiry(&self) -> Option<i64> {
        self.current.load().expiry
    }

    /// Reads the files again, changed or not.
    pub(crate) fn reload(&self) {
        self.apply(CertificateFiles::read(&self.section));
    }

    /// Looks at the files. Changed ones are used once two looks in a row have seen the same, so that files
    /// that are replaced one after another are not mixed.
    fn look(&self, seen: Option<Fingerprint>) -> Option<Fingerprint> {
        let files = CertificateFiles::read(&self.section);
        let fingerprint = Fingerprint::from_files(&files);
        if fingerprint == self.last.lock().fingerprint {
            return None;
        }
        if seen == Some(fingerprint) {
            self.apply(files);
        }
        Some(fingerprint)
    }

    fn apply(&self, files: Result<CertificateFiles, String>) {
        let fingerprint = Fingerprint::from_files(&files);
        let built = files.and_then(|files| files.build(&self.section));
        let mut last = self.last.lock();
        last.fingerprint = fingerprint;
        match built {
            Ok(settings) => {
                self.current.store(Arc::new(settings));
                last.problem = None;
                info!(self.log, "certificate loaded"; "path" => &self.section.cert_path);
            }
            Err(problem) => {
                error!(self.log, "certificate refused; the previous one stays in use"; "detail" => &problem);
                last.problem = Some(problem);
            }
        }
    }
}

impl TlsProvider for Certificates {
    fn acceptor(&self) -> TlsAcceptor {
        Arc::clone(&self.current.load().server).into()
    }

    fn accepts_client(&self, chain: &[CertificateDer<'static>]) -> bool {
        let Some((own, intermediates)) = chain.split_first() else { return false };
        let settings = self.current.load();
        let Some(clients) = &settings.clients else { return false };
        clients.verify_client_cert(own, intermediates, UnixTime::now()).is_ok()
    }
}

async fn follow_changes(certificates: Weak<Certificates>) {
    let mut last = None;
    while let Some(certificates) = certificates.upgrade() {
        last = certificates.look(last);
        drop(certificates);
        tokio::time::sleep(INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use slog::{Discard, o};
    use svc_testkit::tls::{IssuedCertificate, issue_certificate};

    use super::*;

    fn write(directory: &Path, issued: &IssuedCertificate) -> TlsSection {
        let section = TlsSection {
            enabled: true,
            cert_path: directory.join("cert.pem").display().to_string(),
            key_path: directory.join("key.pem").display().to_string(),
            ..TlsSection::default()
        };
        fs::write(&section.cert_path, &issued.certificate).unwrap();
        fs::write(&section.key_path, &issued.key).unwrap();
        section
    }

    fn load(section: &TlsSection) -> Result<Arc<Certificates>, String> {
        Certificates::load(section, Logger::root(Discard, o!()))
    }

    #[test]
    fn changed_files_are_used_once_stable_and_whole() {
        let directory = tempfile::tempdir().unwrap();
        let certificates = load(&write(directory.path(), &issue_certificate().unwrap())).unwrap();
        let first = certificates.current.load_full();
        let is_first = || Arc::ptr_eq(&first, &certificates.current.load_full());
        assert_eq!(certificates.look(None), None, "nothing has changed");
        let next = issue_certificate().unwrap();
        fs::write(&certificates.section.cert_path, &next.certificate).unwrap();
        let half = certificates.look(None);
        assert!(half.is_some() && is_first(), "one look is not enough");
        fs::write(&certificates.section.key_path, &next.key).unwrap();
        let whole = certificates.look(half);
        assert!(is_first() && certificates.problem().is_none(), "the files have changed in between");
        certificates.look(whole);
        assert!(!is_first() && certificates.problem().is_none());
    }

    #[test]
    fn unusable_files_leave_the_previous_certificate_in_use() {
        let directory = tempfile::tempdir().unwrap();
        let certificates = load(&write(directory.path(), &issue_certificate().unwrap())).unwrap();
        let first = certificates.current.load_full();
        fs::write(&certificates.section.cert_path, "no certificate").unwrap();
        certificates.reload();
        assert!(Arc::ptr_eq(&first, &certificates.current.load_full()));
        let problem = certificates.problem().unwrap();
        assert!(problem.starts_with("server.tls.cert_path: ") && problem.contains("cert.pem"), "{problem}");
        assert_eq!(certificates.look(None), None, "one report for each content");
        write(directory.path(), &issue_certificate().unwrap());
        certificates.reload();
        assert_eq!(certificates.problem(), None);
    }

    #[test]
    fn the_file_that_is_wrong_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let section = write(directory.path(), &issue_certificate().unwrap());
        let other = directory.path().join("other.pem");
        fs::write(&other, issue_certificate().unwrap().key).unwrap();
        let other = other.display().to_string();
        let refused = |change: &dyn Fn(&mut TlsSection)| {
            let mut changed = section.clone();
            change(&mut changed);
            load(&changed).err().unwrap_or_else(|| panic!("accepted: {changed:?}"))
        };
        let mismatch = refused(&|tls| tls.key_path = other.clone());
        assert!(mismatch.contains("does not fit") && mismatch.contains("other.pem"), "{mismatch}");
        for (problem, key) in [
            (refused(&|tls| tls.key_path = section.cert_path.clone()), "server.tls.key_path: "),
            (refused(&|tls| tls.cert_path = other.clone()), "server.tls.cert_path: "),
            (refused(&|tls| tls.client_ca_path = other.clone()), "server.tls.client_ca_path: "),
            (refused(&|tls| tls.client_ca_path = "/nowhere.pem".into()), "server.tls.client_ca_path: "),
        ] {
            assert!(problem.starts_with(key), "{problem}");
        }
    }
}
