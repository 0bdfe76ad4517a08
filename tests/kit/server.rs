//! The real `svc-server` as a child process with a directory and a free port of its own, killed when dropped.

use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;

use crate::http::HttpClient;
#[cfg(feature = "peers")]
use crate::tls::IssuedCertificate;

/// Longest time of a start.
const START_LIMIT: Duration = Duration::from_secs(60);
/// Longest time until a line of the log is written.
const LOG_WAIT: Duration = Duration::from_secs(30);
/// Time between two checks of a state that a test waits for.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A command line of the server, with its environment, directory and port.
#[derive(Debug)]
pub struct ServerCommand {
    binary: PathBuf,
    directory: tempfile::TempDir,
    env: Vec<(String, String)>,
    args: Vec<String>,
    port: u16,
    /// Keeps the port from other tests, also while no program listens on it.
    _reserved: Option<File>,
    inherit_output: bool,
    tls: Option<Arc<ClientConfig>>,
    socket: Option<TcpListener>,
}

impl ServerCommand {
    /// Prepares the binary in a new temporary directory, on a free loopback port, with a file database in
    /// that directory.
    ///
    /// # Errors
    /// No directory or no port is available.
    pub fn new(binary: impl Into<PathBuf>) -> io::Result<Self> {
        let directory = tempfile::tempdir()?;
        let (port, reserved) = reserve_port()?;
        let database = directory.path().join("svc.db");
        let mut launch = Self {
            binary: binary.into(),
            directory,
            env: Vec::new(),
            args: Vec::new(),
            port,
            _reserved: Some(reserved),
            inherit_output: false,
            tls: None,
            socket: None,
        };
        launch.set("SVC_SERVER__HOST", "127.0.0.1");
        launch.set("SVC_STORAGE__URL", &format!("sqlite:{}", database.display()));
        launch.set("SVC_SERVER__SHUTDOWN_DRAIN_SECS", "0");
        Ok(launch)
    }

    /// Sets an environment variable of the child; a later value replaces an earlier one.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.set(name, value);
        self
    }

    /// Adds command-line arguments.
    #[must_use]
    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|arg| (*arg).to_owned()));
        self
    }

    /// Serves this certificate, whose files `cert.pem` and `key.pem` are in the directory; clients of the
    /// server trust its authority.
    ///
    /// # Errors
    /// The files cannot be written, or the certificate is refused.
    #[cfg(feature = "peers")]
    pub fn over_tls(mut self, certificate: &IssuedCertificate) -> io::Result<Self> {
        let [cert, key] = certificate.write(self.directory.path())?.map(|path| path.display().to_string());
        self.set("SVC_SERVER__TLS__ENABLED", "true");
        self.set("SVC_SERVER__TLS__CERT_PATH", &cert);
        self.set("SVC_SERVER__TLS__KEY_PATH", &key);
        self.tls = Some(certificate.client_settings(None)?);
        Ok(self)
    }

    /// Listens on this port instead of a free one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Passes a listening socket, as a service manager does that keeps it open itself.
    ///
    /// # Errors
    /// The socket cannot be shared, or has no address.
    pub fn pass_socket(mut self, listener: &TcpListener) -> io::Result<Self> {
        self.port = listener.local_addr()?.port();
        self.socket = Some(listener.try_clone()?);
        Ok(self.env("LISTEN_FDS", "1").env("LISTEN_FDS_FIRST_FD", "0"))
    }

    /// Lets the child write to this process's standard streams instead of a log file.
    #[must_use]
    pub fn inherit_output(mut self) -> Self {
        self.inherit_output = true;
        self
    }

    /// The directory of the child, for its input files.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn set(&mut self, name: &str, value: &str) {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
    }

    fn command(&self) -> io::Result<Command> {
        let mut command = Command::new(&self.binary);
        command.args(&self.args).current_dir(self.directory.path());
        // As standard input: the only descriptors that a child inherits are its standard streams.
        command.stdin(match &self.socket {
            Some(socket) => Stdio::from(OwnedFd::from(socket.try_clone()?)),
            None => Stdio::null(),
        });
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SVC_") {
                command.env_remove(&name);
            }
        }
        command.env("SVC_SERVER__PORT", self.port.to_string());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    /// Leaves a variable of the child unset, so that the setting has its default.
    #[must_use]
    pub fn unset(mut self, name: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self
    }

    /// Runs the binary to its end and returns its output: for starts that must fail and for subcommands.
    ///
    /// # Errors
    /// The binary cannot be run.
    pub fn run_to_end(self) -> io::Result<std::process::Output> {
        self.output()
    }

    /// Runs like [`run_to_end`](Self::run_to_end) and keeps the directory for inspection.
    ///
    /// # Errors
    /// The binary cannot be run.
    pub fn output(&self) -> io::Result<std::process::Output> {
        self.command()?.output()
    }

    /// Runs a subcommand and kills it, like a power cut, once `due` returns `true`. Returns `false` if it
    /// ended before.
    ///
    /// # Errors
    /// The binary cannot be run.
    pub fn kill_when(self, mut due: impl FnMut() -> bool) -> io::Result<bool> {
        let mut child = self.command()?.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        while child.try_wait()?.is_none() {
            if due() {
                child.kill()?;
                child.wait()?;
                return Ok(true);
            }
            pause();
        }
        Ok(false)
    }

    /// Starts the server and waits until `/readyz` answers 200.
    ///
    /// # Errors
    /// The server ends first or is not ready in time; the message carries its log.
    pub fn start(self) -> io::Result<ServerProcess> {
        let mut server = self.spawn()?;
        server.wait_until_ready()?;
        Ok(server)
    }

    /// Starts the server without waiting for it.
    ///
    /// # Errors
    /// The binary cannot be run.
    pub fn spawn(self) -> io::Result<ServerProcess> {
        let log = self.directory.path().join("server.log");
        let mut command = self.command()?;
        if !self.inherit_output {
            let file = File::create(&log)?;
            command.stderr(file.try_clone()?).stdout(file);
        }
        let child = command.spawn()?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        Ok(ServerProcess { child, address, log, launch: self })
    }
}

