//! A real PostgreSQL, installed where it is missing: one that all tests share, or one of its own that a test may stop.

use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::daemon::Daemon;
use crate::tls::IssuedCertificate;

/// A server.
#[derive(Debug)]
pub struct Postgres(Daemon);

impl Postgres {
    /// The one for the processes of this user and this checkout; it ends after the last of them. Where there is none,
    /// says so as [`report_missing`](crate::peer::report_missing) does.
    pub fn shared() -> Option<Self> {
        Daemon::shared("postgres").map(Self)
    }

    /// A new one. Where there is none, says so as [`report_missing`](crate::peer::report_missing) does.
    pub fn own() -> Option<Self> {
        Daemon::own("postgres", None).map(Self)
    }

    /// A new one that offers TLS.
    pub fn with_tls(certificate: &IssuedCertificate) -> Option<Self> {
        Daemon::own("postgres", Some(certificate)).map(Self)
    }

    /// A new database.
    ///
    /// # Errors
    /// What the server says.
    pub fn database(&self) -> Result<PostgresDatabase, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("t{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let server = PostgresDatabase { url: self.url().to_owned() };
        // Process ids come round again; a leftover of that name is nobody's.
        server.rows(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))?;
        server.rows(&format!("CREATE DATABASE {name}"))?;
        let (server, _) = self.url().rsplit_once('/').ok_or("the URL names no database")?;
        Ok(PostgresDatabase { url: format!("{server}/{name}") })
    }
}

impl Deref for Postgres {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.0
    }
}

/// A database, read and written beside the service.
#[derive(Clone, Debug)]
pub struct PostgresDatabase {
    url: String,
}

impl PostgresDatabase {
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
