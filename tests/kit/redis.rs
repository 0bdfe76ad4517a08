//! A real Redis, installed where it is missing, of a test's own: it may be stopped, or hang.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::{peer, tls};

/// A server, kept alive by a shared lock that ends with this process at the latest.
#[derive(Debug)]
pub struct Redis {
    directory: PathBuf,
    url: String,
    authority: Option<String>,
    _in_use: File,
    _own: TempDir,
}

impl Redis {
    /// A new one. Where there is none, says so as [`peer::report_missing`] does.
    pub fn own() -> Option<Self> {
        Self::start_own(false).map_err(|why| peer::report_missing("redis", &why)).ok()
    }

    /// A new one that speaks TLS alone, with a certificate of [`authority`](Self::authority).
    pub fn encrypted() -> Option<Self> {
        Self::start_own(true).map_err(|why| peer::report_missing("redis", &why)).ok()
    }

    fn start_own(encrypted: bool) -> Result<Self, String> {
        let own = TempDir::new().map_err(|error| error.to_string())?;
        let directory = own.path().join("redis");
        let mut authority = None;
        if encrypted {
            let issued = tls::issue_certificate().map_err(|error| error.to_string())?;
            let files = own.path().join("redis.tls");
            std::fs::create_dir(&files).map_err(|error| error.to_string())?;
            for (name, text) in
                [("ca.pem", &issued.authority), ("cert.pem", &issued.certificate), ("key.pem", &issued.key)]
            {
                std::fs::write(files.join(name), text).map_err(|error| error.to_string())?;
            }
            authority = Some(issued.authority);
        }
        Self::start(directory, own, authority)
    }

    fn start(directory: PathBuf, own: TempDir, authority: Option<String>) -> Result<Self, String> {
        let in_use = File::create(directory.with_extension("users")).map_err(|error| error.to_string())?;
        in_use.lock_shared().map_err(|error| error.to_string())?;
        let url = script("start", &directory)?;
        Ok(Self { directory, url, authority, _in_use: in_use, _own: own })
    }

    /// Where it is, with its password.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The authority's certificate of one that speaks TLS, as PEM.
    pub fn authority(&self) -> Option<&str> {
        self.authority.as_deref()
    }

    /// Stops it as a crash would; its entries are lost.
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
        if url == self.url { Ok(()) } else { Err(format!("it came back at another place than {}", self.url)) }
    }

    /// Lets it accept connections and answer nobody.
    ///
    /// # Errors
    /// What the script says.
    pub fn hang(&self) -> Result<(), String> {
        script("hang", &self.directory).map(drop)
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// What the script says.
    pub fn resume(&self) -> Result<(), String> {
        script("resume", &self.directory).map(drop)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // Where this fails the watchdog does it.
        let _ = self.stop();
    }
}

fn script(command: &str, directory: &Path) -> Result<String, String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/redis");
    let output =
        Command::new(script).arg(command).arg(directory).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}
