//! `svc-server health`: asks the server of this configuration for its state, over loopback.
//!
//! For container engines and service managers, which want an exit code: the image needs no other program for it. The
//! listener for operators is asked if there is one, because it answers however busy the main listener is.

use std::fmt;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::config::{Config, host_and_port};
use crate::exit::{EXIT_FAILURE, EXIT_OK};

/// Time for the answer, from the lookup of the name to its last byte.
const LIMIT: Duration = Duration::from_secs(2);
/// Longest answer, in bytes.
const LONGEST: u64 = 64 * 1024;

/// The arguments of the command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args)]
pub struct StateArgs {
    /// Ask if the server takes requests (/readyz), not only if it runs (/healthz)
    #[arg(long)]
    pub ready: bool,
}

/// Asks for the state and writes it as one line.
pub(super) fn health(
    config: &Config,
    args: StateArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let probe = ListenerProbe::new(config, args);
    let answer = runtime.block_on(async { timeout(LIMIT, probe.ask()).await });
    // A lookup of a name may still block a thread.
    runtime.shutdown_background();
    let late = || Err(format!("no answer within {} s", LIMIT.as_secs()));
    match answer.unwrap_or_else(|_| late()) {
        Ok(state) => writeln!(out, "{state}").map(|()| EXIT_OK),
        Err(reason) => writeln!(err, "{probe}: {reason}").map(|()| EXIT_FAILURE),
    }
}

/// A question to a listener of the server.
struct ListenerProbe<'c> {
    host: &'c str,
    port: u16,
    path: &'static str,
    /// The status in the body of a good answer.
    expected: &'static str,
    /// The file with the certificate of the listener; `None` without TLS.
    certificate: Option<&'c str>,
}

impl fmt::Display for ListenerProbe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A line that begins with two colons is a command to some runners of CI, and is escaped.
        let is_ipv6 = self.host.contains(':');
        let (open, close) = if is_ipv6 { ("[", "]") } else { ("", "") };
        write!(f, "{open}{}{close} port {}", self.host, self.port)
    }
}

impl<'c> ListenerProbe<'c> {
    fn new(config: &'c Config, args: StateArgs) -> Self {
        let operations = config.metrics.bind_addr.as_deref().and_then(host_and_port);
        let (host, port, is_tls) = match operations {
            Some((host, port)) => (host, port, config.metrics.tls_enabled),
            None => (config.listen_host(), config.server.port, config.server.tls.enabled),
        };
        let (path, expected) = if args.ready { ("/readyz", "ready") } else { ("/healthz", "ok") };
        let certificate = is_tls.then_some(config.server.tls.cert_path.as_str());
        Self { host, port, path, expected, certificate }
    }

    /// Asks, and returns the state in one line.
    ///
    /// # Errors
    /// The reason why the state is not a good one, in one line.
    async fn ask(&self) -> Result<String, String> {
        let stream = self.connect().await?;
        let Some(file) = self.certificate else {
            let answer = exchange(stream, self.path).await.map_err(|error| error.to_string())?;
            return self.judge(&answer);
        };
        let certificate = std::fs::read(file).ok().and_then(|pem| CertificateDer::from_pem_slice(&pem).ok());
        let is_read = certificate.is_some();
        let verifier = Arc::new(OwnCertificateVerifier::new(certificate));
        let settings = client_settings(Arc::clone(&verifier)).map_err(|error| error.to_string())?;
        let name = ServerName::from(IpAddr::from(Ipv4Addr::LOCALHOST));
        let connected = TlsConnector::from(settings).connect(name, stream).await;
        let stream = connected.map_err(|error| format!("no TLS: {error}"))?;
        let answer = exchange(stream, self.path).await.map_err(|error| error.to_string())?;
        let state = self.judge(&answer)?;
        Ok(if !is_read {
            format!("{state}, and server.tls.cert_path cannot be read as a certificate")
        } else if verifier.saw_other.load(Ordering::Relaxed) {
            format!("{state}, with another certificate than that of server.tls.cert_path")
        } else {
            state
        })
    }

    /// Connects to the listener: over loopback if it is on every interface.
    async fn connect(&self) -> Result<TcpStream, String> {
        let mut refused = "the name has no address".to_owned();
        let addresses = tokio::net::lookup_host((self.host, self.port)).await;
        for address in addresses.map_err(|error| error.to_string())? {
            match TcpStream::connect(to_loopback(address)).await {
                Ok(stream) => return Ok(stream),
                Err(error) => refused = error.to_string(),
            }
        }
        Err(refused)
    }

