//! A real object store that speaks the protocol of S3 and checks signatures, built from source on demand.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;

use tempfile::TempDir;

use crate::peer;
use crate::process::ChildProcess;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../peers/s3");

/// The access key id.
pub const KEY: &str = "AKTEST";
/// The secret access key.
pub const SECRET: &str = "swordfish/of+the=store";
/// The bucket that exists.
pub const BUCKET: &str = "bucket";
/// The suffix of the hosts of buckets.
pub const DOMAIN: &str = "s3.example";

/// A running store; it ends when dropped, with its objects.
#[derive(Debug)]
pub struct ObjectStore {
    _process: ChildProcess,
    address: SocketAddr,
    files: TempDir,
}

impl ObjectStore {
    /// Starts a server. Reports a missing one with [`peer::report_missing`].
    pub fn start() -> Option<Self> {
        Self::try_start().map_err(|why| peer::report_missing("s3", &why)).ok()
    }

    fn try_start() -> Result<Self, String> {
        let ensured = Command::new(SCRIPT).arg("ensure").output().map_err(|error| error.to_string())?;
        if !ensured.status.success() {
            return Err(String::from_utf8_lossy(&ensured.stderr).trim().to_owned());
        }
        let files = TempDir::new().map_err(|error| error.to_string())?;
        std::fs::create_dir(files.path().join(BUCKET)).map_err(|error| error.to_string())?;
        let process =
            ChildProcess::start(Command::new(SCRIPT).args(["run", "0", KEY, SECRET]).arg(files.path()))?;
        let port = process.wait_for(|lines| {
            let (_, rest) = lines.iter().find_map(|line| line.split_once("http://127.0.0.1:"))?;
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        })?;
        Ok(Self { _process: process, address: (Ipv4Addr::LOCALHOST, port).into(), files })
    }

    /// Returns the bytes of an object; `None` if there is none.
    pub fn object(&self, key: &str) -> Option<Vec<u8>> {
        std::fs::read(self.files.path().join(BUCKET).join(key)).ok()
    }

    /// The listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:{port}`
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }
}
