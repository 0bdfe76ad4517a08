//! A server of MongoDB's wire protocol, independent of the service and its driver
//! (`tests/peers/mongo_server.py`): one that all tests share, or one that a single test may stop. No real
//! server can be installed from packages. These tests prove the protocol and not the database, and their
//! names say so.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::{peer, tls};

/// A running server, kept alive by a shared lock that ends with this process at the latest.
#[derive(Debug)]
pub struct Mongo {
    directory: PathBuf,
    url: String,
    authority: String,
    _in_use: File,
    /// The directory of a server that no other process uses.
    own: Option<TempDir>,
}

impl Mongo {
    /// Returns the server that all test processes of this user and this checkout share; it ends after the
    /// last of them. Reports a missing server with [`peer::report_missing`].
    pub fn shared() -> Option<Self> {
        let owner = std::fs::metadata(env!("CARGO_MANIFEST_DIR")).map_or(0, |checkout| checkout.uid());
        let directory = std::env::temp_dir().join(format!("svc-test-mongo-{owner}"));
        Self::start(directory, None).map_err(|why| peer::report_missing("mongo", &why)).ok()
    }

    /// Starts a server of the test's own. Reports a missing one with [`peer::report_missing`].
    pub fn own() -> Option<Self> {
        Self::start_own(false).map_err(|why| peer::report_missing("mongo", &why)).ok()
    }

    /// Starts a server of the test's own that speaks TLS only, with a certificate of
    /// [`authority`](Self::authority).
    pub fn encrypted() -> Option<Self> {
        Self::start_own(true).map_err(|why| peer::report_missing("mongo", &why)).ok()
    }

    fn start_own(encrypted: bool) -> Result<Self, String> {
        let own = TempDir::new().map_err(|error| error.to_string())?;
        let directory = own.path().join("mongo");
        if !encrypted {
            return Self::start(directory, Some(own));
        }
        let issued = tls::issue_certificate().map_err(|error| error.to_string())?;
        let files = own.path().join("mongo.tls");
        std::fs::create_dir(&files).map_err(|error| error.to_string())?;
        for (name, text) in [("cert.pem", &issued.certificate), ("key.pem", &issued.key)] {
            std::fs::write(files.join(name), text).map_err(|error| error.to_string())?;
        }
        let mut started = Self::start(directory, Some(own))?;
        started.authority = issued.authority;
        Ok(started)
    }

    fn start(directory: PathBuf, own: Option<TempDir>) -> Result<Self, String> {
        let in_use = File::create(directory.with_extension("users")).map_err(|error| error.to_string())?;
        in_use.lock_shared().map_err(|error| error.to_string())?;
        let url = script("start", &directory)?;
        Ok(Self { directory, url, authority: String::new(), _in_use: in_use, own })
    }

    /// The authority's certificate of a server that speaks TLS, as PEM.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The connection string.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Kills the server; its data are lost.
    ///
    /// # Errors
    /// The message of the script.
    pub fn stop(&self) -> Result<(), String> {
        script("stop", &self.directory).map(drop)
    }

    /// Starts the server again on the same port.
    ///
    /// # Errors
    /// The message of the script, or a different port.
    pub fn restart(&self) -> Result<(), String> {
        let url = script("start", &self.directory)?;
        if url == self.url { Ok(()) } else { Err(format!("it came back as {url}, not {}", self.url)) }
    }
}

impl Drop for Mongo {
    fn drop(&mut self) {
        if self.own.is_some() {
            // The watchdog stops a server that this could not stop.
            let _ = self.stop();
        }
    }
}

fn script(command: &str, directory: &Path) -> Result<String, String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../peers/mongo_by_wire_contract");
    let output =
        Command::new(script).arg(command).arg(directory).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}
