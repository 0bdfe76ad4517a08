//! A real Kafka broker of a single test, built from source on demand. TLS is a process in front of it.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::process::ChildProcess;
use crate::server::free_port;
use crate::{peer, tls};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../peers/kafka");

/// The user that a broker with SCRAM knows.
pub const USER: &str = "orders-service";
/// The password of that user.
pub const PASSWORD: &str = "swordfish, of the brokers";

/// The access of clients to a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokerAccess {
    /// Neither encrypted nor authenticated.
    Plain,
    Tls,
    /// TLS with a certificate of the client.
    MutualTls,
    /// SASL SCRAM without TLS.
    Scram,
    /// SASL SCRAM over TLS.
    ScramOverTls,
}

impl BrokerAccess {
    fn has_tls(self) -> bool {
        matches!(self, Self::Tls | Self::MutualTls | Self::ScramOverTls)
    }

    /// Returns `true` if clients need the password of [`USER`].
    pub fn has_scram(self) -> bool {
        matches!(self, Self::Scram | Self::ScramOverTls)
    }

    /// Returns the name of the protocol of connections.
    pub fn security_protocol(self) -> &'static str {
        match self {
            Self::Plain => "plaintext",
            Self::Tls | Self::MutualTls => "ssl",
            Self::Scram => "sasl_plaintext",
            Self::ScramOverTls => "sasl_ssl",
        }
    }
}

/// A running broker; it ends when dropped, with its records.
#[derive(Debug)]
pub struct KafkaBroker {
    // Dropped before the broker behind it.
    _front: Option<ChildProcess>,
    _broker: ChildProcess,
    port: u16,
    files: TempDir,
}

impl KafkaBroker {
    /// Starts a broker. Reports a missing one with [`peer::report_missing`].
    pub fn start(access: BrokerAccess) -> Option<Self> {
        Self::try_start(access).map_err(|why| peer::report_missing("kafka", &why)).ok()
    }

    fn try_start(access: BrokerAccess) -> Result<Self, String> {
        let ensured = Command::new(SCRIPT).arg("ensure").output().map_err(to_text)?;
        if !ensured.status.success() {
            return Err(String::from_utf8_lossy(&ensured.stderr).trim().to_owned());
        }
        let files = TempDir::new().map_err(to_text)?;
        let inner = free_port().map_err(to_text)?;
        let port = if access.has_tls() { free_port().map_err(to_text)? } else { inner };
        let mut broker = Command::new(SCRIPT);
        broker.args(["run", &inner.to_string(), &port.to_string()]).arg(files.path());
        if access.has_scram() {
            broker.args([USER, PASSWORD]);
        }
        let broker = start_until_ready(&mut broker)?;
        let mut front = None;
        if access.has_tls() {
            let issued = tls::issue_certificate().map_err(to_text)?;
            issued.write(files.path()).map_err(to_text)?;
            std::fs::write(files.path().join("ca.pem"), &issued.authority).map_err(to_text)?;
            let mut tls = Command::new(SCRIPT);
            tls.args(["tls", &port.to_string(), &inner.to_string()]).arg(files.path());
            if access == BrokerAccess::MutualTls {
                tls.arg("verify");
            }
            front = Some(start_until_ready(&mut tls)?);
        }
        Ok(Self { _front: front, _broker: broker, port, files })
    }

    /// Returns the address of the broker for clients.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Returns the path of the authority that issued its certificate.
    pub fn authority(&self) -> PathBuf {
        self.files.path().join("ca.pem")
    }

    /// Returns the paths of a certificate that it accepts from clients, and of its key.
    pub fn client_certificate(&self) -> [PathBuf; 2] {
        ["cert.pem", "key.pem"].map(|name| self.files.path().join(name))
    }

    /// Returns the log of the broker.
    ///
    /// # Errors
    /// Any error of the file system.
    pub fn log_text(&self) -> io::Result<String> {
        std::fs::read_to_string(self.files.path().join("broker.log"))
    }
}

fn start_until_ready(command: &mut Command) -> Result<ChildProcess, String> {
    let process = ChildProcess::start(command)?;
    process.wait_for(|lines| lines.iter().any(|line| line == "ready").then_some(()))?;
    Ok(process)
}

fn to_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