/// A running server; it is killed when dropped.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    address: SocketAddr,
    log: PathBuf,
    launch: ServerCommand,
}

impl ServerProcess {
    /// Waits until `/readyz` answers 200.
    ///
    /// # Errors
    /// The server ends first or is not ready in time; the message carries its log.
    pub fn wait_until_ready(&mut self) -> io::Result<()> {
        let ready = wait_until(START_LIMIT, || {
            if let Some(status) = self.child.try_wait()? {
                let message = format!("the server ended with {status}\n{}", self.log_text());
                return Err(io::Error::other(message));
            }
            Ok(self.client().get("/readyz").is_ok_and(|answer| answer.status == 200))
        })?;
        if ready {
            Ok(())
        } else {
            Err(io::Error::other(format!("the server was not ready in time\n{}", self.log_text())))
        }
    }

    /// The listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Makes a client of this server.
    pub fn client(&self) -> HttpClient {
        let client = HttpClient::new(self.address);
        match &self.launch.tls {
            Some(settings) => client.over_tls(Arc::clone(settings)),
            None => client,
        }
    }

    /// The program.
    pub fn binary(&self) -> &Path {
        &self.launch.binary
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The directory with the database and the log.
    pub fn directory(&self) -> &Path {
        self.launch.directory()
    }

    /// Waits until the log contains each of the texts, and returns the log. Its lines are written by another thread, later
    /// than their causes can be observed.
    ///
    /// # Errors
    /// A text is not logged in time; the message names it, and shows the log.
    pub fn wait_for_log(&self, texts: &[&str]) -> io::Result<String> {
        let mut log = String::new();
        let mut missing = None;
        wait_until(LOG_WAIT, || {
            log = self.log_text();
            missing = texts.iter().find(|text| !log.contains(**text));
            Ok(missing.is_none())
        })?;
        match missing {
            None => Ok(log),
            Some(text) => Err(io::Error::other(format!("not logged: {text}\n{log}"))),
        }
    }

    /// Returns the log so far.
    pub fn log_text(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Sends a signal by name (`TERM`, `INT`, `HUP`, `KILL`).
    ///
    /// # Errors
    /// `kill` cannot be run, or fails.
    pub fn signal(&self, name: &str) -> io::Result<()> {
        // The shell's own `kill`: the command of that name is not on every machine.
        let status = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.pid())]).status()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("kill -{name}: {status}"))) }
    }

    /// Waits for the process to end by itself.
    ///
    /// # Errors
    /// The process still runs after `limit`.
    pub fn wait(&mut self, limit: Duration) -> io::Result<ExitStatus> {
        let mut status = None;
        wait_until(limit, || {
            status = self.child.try_wait()?;
            Ok(status.is_some())
        })?;
        status.ok_or_else(|| io::Error::other("the server did not end in time"))
    }

    /// Sets an environment variable of the process that is started next on the same directory and port.
    pub fn set_env(&mut self, name: &str, value: &str) {
        self.launch.set(name, value);
    }

    /// Kills the server, like a power cut, and starts it again on the same directory and port.
    ///
    /// # Errors
    /// Those of [`ServerCommand::start`].
    pub fn crash_and_restart(self) -> io::Result<Self> {
        let mut server = self.crash_and_respawn()?;
        server.wait_until_ready()?;
        Ok(server)
    }

    /// Kills the server, if it has not ended by itself, and starts another program on the same directory and port.
    ///
    /// # Errors
    /// Those of [`ServerCommand::start`].
    pub fn crash_and_restart_as(mut self, binary: PathBuf) -> io::Result<Self> {
        self.launch.binary = binary;
        self.crash_and_restart()
    }

    /// Kills the server, if it has not ended by itself, and starts it again without waiting for it.
    ///
    /// # Errors
    /// The binary cannot be run.
    pub fn crash_and_respawn(mut self) -> io::Result<Self> {
        self.child.kill()?;
        self.child.wait()?;
        let replacement = tempfile::tempdir()?;
        let port = self.launch.port;
        let launch = std::mem::replace(
            &mut self.launch,
            ServerCommand {
                binary: PathBuf::new(),
                directory: replacement,
                env: Vec::new(),
                args: Vec::new(),
                port,
                _reserved: None,
                inherit_output: false,
                tls: None,
                socket: None,
            },
        );
        launch.spawn()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // A process that has ended needs no kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a free loopback port, which no other test is given before this process ends.
///
/// # Errors
/// No socket can be bound.
pub fn free_port() -> io::Result<u16> {
    let (port, reserved) = reserve_port()?;
    std::mem::forget(reserved);
    Ok(port)
}

/// Returns a free loopback port, and the lock that keeps it from other tests.
fn reserve_port() -> io::Result<(u16, File)> {
    // Below the ports that the kernel gives to whoever asks for any: such a one may be gone a moment later.
    const LOWEST: u64 = 10_000;
    const HIGHEST: u64 = 32_000;
    // The locks of another user cannot be opened.
    let user = tempfile::tempfile()?.metadata()?.uid();
    let directory = std::env::temp_dir().join(format!("svc-test-ports-{user}"));
    std::fs::create_dir_all(&directory)?;
    loop {
        let number = RandomState::new().build_hasher().finish();
        let port = u16::try_from(LOWEST + number % (HIGHEST - LOWEST)).map_err(io::Error::other)?;
        // Tests run at the same time, and a server takes a while until it listens.
        let reserved = File::create(directory.join(port.to_string()))?;
        match reserved.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => continue,
            Err(TryLockError::Error(error)) => return Err(error),
        }
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(_) => return Ok((port, reserved)),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(error),
        }
    }
}

/// Checks a state until it holds; returns `false` if the limit passed first.
///
/// # Errors
/// The first error of the check itself.
pub fn wait_until(limit: Duration, mut look: impl FnMut() -> io::Result<bool>) -> io::Result<bool> {
    let looks = limit.as_millis() / LOOK_EVERY.as_millis();
    for _ in 0..looks {
        if look()? {
            return Ok(true);
        }
        pause();
    }
    look()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a blocking client waits for another process; no actor lives here"
)]
pub(crate) fn pause() {
    std::thread::sleep(LOOK_EVERY);
}
