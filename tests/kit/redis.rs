//! A real Redis of a single test, installed on demand; the test may stop or freeze it.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::process::ChildProcess;
use crate::server::wait_until;
use crate::tls::IssuedCertificate;
use crate::{peer, tls};

/// Longest wait for the servers of a Redis Cluster to agree.
const PATIENCE: Duration = Duration::from_secs(60);

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
        Self::start_own(RedisMode::Plain, None).map_err(|why| peer::report_missing("redis", &why)).ok()
    }

    /// Starts a server of the test's own that speaks TLS only, with a certificate of
    /// [`authority`](Self::authority).
    pub fn encrypted() -> Option<Self> {
        let server =
            certificate().and_then(|certificate| Self::start_own(RedisMode::Plain, Some(&certificate)));
        server.map_err(|why| peer::report_missing("redis", &why)).ok()
    }

    /// Starts a server, with a certificate one that speaks TLS only.
    fn start_own(mode: RedisMode, certificate: Option<&IssuedCertificate>) -> Result<Self, String> {
        let own = TempDir::new().map_err(|error| error.to_string())?;
        let directory = own.path().join("redis");
        if mode == RedisMode::Clustered {
            std::fs::create_dir(directory.with_extension("clustered")).map_err(|error| error.to_string())?;
        }
        if let Some(certificate) = certificate {
            let files = directory.with_extension("tls");
            std::fs::create_dir(&files).map_err(|error| error.to_string())?;
            certificate.write(&files).map_err(|error| error.to_string())?;
            std::fs::write(files.join("ca.pem"), &certificate.authority)
                .map_err(|error| error.to_string())?;
        }
        Self::start(directory, own, certificate.map(|certificate| certificate.authority.clone()))
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

    /// Host and port.
    pub fn place(&self) -> &str {
        self.url.rsplit_once('@').map_or(&*self.url, |(_, place)| place)
    }

    /// Host and port, as an address.
    ///
    /// # Panics
    /// The script that starts it printed no address.
    #[expect(clippy::expect_used, reason = "a test kit reports by panicking")]
    pub fn address(&self) -> SocketAddr {
        self.place().parse().expect("the address of a server on this machine")
    }

    fn password(&self) -> &str {
        let login = self.url.rsplit_once('@').map_or("", |(login, _)| login);
        login.rsplit_once(':').map_or("", |(_, password)| password)
    }

    /// The authority's certificate of one that speaks TLS, as PEM.
    pub fn authority(&self) -> Option<&str> {
        self.authority.as_deref()
    }

    /// Runs a command as the administrator; returns the answer.
    ///
    /// # Errors
    /// The client cannot be run, or the server refuses.
    pub fn command(&self, arguments: &[&str]) -> Result<String, String> {
        output_of(self.client().arg("-e").args(arguments))
    }

    /// Starts to list the commands that the server carries out, those of scripts included, one a line.
    ///
    /// # Errors
    /// The client cannot be run, or the server refuses.
    pub fn monitor(&self) -> Result<ChildProcess, String> {
        let monitor = ChildProcess::start(self.client().arg("monitor"))?;
        monitor.wait_for(|lines| lines.first().filter(|line| *line == "OK").map(drop))?;
        Ok(monitor)
    }

    /// The client of the server, without a command. It takes no URL: it mistakes one without a user for one with an
    /// empty name.
    fn client(&self) -> Command {
        let (host, port) = self.place().rsplit_once(':').unwrap_or_default();
        let mut client = self.client_of_any();
        client.args(["-h", host, "-p", port]);
        client
    }

    /// The client, without a server and a command.
    fn client_of_any(&self) -> Command {
        let mut client = Command::new("redis-cli");
        client.args(["-a", self.password(), "--no-auth-warning"]);
        if self.authority.is_some() {
            client.arg("--tls").arg("--cacert").arg(self.directory.with_extension("tls").join("ca.pem"));
        }
        client
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

/// The role a server is started for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RedisMode {
    Plain,
    /// A part of a Redis Cluster.
    Clustered,
}

/// A running Redis Cluster of three servers.
#[derive(Debug)]
pub struct RedisCluster {
    servers: [Redis; 3],
}

impl RedisCluster {
    /// Starts three servers and gives each a third of the slots. Reports a missing one with [`peer::report_missing`].
    pub fn own() -> Option<Self> {
        Self::start(None).map_err(|why| peer::report_missing("redis", &why)).ok()
    }

    /// Starts three servers that speak TLS only, with clients and among themselves, with a certificate of one authority.
    /// Reports a missing one with [`peer::report_missing`].
    pub fn encrypted() -> Option<Self> {
        let cluster = certificate().and_then(|certificate| Self::start(Some(&certificate)));
        cluster.map_err(|why| peer::report_missing("redis", &why)).ok()
    }

    fn start(certificate: Option<&IssuedCertificate>) -> Result<Self, String> {
        let server = || Redis::start_own(RedisMode::Clustered, certificate);
        let servers = [server()?, server()?, server()?];
        let places = servers.each_ref().map(Redis::place);
        let mut create = servers[0].client_of_any();
        output_of(create.args(["--cluster", "create"]).args(places).arg("--cluster-yes"))?;
        for server in &servers {
            let is_up = || {
                let info = server.command(&["cluster", "info"]).map_err(io::Error::other)?;
                Ok(info.contains("cluster_state:ok"))
            };
            if !wait_until(PATIENCE, is_up).map_err(|error| error.to_string())? {
                return Err(format!("{} is in no cluster", server.place()));
            }
        }
        Ok(Self { servers })
    }

    /// The servers, each with a third of the slots.
    pub fn servers(&self) -> &[Redis; 3] {
        &self.servers
    }
}

fn certificate() -> Result<IssuedCertificate, String> {
    tls::issue_certificate().map_err(|error| error.to_string())
}

/// Runs a command to its end; returns its standard output.
fn output_of(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() {
        return Ok(text);
    }
    Err(format!("{text} {}", String::from_utf8_lossy(&output.stderr).trim()))
}

fn script(command: &str, directory: &Path) -> Result<String, String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../peers/redis");
    let output =
        Command::new(script).arg(command).arg(directory).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}
