//! A small HTTPS server with scripted behaviour: it responds, redirects, hangs, streams without end, or is
//! down.
//!
//! Its certificate comes from an authority of its own, for `localhost`, `127.0.0.1` and `::1`. Clients in the
//! test trust [`HttpsServer::authority`]; a service under test is started with `SSL_CERT_FILE` naming a file
//! that holds it.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::{Condvar, Mutex, MutexGuard};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

/// Longest silence of a client before its connection is closed.
const SILENCE: Duration = Duration::from_secs(30);

/// The behaviour of the server for every request, until it is replaced.
#[derive(Clone, Debug)]
pub enum Behaviour {
    /// A complete response with a content length.
    Answer {
        /// The status code.
        status: u16,
        /// Headers other than the length.
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    },
    /// Raw bytes, then the end of the connection.
    Raw(Vec<u8>),
    /// A response whose body goes on until the client disconnects.
    Endless,
    /// Silence, until the behaviour is replaced.
    Hang,
    /// Closes each connection at once.
    Down,
}

impl Behaviour {
    /// Returns 200 with this JSON and these headers.
    pub fn json(body: impl Into<String>, headers: &[(&str, &str)]) -> Self {
        let mut all = vec![("content-type".to_owned(), "application/json".to_owned())];
        all.extend(headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        Self::Answer { status: 200, headers: all, body: body.into().into_bytes() }
    }

    /// Returns a redirect.
    pub fn redirect(status: u16, location: &str) -> Self {
        let headers = vec![("location".to_owned(), location.to_owned())];
        Self::Answer { status, headers, body: Vec::new() }
    }
}

/// A running HTTPS server; it ends when dropped.
pub struct HttpsServer {
    address: SocketAddr,
    authority: String,
    shared: Arc<Shared>,
}

struct Shared {
    told: Mutex<Told>,
    changed: Condvar,
    tls: Arc<ServerConfig>,
}

struct Told {
    behaviour: Behaviour,
    requests: Vec<String>,
    ended: bool,
}

impl HttpsServer {
    /// Starts on a free loopback port.
    ///
    /// # Errors
    /// No port is free, or no certificate can be issued.
    pub fn start(behaviour: Behaviour) -> io::Result<Self> {
        Self::start_with(issue_certificate().map_err(io::Error::other)?, behaviour)
    }

    /// Starts with this certificate.
    ///
    /// # Errors
    /// No port is free, or the certificate cannot be used.
    pub fn start_with(issued: IssuedCertificate, behaviour: Behaviour) -> io::Result<Self> {
        let (tls, authority) = (issued.server_settings()?, issued.authority);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let script = Told { behaviour, requests: Vec::new(), ended: false };
        let shared = Arc::new(Shared { told: Mutex::new(script), changed: Condvar::new(), tls });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if accepting.lock().ended {
                    return;
                }
                let serving = Arc::clone(&accepting);
                // A client that disconnects is not an error.
                thread::spawn(move || serving.serve(stream));
            }
        });
        Ok(Self { address, authority, shared })
    }

    /// The listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `https://127.0.0.1:{port}{path}`
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// The authority's certificate, as PEM.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Writes the authority's certificate into a directory and returns its path.
    ///
    /// # Errors
    /// Any error of the file system.
    pub fn write_authority(&self, directory: &Path) -> io::Result<PathBuf> {
        let path = directory.join("authority.pem");
        std::fs::write(&path, &self.authority)?;
        Ok(path)
    }

    /// Replaces the behaviour, also for requests that hang.
    pub fn set_behaviour(&self, behaviour: Behaviour) {
        self.shared.lock().behaviour = behaviour;
        self.shared.changed.notify_all();
    }

    /// The number of received requests.
    pub fn request_count(&self) -> usize {
        self.shared.lock().requests.len()
    }

    /// Returns the heads of the received requests.
    pub fn requests(&self) -> Vec<String> {
        self.shared.lock().requests.clone()
    }
}

impl Drop for HttpsServer {
    fn drop(&mut self) {
        let mut script = self.shared.lock();
        script.ended = true;
        script.behaviour = Behaviour::Down;
        drop(script);
        self.shared.changed.notify_all();
        // A connection wakes the accepting thread, which then sees the end.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Told> {
        self.told.lock()
    }

    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        if matches!(self.lock().behaviour, Behaviour::Down) {
            return Ok(());
        }
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        let connection = ServerConnection::new(Arc::clone(&self.tls)).map_err(io::Error::other)?;
        let mut stream = BufReader::new(StreamOwned::new(connection, stream));
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let behaviour = self.behaviour_for(head);
        let stream = stream.get_mut();
        answer(stream, &behaviour)?;
        stream.conn.send_close_notify();
        stream.flush()
    }

    /// Waits until the behaviour responds at all, and returns it.
    fn behaviour_for(&self, head: String) -> Behaviour {
        let mut script = self.lock();
        script.requests.push(head);
        while matches!(script.behaviour, Behaviour::Hang) {
            self.changed.wait(&mut script);
        }
        script.behaviour.clone()
    }
}