    /// Returns the state that an answer shows.
    ///
    /// # Errors
    /// It is no good state, or no answer of the service.
    fn judge(&self, answer: &[u8]) -> Result<String, String> {
        let (status, body) = parse_answer(answer).ok_or("the answer is not that of this service")?;
        match body.get("status").and_then(Value::as_str) {
            Some(state) if status == 200 && state == self.expected => Ok(state.to_owned()),
            Some(state) => {
                let parts = body.get("components").and_then(Value::as_object).map(bad_parts);
                Err(parts.map_or_else(|| state.to_owned(), |parts| format!("{state}: {parts}")))
            }
            None => Err(format!("the answer is {status}, not that of this service")),
        }
    }
}

/// Returns the loopback address of the same family and port for an address that means every interface.
fn to_loopback(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        other => other,
    };
    SocketAddr::new(ip, address.port())
}

/// Sends the request and returns what is answered until the connection ends.
async fn exchange<S>(mut stream: S, path: &str) -> io::Result<Vec<u8>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let mut answer = Vec::new();
    match stream.take(LONGEST).read_to_end(&mut answer).await {
        Err(error) if answer.is_empty() => Err(error),
        // A peer that ends TLS without a farewell has answered all the same.
        _ => Ok(answer),
    }
}

/// Returns the status and the body of an answer.
fn parse_answer(answer: &[u8]) -> Option<(u16, Value)> {
    let (head, body) = std::str::from_utf8(answer).ok()?.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    Some((status, serde_json::from_str(body).unwrap_or(Value::Null)))
}

/// Names the components that are not well.
fn bad_parts(components: &Map<String, Value>) -> String {
    let is_well = |state: &Value| state.is_null() || state == true || state == "ok";
    let bad = components.iter().filter(|(_, state)| !is_well(state));
    let bad = bad.map(|(name, state)| match state.as_str() {
        Some(text) => format!("{name} {text}"),
        None => format!("{name} {state}"),
    });
    bad.collect::<Vec<_>>().join(", ")
}

fn client_settings(verifier: Arc<OwnCertificateVerifier>) -> Result<Arc<ClientConfig>, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::clone(&verifier.provider));
    let builder = builder.with_safe_default_protocol_versions()?.dangerous();
    Ok(Arc::new(builder.with_custom_certificate_verifier(verifier).with_no_client_auth()))
}

/// Compares the certificate of a listener with the one in its file, whatever names and authority it has. Another one, and
/// a file without one, is reported and no failure: the server keeps the previous certificate while it refuses a new one.
#[derive(Debug)]
struct OwnCertificateVerifier {
    /// The one in the file; `None` if it cannot be read.
    expected: Option<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
    saw_other: AtomicBool,
}

impl OwnCertificateVerifier {
    fn new(expected: Option<CertificateDer<'static>>) -> Self {
        Self { expected, provider: Arc::new(ring::default_provider()), saw_other: AtomicBool::new(false) }
    }
}

impl ServerCertVerifier for OwnCertificateVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let is_other =
            self.expected.as_ref().is_some_and(|expected| expected.as_ref() != certificate.as_ref());
        self.saw_other.store(is_other, Ordering::Relaxed);
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READY: StateArgs = StateArgs { ready: true };

    #[test]
    fn operators_listener_is_asked_before_main_one() {
        let mut config = Config::default();
        let main = ListenerProbe::new(&config, READY);
        assert_eq!((main.to_string().as_str(), main.path), ("127.0.0.1 port 8080", "/readyz"));
        config.metrics.bind_addr = Some("[::]:9090".to_owned());
        config.server.tls.enabled = true;
        let operations = ListenerProbe::new(&config, StateArgs::default());
        assert_eq!((operations.to_string().as_str(), operations.path), ("[::] port 9090", "/healthz"));
        assert_eq!(operations.certificate, None, "that listener has a setting of its own");
    }

    #[test]
    fn address_of_every_interface_becomes_loopback() {
        for (address, expected) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("10.1.2.3:80", "10.1.2.3:80"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(to_loopback(address.parse().unwrap()), expected.parse().unwrap());
        }
    }

    #[test]
    fn answer_is_judged_by_status_and_body() {
        let probe = |text: &str| ListenerProbe::new(&Config::default(), READY).judge(text.as_bytes());
        assert_eq!(probe("HTTP/1.1 200 OK\r\nx: y\r\n\r\n{\"status\": \"ready\"}"), Ok("ready".to_owned()));
        let body = r#"{"status": "not_ready", "components": {"database": "error", "initialized": false, "engine": "ok"}}"#;
        let expected = "not_ready: database error, initialized false";
        assert_eq!(probe(&format!("HTTP/1.1 503 No\r\n\r\n{body}")), Err(expected.to_owned()));
        for other in ["HTTP/1.1 200 OK\r\n\r\n<html>", "HTTP/1.1 404 Not Found\r\n\r\n", "SSH-2.0", ""] {
            assert!(probe(other).unwrap_err().contains("not that of this service"), "{other:?}");
        }
    }
}
