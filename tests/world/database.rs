//! A database, the threads of its connections, and access to its file around the service.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use actix_rt::{Arbiter, System};
use actix_supervision::{Placement, Tree};
use rusqlite::Connection;
use svc_store::{Store, StoreConfig};
use tempfile::TempDir;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::timeout;

use crate::actors::log;

/// Time that a statement around the service waits for the lock of the file.
const BUSY: Duration = Duration::from_secs(30);

/// A database, and the threads of its connections. The processes of a test are trees over it.
pub struct TestWorld {
    /// The address of the database, and its limits.
    pub config: StoreConfig,
    directory: TempDir,
    io: Option<Arc<Runtime>>,
    thread: OnceCell<Arbiter>,
}

impl TestWorld {
    /// Prepares an empty file of SQLite.
    pub fn over_file() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", file_in(directory.path()).display());
        Self::new(url, directory)
    }

    /// Prepares the database of a server. It has no file to look at.
    pub fn over_server(url: &str) -> Self {
        Self::new(url.to_owned(), tempfile::tempdir().unwrap())
    }

    fn new(url: String, directory: TempDir) -> Self {
        let io = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let config = StoreConfig { url, max_connections: 4, min_connections: 1, ..StoreConfig::default() };
        Self { config, directory, io: Some(Arc::new(io)), thread: OnceCell::new() }
    }

    /// Lets the store report a locked file or an absent server after half a second.
    #[must_use]
    pub fn impatient(mut self) -> Self {
        self.config.busy_timeout_ms = 400;
        self.config.acquire_timeout = Duration::from_millis(800);
        self
    }

    /// Runs a test in a system of actors, for no longer than the limit.
    pub fn run<T>(self, limit: Duration, test: impl AsyncFnOnce(Self) -> T) -> T {
        let ended = System::new().block_on(async { timeout(limit, test(self)).await });
        ended.expect("the test ends in time")
    }

    /// Opens the database, and supervises its actors as `store` of a tree.
    pub async fn store(&self, tree: &Tree) -> Store {
        let opened = Store::open(&self.config, self.io(), log()).await.unwrap();
        Store::supervise(opened, tree, "store", Placement::Here).await.unwrap()
    }

    /// Returns a handle of the threads of the connections.
    fn io(&self) -> Handle {
        self.io.as_ref().expect("the database was not taken away").handle().clone()
    }

    /// Returns a thread for actors whose tasks run on the threads of the connections.
    pub fn thread(&self) -> Placement {
        let arbiter = self.thread.get_or_init(|| {
            let io = Arc::clone(self.io.as_ref().expect("the database was not taken away"));
            Arbiter::try_with_tokio_rt(move || Ok(io)).unwrap()
        });
        Placement::On(arbiter.handle())
    }

    /// Takes the database away for good.
    pub fn lose_database(&mut self) {
        self.end_connections();
    }

    fn end_connections(&mut self) {
        if let Some(arbiter) = self.thread.take() {
            arbiter.stop();
        }
        // The thread of actors may hold the runtime a moment longer; then it ends it.
        if let Some(io) = self.io.take().and_then(Arc::into_inner) {
            io.shutdown_background();
        }
    }

    /// The directory of the world, which is removed with it.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The file of the database.
    pub fn file(&self) -> PathBuf {
        file_in(self.directory.path())
    }

    /// Opens the file of the database around the service.
    pub fn connect(&self) -> Connection {
        let connection = Connection::open(self.file()).unwrap();
        connection.busy_timeout(BUSY).unwrap();
        connection
    }

    /// Runs SQL around the service.
    pub fn execute(&self, sql: &str) {
        self.connect().execute_batch(sql).unwrap();
    }

    /// Returns the text of an expression of SQL, read around the service.
    pub fn read(&self, expression: &str) -> String {
        self.connect().query_row(&format!("SELECT {expression}"), [], |row| row.get(0)).unwrap()
    }

    /// Locks the file against writers until the returned value is dropped.
    pub fn lock(&self) -> DatabaseLock {
        let connection = self.connect();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        DatabaseLock(connection)
    }
}

impl Drop for TestWorld {
    fn drop(&mut self) {
        self.end_connections();
    }
}

fn file_in(directory: &Path) -> PathBuf {
    directory.join("svc.db")
}

/// A transaction that keeps all other writers out of a file.
pub struct DatabaseLock(Connection);

impl DatabaseLock {
    /// Runs SQL under the lock and commits.
    pub fn commit(self, sql: &str) {
        self.0.execute_batch(sql).unwrap();
        // The transaction that the drop ends.
        self.0.execute_batch("COMMIT; BEGIN").unwrap();
    }
}

impl Drop for DatabaseLock {
    fn drop(&mut self) {
        self.0.execute_batch("ROLLBACK").unwrap();
    }
}