fn answer(stream: &mut impl Write, behaviour: &Behaviour) -> io::Result<()> {
    match behaviour {
        Behaviour::Answer { status, headers, body } => {
            write!(
                stream,
                "HTTP/1.1 {status} Told\r\nconnection: close\r\ncontent-length: {}\r\n",
                body.len()
            )?;
            for (name, value) in headers {
                write!(stream, "{name}: {value}\r\n")?;
            }
            stream.write_all(b"\r\n")?;
            stream.write_all(body)
        }
        Behaviour::Raw(bytes) => stream.write_all(bytes),
        Behaviour::Endless => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")?;
            loop {
                stream.write_all(&[b' '; 16 * 1024])?;
            }
        }
        Behaviour::Hang | Behaviour::Down => Ok(()),
    }
}

/// A certificate for `localhost`, `127.0.0.1` and `::1`, its key, and the issuing authority, each as PEM.
#[derive(Clone, Debug)]
pub struct IssuedCertificate {
    /// The authority's certificate.
    pub authority: String,
    pub certificate: String,
    /// The private key.
    pub key: String,
}

impl IssuedCertificate {
    /// Writes `cert.pem` and `key.pem` into a directory, one after the other, and returns their paths.
    ///
    /// # Errors
    /// Any error of the file system.
    pub fn write(&self, directory: &Path) -> io::Result<[PathBuf; 2]> {
        let paths = [directory.join("cert.pem"), directory.join("key.pem")];
        std::fs::write(&paths[0], &self.certificate)?;
        std::fs::write(&paths[1], &self.key)?;
        Ok(paths)
    }

    /// Makes the settings of a server that shows the certificate.
    ///
    /// # Errors
    /// The PEM cannot be read.
    pub fn server_settings(&self) -> io::Result<Arc<ServerConfig>> {
        let chain =
            vec![CertificateDer::from_pem_slice(self.certificate.as_bytes()).map_err(io::Error::other)?];
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(io::Error::other)?;
        let settings = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(io::Error::other)?;
        Ok(Arc::new(settings))
    }

    /// Makes the settings of a client that trusts the authority and shows a certificate of its own, if any.
    ///
    /// # Errors
    /// The PEM cannot be read.
    pub fn client_settings(&self, own: Option<&Self>) -> io::Result<Arc<ClientConfig>> {
        let read = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).map_err(io::Error::other);
        let mut roots = RootCertStore::empty();
        roots.add(read(&self.authority)?).map_err(io::Error::other)?;
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots);
        let settings = match own {
            None => builder.with_no_client_auth(),
            Some(own) => {
                let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes()).map_err(io::Error::other)?;
                builder.with_client_auth_cert(vec![read(&own.certificate)?], key).map_err(io::Error::other)?
            }
        };
        Ok(Arc::new(settings))
    }
}

/// Issues a certificate from an authority of its own.
///
/// # Errors
/// The error of the certificate library.
pub fn issue_certificate() -> Result<IssuedCertificate, rcgen::Error> {
    issue_certificate_for(&["localhost", "127.0.0.1", "::1"])
}

/// Issues a certificate for these names and addresses from an authority of its own.
///
/// # Errors
/// The error of the certificate library.
pub fn issue_certificate_for(names: &[&str]) -> Result<IssuedCertificate, rcgen::Error> {
    issue(params_for(names)?)
}

/// Issues a certificate that has expired from an authority of its own.
///
/// # Errors
/// The error of the certificate library.
pub fn issue_expired_certificate() -> Result<IssuedCertificate, rcgen::Error> {
    let mut params = params_for(&["localhost", "127.0.0.1", "::1"])?;
    params.not_after = rcgen::date_time_ymd(2020, 1, 1);
    issue(params)
}

/// Issues a certificate that expires after a while from an authority of its own.
///
/// # Errors
/// The error of the certificate library.
#[expect(clippy::disallowed_methods, reason = "a certificate expires by the clock of the machine")]
pub fn issue_certificate_for_time(life: Duration) -> Result<IssuedCertificate, rcgen::Error> {
    let mut params = params_for(&["localhost", "127.0.0.1", "::1"])?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    params.not_after = rcgen::date_time_ymd(1970, 1, 1) + now + life;
    issue(params)
}

/// Makes a certificate for these names and addresses that is its own authority.
///
/// # Errors
/// The error of the certificate library.
pub fn self_signed_certificate(names: &[&str]) -> Result<IssuedCertificate, rcgen::Error> {
    self_sign(params_for(names)?)
}

/// Makes a certificate that has expired and is its own authority.
///
/// # Errors
/// The error of the certificate library.
pub fn expired_self_signed_certificate() -> Result<IssuedCertificate, rcgen::Error> {
    let mut params = params_for(&["localhost", "127.0.0.1", "::1"])?;
    params.not_after = rcgen::date_time_ymd(2020, 1, 1);
    self_sign(params)
}

fn self_sign(mut params: CertificateParams) -> Result<IssuedCertificate, rcgen::Error> {
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?.pem();
    Ok(IssuedCertificate { authority: certificate.clone(), certificate, key: key.serialize_pem() })
}

fn params_for(names: &[&str]) -> Result<CertificateParams, rcgen::Error> {
    CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
}

fn issue(leaf: CertificateParams) -> Result<IssuedCertificate, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, "test authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let leaf = leaf.signed_by(&key, &authority)?;
    Ok(IssuedCertificate { authority: authority.pem(), certificate: leaf.pem(), key: key.serialize_pem() })
}
