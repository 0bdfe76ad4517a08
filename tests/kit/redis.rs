//! A real Redis of a single test, installed on demand; the test may stop or freeze it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::process::ChildProcess;
use crate::{peer, tls};

/// A running server, kept alive by a shared lock that ends with this process at the latest.
#[derive(Debug)]
pub struct Redis {
    directory: PathBuf,
    url: String,
    authority: Option<String>,
    _in_use: File,
    _own: TempDir,
}

impl Redis {
    /// Starts a server of the test's own. Reports a missing one with [`peer::report_missing`].
    pub fn own() -> Option<Self> {
        Self::start_own(false).map_err(|why| peer::report_missing("redis", &why)).ok()
    }

    /// Starts a server of the test's own that speaks TLS only, with a certificate of
    /// [`authority`](Self::authority).
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

    /// The URL with the password.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The authority's certificate of one that speaks TLS, as PEM.
    pub fn authority(&self) -> Option<&str> {
        self.authority.as_deref()
    }

    /// Starts to list the commands that the server carries out, those of scripts included, one a line.
    ///
    /// # Errors
    /// The client cannot be run.
    pub fn monitor(&self) -> Result<ChildProcess, String> {
        let arguments = ["-u", self.url(), "--no-auth-warning", "monitor"];
        let monitor = ChildProcess::start(Command::new("redis-cli").args(arguments))?;
        monitor.wait_for(|lines| lines.first().map(drop))?;
        Ok(monitor)
    }

    /// Kills the server, like a crash; its entries are lost.
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
        if url == self.url { Ok(()) } else { Err(format!("it came back at another place than {}", self.url)) }
    }

    /// Stops answering: connections are accepted and nothing is sent.
    ///
    /// # Errors
    /// The message of the script.
    pub fn hang(&self) -> Result<(), String> {
        script("hang", &self.directory).map(drop)
    }

    /// Resumes the server.
    ///
    /// # Errors
    /// The message of the script.
    pub fn resume(&self) -> Result<(), String> {
        script("resume", &self.directory).map(drop)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // The watchdog stops a server that this could not stop.
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
