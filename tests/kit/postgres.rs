//! A real PostgreSQL, installed on demand: one that all tests share, or one that a single test may stop.

use std::fs::File;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::daemon::Daemon;
use crate::tls::IssuedCertificate;

/// More than one, so that they grow fewer, and few, so that no test waits for long.
const DROPPED_AT_ONCE: usize = 3;

/// A running server.
#[derive(Debug)]
pub struct Postgres(Daemon);

impl Postgres {
    /// Returns the server that all test processes of this user and this checkout share; it ends after the
    /// last of them. Reports a missing server with [`report_missing`](crate::peer::report_missing).
    pub fn shared() -> Option<Self> {
        Daemon::shared("postgres").map(Self)
    }

    /// Starts a server of the test's own. Reports a missing one with
    /// [`report_missing`](crate::peer::report_missing).
    pub fn own() -> Option<Self> {
        Daemon::own("postgres", None).map(Self)
    }

    /// Starts a server of the test's own that offers TLS.
    pub fn with_tls(certificate: &IssuedCertificate) -> Option<Self> {
        Daemon::own("postgres", Some(certificate)).map(Self)
    }

    /// Creates a database.
    ///
    /// # Errors
    /// The message of the server.
    pub fn database(&self) -> Result<PostgresDatabase, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("t{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let server = PostgresDatabase { url: self.url().to_owned(), _in_use: self.in_use() };
        // Process ids are reused; a leftover database of that name belongs to nobody.
        server.rows(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))?;
        server.drop_ended()?;
        server.rows(&format!("CREATE DATABASE {name}"))?;
        let (server, _) = self.url().rsplit_once('/').ok_or("the URL names no database")?;
        Ok(PostgresDatabase { url: format!("{server}/{name}"), _in_use: self.in_use() })
    }
}

impl Deref for Postgres {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.0
    }
}

/// A database that tests read and write around the service.
#[derive(Clone, Debug)]
pub struct PostgresDatabase {
    url: String,
    /// Keeps a shared server running.
    _in_use: Arc<File>,
}

impl PostgresDatabase {
    /// The connection URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Runs SQL over a connection of its own and returns the rows of all statements, as text.
    ///
    /// # Errors
    /// The message of the server, or the lost connection.
    pub fn rows(&self, sql: &str) -> Result<Vec<Vec<Option<String>>>, String> {
        // Runs on a thread of its own, so that a caller may be asynchronous.
        std::thread::scope(|scope| scope.spawn(|| self.ask(sql)).join())
            .unwrap_or_else(|_| Err("the query panicked".to_owned()))
    }

    /// Drops some databases of test processes that have ended: those of a whole run do not fit a small disk.
    fn drop_ended(&self) -> Result<(), String> {
        if !Path::new("/proc/self").exists() {
            return Ok(());
        }
        let names = self.rows("SELECT datname FROM pg_database WHERE datname ~ '^t[0-9]+_[0-9]+$'")?;
        let ended = names.into_iter().flatten().flatten().filter(|name| has_ended(name));
        for name in ended.take(DROPPED_AT_ONCE) {
            // Another process may drop it, or a service that outlived its test may still hold it.
            let _ = self.rows(&format!("DROP DATABASE IF EXISTS {name}"));
        }
        Ok(())
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

/// Returns `true` if the process in the name `t<process>_<number>` has ended.
fn has_ended(name: &str) -> bool {
    let process = name.strip_prefix('t').and_then(|name| name.split_once('_'));
    process.is_some_and(|(id, _)| !Path::new("/proc").join(id).exists())
}

fn texts(message: SimpleQueryMessage) -> Option<Vec<Option<String>>> {
    match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
        }
        _ => None,
    }
}
