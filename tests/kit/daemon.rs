//! A real server as a process: started by a script of its name under `tests/peers`, killed like a crash, and
//! stopped with its last user.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;

use crate::peer;
use crate::tls::IssuedCertificate;

/// A running server, kept alive by a shared lock that ends with this process at the latest.
#[derive(Debug)]
pub struct Daemon {
    script: &'static str,
    directory: PathBuf,
    url: String,
    in_use: Arc<File>,
    /// The directory of a server that no other process uses.
    own: Option<TempDir>,
}

impl Daemon {
    /// Returns the server that all test processes of this user and this checkout share. Reports a missing
    /// server with [`peer::report_missing`].
    pub fn shared(script: &'static str) -> Option<Self> {
        let owner = std::fs::metadata(env!("CARGO_MANIFEST_DIR")).map_or(0, |checkout| checkout.uid());
        let directory = std::env::temp_dir().join(format!("svc-test-{script}-{owner}"));
        Self::start(script, directory, None).map_err(|why| peer::report_missing(script, &why)).ok()
    }

    /// Starts a server of the test's own. Reports a missing one with [`peer::report_missing`].
    pub fn own(script: &'static str, certificate: Option<&IssuedCertificate>) -> Option<Self> {
        Self::start_own(script, certificate).map_err(|why| peer::report_missing(script, &why)).ok()
    }

    /// Starts a server of the test's own, with files next to its directory, by their extensions. Reports a missing
    /// server with [`peer::report_missing`].
    pub fn own_beside(script: &'static str, files: &[(&str, &str)]) -> Option<Self> {
        let started = Self::make_directory(script).and_then(|(own, directory)| {
            for (extension, text) in files {
                std::fs::write(directory.with_extension(extension), text)
                    .map_err(|error| error.to_string())?;
            }
            Self::start(script, directory, Some(own))
        });
        started.map_err(|why| peer::report_missing(script, &why)).ok()
    }

    fn start_own(script: &'static str, certificate: Option<&IssuedCertificate>) -> Result<Self, String> {
        let (own, directory) = Self::make_directory(script)?;
        if let Some(certificate) = certificate {
            write(certificate, &directory.with_extension("tls")).map_err(|error| error.to_string())?;
        }
        Self::start(script, directory, Some(own))
    }

    /// Makes the directory of a server of the test's own, and returns the place within it.
    fn make_directory(script: &'static str) -> Result<(TempDir, PathBuf), String> {
        let own = TempDir::new().map_err(|error| error.to_string())?;
        // The server runs as another user, who must be able to enter the directory.
        std::fs::set_permissions(own.path(), Permissions::from_mode(0o755))
            .map_err(|error| error.to_string())?;
        let directory = own.path().join(script);
        Ok((own, directory))
    }

    fn start(script: &'static str, directory: PathBuf, own: Option<TempDir>) -> Result<Self, String> {
        let in_use = File::create(directory.with_extension("users")).map_err(|error| error.to_string())?;
        in_use.lock_shared().map_err(|error| error.to_string())?;
        let url = run(script, "start", &directory)?;
        Ok(Self { script, directory, url, in_use: Arc::new(in_use), own })
    }

    /// The connection URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the lock that keeps a shared server running, for what depends on it longer than this.
    pub(crate) fn in_use(&self) -> Arc<File> {
        Arc::clone(&self.in_use)
    }

    /// Kills the server, like a crash.
    ///
    /// # Errors
    /// The message of the script.
    pub fn stop(&self) -> Result<(), String> {
        run(self.script, "stop", &self.directory).map(drop)
    }

    /// Freezes the server: it neither answers nor refuses anybody until it is stopped or resumed.
    ///
    /// # Errors
    /// The message of the script.
    pub fn hang(&self) -> Result<(), String> {
        run(self.script, "hang", &self.directory).map(drop)
    }

    /// Resumes the server after [`hang`](Self::hang).
    ///
    /// # Errors
    /// The message of the script.
    pub fn resume(&self) -> Result<(), String> {
        run(self.script, "resume", &self.directory).map(drop)
    }

    /// Starts the server again on the same port.
    ///
    /// # Errors
    /// The message of the script, or a different port.
    pub fn restart(&self) -> Result<(), String> {
        let url = run(self.script, "start", &self.directory)?;
        if url == self.url { Ok(()) } else { Err(format!("it came back as {url}, not {}", self.url)) }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if self.own.is_some() {
            // The watchdog stops a server that this could not stop.
            let _ = self.stop();
        }
    }
}

fn write(certificate: &IssuedCertificate, directory: &Path) -> io::Result<()> {
    std::fs::create_dir(directory)?;
    std::fs::write(directory.join("cert.pem"), &certificate.certificate)?;
    std::fs::write(directory.join("key.pem"), &certificate.key)
}

fn run(script: &str, command: &str, directory: &Path) -> Result<String, String> {
    let script = format!("{}/../peers/{script}", env!("CARGO_MANIFEST_DIR"));
    let output =
        Command::new(script).arg(command).arg(directory).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}
