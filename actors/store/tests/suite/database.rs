//! A database per test: a file in a directory of its own, or a database of a PostgreSQL that all tests share.

use std::fs::File;
use std::future::Future;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use actix_rt::System;
use actix_supervision::{Placement, Tree};
use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use slog::{Discard, Logger, o};
use svc_store::{OpenError, Opened, Store, StoreConfig};
use tempfile::TempDir;
use tokio::runtime::{Builder, Handle};

/// An empty database.
pub(crate) struct Database {
    pub(crate) config: StoreConfig,
    /// The runtime of its connections.
    pub(crate) io: Handle,
    directory: TempDir,
}

impl Database {
    /// A store over it, migrated, in a tree of its own.
    pub(crate) async fn store(&self) -> Store {
        self.store_in(&Tree::builder("test").build()).await
    }

    /// A store over it, migrated, in this tree.
    pub(crate) async fn store_in(&self, tree: &Tree) -> Store {
        let opened = self.open().await.expect("the database opens");
        Store::supervise(opened, tree, "store", Placement::Here).await.expect("the actors start")
    }

    pub(crate) async fn open(&self) -> Result<Opened, OpenError> {
        Store::open(&self.config, self.io.clone(), Logger::root(Discard, o!())).await
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        self.config.url.starts_with("sqlite:")
    }

    /// Runs SQL beside the store.
    pub(crate) async fn execute(&self, sql: &str) -> Result<(), String> {
        match self.config.url.strip_prefix("sqlite:") {
            Some(path) => {
                let mut conn = SqliteConnection::establish(path).expect("the file opens");
                conn.batch_execute(sql).map_err(|error| error.to_string())
            }
            None => client(&self.config.url).await.batch_execute(sql).await.map_err(|e| format!("{e:?}")),
        }
    }
}

async fn client(url: &str) -> tokio_postgres::Client {
    let (client, connection) =
        tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("the server answers");
    Handle::current().spawn(connection);
    client
}

/// Runs a case on a thread of its own kind, as the service does, with the connections on another runtime.
fn run<F: Future<Output = ()>>(url: impl AsyncFnOnce(&TempDir) -> String, case: impl FnOnce(Database) -> F) {
    let io = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime starts");
    System::new().block_on(async {
        let directory = TempDir::new().expect("a directory is made");
        let config = config(url(&directory).await);
        case(Database { config, io: io.handle().clone(), directory }).await;
    });
}

fn config(url: String) -> StoreConfig {
    StoreConfig {
        url,
        max_connections: 4,
        min_connections: 1,
        busy_timeout_ms: 2000,
        acquire_timeout: Duration::from_secs(2),
        connect_retry: Duration::ZERO,
        ..StoreConfig::default()
    }
}

/// Runs a case on a new file.
pub(crate) fn on_sqlite<F: Future<Output = ()>>(case: impl FnOnce(Database) -> F) {
    run(async |directory| format!("sqlite:{}", directory.path().join("svc.db").display()), case);
}

/// Runs a case on a new database of the shared server.
pub(crate) fn on_postgres<F: Future<Output = ()>>(case: impl FnOnce(Database) -> F) {
    // One server for the processes of this user and this checkout; it ends after the last of them.
    let owner = std::fs::metadata(env!("CARGO_MANIFEST_DIR")).expect("the crate is there").uid();
    let shared = std::env::temp_dir().join(format!("svc-test-postgres-{owner}"));
    if let Some(server) = Server::start_or_skip(&shared) {
        run(async |_| server.database().await, case);
    }
}

/// Runs a case on a PostgreSQL of its own, which it may stop.
pub(crate) fn on_own_postgres<F: Future<Output = ()>>(case: impl FnOnce(Database, Server) -> F) {
    let directory = TempDir::new().expect("a directory is made");
    // The server runs as another user, who must be able to enter.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(directory.path(), open).expect("the directory is ours");
    let server = directory.path().join("postgres");
    let _stopped_before_its_directory_goes = Stop(server.clone());
    if let Some(server) = Server::start_or_skip(&server) {
        let url = server.url.clone();
        run(async |_| url, |database| case(database, server));
    }
}

/// Stops a server when the test is over, passed or not.
struct Stop(PathBuf);

impl Drop for Stop {
    fn drop(&mut self) {
        // Where this fails the watchdog does it.
        let _ = script("stop", &self.0);
    }
}

/// A PostgreSQL, kept alive by a shared lock that ends with this process at the latest.
pub(crate) struct Server {
    directory: PathBuf,
    url: String,
    _in_use: File,
}

impl Server {
    /// Starts it in `directory`, or finds it there.
    fn start(directory: &Path) -> Result<Self, String> {
        let in_use = File::create(directory.with_extension("users")).map_err(|error| error.to_string())?;
        in_use.lock_shared().map_err(|error| error.to_string())?;
        let url = script("start", directory)?;
        Ok(Self { directory: directory.to_owned(), url, _in_use: in_use })
    }

    fn start_or_skip(directory: &Path) -> Option<Self> {
        Self::start(directory).map_err(|why| svc_testkit::peer::missing("postgres", &why)).ok()
    }

    /// Stops it as a crash would.
    pub(crate) fn stop(&self) {
        script("stop", &self.directory).expect("the server stops");
    }

    /// Starts it again, at the same port.
    pub(crate) fn restart(&self) {
        assert_eq!(script("start", &self.directory).as_ref(), Ok(&self.url));
    }

    /// The URL of a new database.
    async fn database(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("t{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let server = client(&self.url).await;
        // Process ids come round again; a leftover of that name is nobody's.
        server.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await.expect("it goes");
        server.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("it is made");
        let (server, _) = self.url.rsplit_once('/').expect("the URL names a database");
        format!("{server}/{name}")
    }
}

fn script(command: &str, directory: &Path) -> Result<String, String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/peers/postgres");
    let output =
        Command::new(script).arg(command).arg(directory).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}
