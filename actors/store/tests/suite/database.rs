//! One database per test: a file in a directory of its own, or a database of a PostgreSQL server that all
//! tests share.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use actix_rt::System;
use actix_supervision::{Placement, Tree};
use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use slog::{Discard, Logger, o};
use svc_store::{OpenError, OpenedStore, Store, StoreConfig};
use svc_testkit::postgres::Postgres;
use tempfile::TempDir;
use tokio::runtime::{Builder, Handle};

/// An empty database.
pub(crate) struct TestDatabase {
    pub(crate) config: StoreConfig,
    /// The runtime of its connections.
    pub(crate) io: Handle,
    directory: TempDir,
}

impl TestDatabase {
    /// Returns a store on the database, migrated, in a tree of its own.
    pub(crate) async fn store(&self) -> Store {
        self.store_in(&Tree::builder("test").build()).await
    }

    /// Returns a store on the database, migrated, in this tree.
    pub(crate) async fn store_in(&self, tree: &Tree) -> Store {
        let opened = self.open().await.expect("the database opens");
        Store::supervise(opened, tree, "store", Placement::Here).await.expect("the actors start")
    }

    pub(crate) async fn open(&self) -> Result<OpenedStore, OpenError> {
        Store::open(&self.config, self.io.clone(), Logger::root(Discard, o!())).await
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        self.config.url.starts_with("sqlite:")
    }

    /// Runs SQL on a connection of its own.
    pub(crate) async fn execute(&self, sql: &str) -> Result<(), String> {
        match self.config.url.strip_prefix("sqlite:") {
            Some(path) => connect(path).batch_execute(sql).map_err(|error| error.to_string()),
            None => client(&self.config.url).await.batch_execute(sql).await.map_err(|e| format!("{e:?}")),
        }
    }

    /// Runs SQL in a transaction of PostgreSQL that stays open.
    pub(crate) async fn hold(&self, sql: &str) -> tokio_postgres::Client {
        let client = client(&self.config.url).await;
        client.batch_execute(&format!("BEGIN; {sql}")).await.expect("the statement is valid");
        client
    }

    /// Returns the number that a query of PostgreSQL results in.
    pub(crate) async fn number(&self, sql: &str) -> u64 {
        let row = client(&self.config.url).await.query_one(sql, &[]).await.expect("the query is valid");
        row.get::<_, i64>(0).unsigned_abs()
    }
}

/// Opens a database file that a store may write at the same time.
pub(super) fn connect(path: &str) -> SqliteConnection {
    let mut conn = SqliteConnection::establish(path).expect("the file opens");
    conn.batch_execute("PRAGMA busy_timeout = 30000").expect("the pragma is known");
    conn
}

async fn client(url: &str) -> tokio_postgres::Client {
    let (client, connection) =
        tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("the server answers");
    Handle::current().spawn(connection);
    client
}

/// Runs a case on a current-thread runtime, as the service does, with the connections on another runtime.
fn run<F: Future<Output = ()>>(
    url: impl AsyncFnOnce(&TempDir) -> String,
    case: impl FnOnce(TestDatabase) -> F,
) {
    let io = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime starts");
    System::new().block_on(async {
        let directory = TempDir::new().expect("a directory is made");
        let config = config(url(&directory).await);
        case(TestDatabase { config, io: io.handle().clone(), directory }).await;
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
pub(crate) fn on_sqlite<F: Future<Output = ()>>(case: impl FnOnce(TestDatabase) -> F) {
    run(async |directory| format!("sqlite:{}", directory.path().join("svc.db").display()), case);
}

/// Runs a case on a new database of the shared server.
pub(crate) fn on_postgres<F: Future<Output = ()>>(case: impl FnOnce(TestDatabase) -> F) {
    if let Some(server) = Postgres::shared() {
        let database = server.database().expect("a database is made");
        run(async |_| database.url().to_owned(), case);
    }
}

/// Runs a case on the database of this URL.
pub(crate) fn on_url<F: Future<Output = ()>>(url: &str, case: impl FnOnce(TestDatabase) -> F) {
    run(async |_| url.to_owned(), case);
}

/// Runs a case on a PostgreSQL server of its own, which it may stop.
pub(crate) fn on_own_postgres<F: Future<Output = ()>>(case: impl FnOnce(TestDatabase, Postgres) -> F) {
    if let Some(server) = Postgres::own() {
        let url = server.url().to_owned();
        run(async |_| url, |database| case(database, server));
    }
}
