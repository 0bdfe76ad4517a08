//! A server of MongoDB's wire protocol, independent of the service and its driver (`tests/peers/mongo_server.py`): one that
//! all tests share, or one of its own that a test may stop. No real server can be installed from packages; what this one
//! proves holds by the protocol, not by the database, and tests over it say so in their names.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::{peer, tls};

/// A server, kept alive by a shared lock that ends with this process at the latest.
#[derive(Debug)]
pub struct Mongo {
    directory: PathBuf,
    url: String,
    authority: String,
    _in_use: File,
    /// Of a server that nobody else uses.
    own: Option<TempDir>,
}

impl Mongo {
    /// The one for the processes of this user and this checkout; it ends after the last of them. Where there is none,
    /// says so as [`peer::report_missing`] does.
    pub fn shared() -> Option<Self> {
        let owner = std::fs::metadata(env!("CARGO_MANIFEST_DIR")).map_or(0, |checkout| checkout.uid());
        let directory = std::env::temp_dir().join(format!("svc-test-mongo-{owner}"));
        Self::start(directory, None).map_err(|why| peer::report_missing("mongo", &why)).ok()
    }

    /// A new one. Where there is none, says so as [`peer::report_missing`] does.
    pub fn own() -> Option<Self> {
        Self::start_own(false).map_err(|why| peer::report_missing("mongo", &why)).ok()
    }

    /// A new one that speaks TLS alone, with a certificate of [`authority`](Self::authority).
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

    /// Who issued the certificate of one that speaks TLS, as PEM.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Where it is, as a connection string.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Kills it. Its data are gone.
    ///
    /// # Errors
    /// What the script says.
    pub fn stop(&self) -> Result<(), String> {
        script("stop", &self.directory).map(drop)
    }

    /// Starts it again, at the same port.
    ///
    /// # Errors
    /// What the script says, or another port.
    pub fn restart(&self) -> Result<(), String> {
        let url = script("start", &self.directory)?;
        if url == self.url { Ok(()) } else { Err(format!("it came back as {url}, not {}", self.url)) }
    }
}

impl Drop for Mongo {
    fn drop(&mut self) {
        if self.own.is_some() {
            // Where this fails the watchdog does it.
            let _ = self.stop();
        }
    }
}

fn script(command: &str, directory: &Path) -> Result<String, String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/mongo_by_wire_contract");
    let output =
        Command::new(script).arg(command).arg(directory).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}
