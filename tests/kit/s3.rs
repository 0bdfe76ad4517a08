//! A real object store that speaks the protocol of S3 and checks signatures, built from source where it is missing.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;

use tempfile::TempDir;

use crate::peer;
use crate::process::ChildProcess;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/s3");

/// Name of the key it knows.
pub const KEY: &str = "AKTEST";
/// The key it knows.
pub const SECRET: &str = "swordfish/of+the=store";
/// The bucket it has.
pub const BUCKET: &str = "bucket";
/// What hosts of buckets end with.
pub const DOMAIN: &str = "s3.example";

/// The store; ends when dropped, and what it keeps with it.
#[derive(Debug)]
pub struct ObjectStore {
    _process: ChildProcess,
    address: SocketAddr,
    _files: TempDir,
}

impl ObjectStore {
    /// Starts one. Where there is none, says so as [`peer::report_missing`] does.
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
        Ok(Self { _process: process, address: (Ipv4Addr::LOCALHOST, port).into(), _files: files })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:{port}`
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }
}
