//! A real PostgreSQL, installed where it is missing: one that all tests share, or one of its own that a test may stop.

use std::fs::{File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;
use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::peer;

/// A server, kept alive by a shared lock that ends with this process at the latest.
#[derive(Debug)]
pub struct Postgres {
    directory: PathBuf,
    url: String,
    _in_use: File,
    /// Of a server that nobody else uses.
    own: Option<TempDir>,
}

impl Postgres {
    /// The one for the processes of this user and this checkout; it ends after the last of them. Where there is none,
    /// says so as [`peer::missing`] does.
    pub fn shared() -> Option<Self> {
        let owner = std::fs::metadata(env!("CARGO_MANIFEST_DIR")).map_or(0, |checkout| checkout.uid());
        let directory = std::env::temp_dir().join(format!("svc-test-postgres-{owner}"));
        Self::start(directory, None).map_err(|why| peer::missing("postgres", &why)).ok()
    }

    /// A new one. Where there is none, says so as [`peer::missing`] does.
    pub fn own() -> Option<Self> {
        Self::start_own().map_err(|why| peer::missing("postgres", &why)).ok()
    }

    fn start_own() -> Result<Self, String> {
        let own = TempDir::new().map_err(|error| error.to_string())?;
        // The server runs as another user, who must be able to enter.
        std::fs::set_permissions(own.path(), Permissions::from_mode(0o755))
            .map_err(|error| error.to_string())?;
        Self::start(own.path().join("postgres"), Some(own))
    }

    fn start(directory: PathBuf, own: Option<TempDir>) -> Result<Self, String> {
        let in_use = File::create(directory.with_extension("users")).map_err(|error| error.to_string())?;
        in_use.lock_shared().map_err(|error| error.to_string())?;
        let url = script("start", &directory)?;
        Ok(Self { directory, url, _in_use: in_use, own })
    }

    /// The database that is there from the start.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops it as a crash would.
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

    /// A new database.
    ///
    /// # Errors
    /// What the server says.
    pub fn database(&self) -> Result<Database, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("t{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let server = Database { url: self.url.clone() };
        // Process ids come round again; a leftover of that name is nobody's.
        server.rows(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))?;
        server.rows(&format!("CREATE DATABASE {name}"))?;
        let (server, _) = self.url.rsplit_once('/').ok_or("the URL names no database")?;
        Ok(Database { url: format!("{server}/{name}") })
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if self.own.is_some() {
            // Where this fails the watchdog does it.
            let _ = self.stop();
        }
    }
}

/// A database, read and written beside the service.
#[derive(Clone, Debug)]
pub struct Database {
    url: String,
}

impl Database {
    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Runs SQL over a connection of its own; the rows of all its statements, as text.
    ///
    /// # Errors
    /// What the server says, or that it does not answer.
    pub fn rows(&self, sql: &str) -> Result<Vec<Vec<Option<String>>>, String> {
        // A thread of its own, so that a caller may be asynchronous.
        std::thread::scope(|scope| scope.spawn(|| self.ask(sql)).join())
            .unwrap_or_else(|_| Err("the query panicked".to_owned()))
    }

    fn ask(&self, sql: &str) -> Result<Vec<Vec<Option<String>>>, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|error| error.to_string())?.block_on(async {
            let connected = tokio_postgres::connect(&self.url, NoTls).await;
            let (client, connection) = connected.map_err(|error| format!("{error:?}"))?;
            let ask = client.simple_query(sql);
            tokio::pin!(ask, connection);
            let answer = tokio::select! {
                answer = &mut ask => answer,
                end = &mut connection => {
                    return Err(format!("the connection ended: {end:?}"));
                }
            };
            let answer = answer.map_err(|error| format!("{error:?}"))?;
            Ok(answer.into_iter().filter_map(texts).collect())
        })
    }
}

fn texts(message: SimpleQueryMessage) -> Option<Vec<Option<String>>> {
    match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
        }
        _ => None,
    }
}

fn script(command: &str, directory: &Path) -> Result<String, String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/postgres");
    let output =
        Command::new(script).arg(command).arg(directory).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}
