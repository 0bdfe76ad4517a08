//! Opens connections for the pool of readers, the writer and migrations.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use parking_lot::Mutex;
use slog::Logger;
use tokio::time::Instant;

use crate::config::{Backend, DatabaseTarget, StoreConfig};
use crate::conn::{Conn, InlineExecutor};
use crate::error::{OpenError, StoreError};
use crate::files::private_file::create_if_missing;
use crate::postgres::PostgresDialer;

/// Pause between two attempts to switch a new file to WAL.
const WAL_RETRY: Duration = Duration::from_millis(10);
/// Bytes of a page of a new file. The row of a run has one to four KiB; in the default pages of 4 KiB nearly half of
/// the room, and of what is written, would be empty. An existing file keeps its pages.
const PAGE_BYTES: u32 = 8192;
/// Pages in the WAL after which a commit moves them into the file: 16 MiB. A page that many commits change is then
/// moved once.
const CHECKPOINT_PAGES: u32 = 2000;
/// Pages that the writer keeps in memory, in KiB: those that a large transaction changes, so that none is written before
/// its commit and read again.
const WRITER_CACHE_KIB: u32 = 16 * 1024;

/// Age below which connections are kept although their server takes no writes: while no other server has taken its
/// place, few are opened.
const SETTLED: Duration = Duration::from_millis(250);

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    Write,
    /// Reads and changes nothing: a file is not created, and keeps its journal mode.
    Inspect,
}

/// A plan that PostgreSQL keeps for a prepared statement was made for the size that the table had then. A table that has
/// grown since is read as a whole for each batch of changes, each claim, each list.
const PLAN_EACH: &str = "SET plan_cache_mode = force_custom_plan";
const READ_ONLY: &str = "SET default_transaction_read_only = on";

/// Checks a database URL, and reads the files that it names. Connects to nothing.
///
/// # Errors
/// [`OpenError::Url`] names what is unusable, never the password.
pub fn check_url(url: &str) -> Result<(), OpenError> {
    ConnectionManager::new(&StoreConfig { url: url.to_owned(), ..StoreConfig::default() }).map(drop)
}

/// Opens connections. Must be used on the runtime that will drive them.
#[derive(Clone)]
pub(crate) struct ConnectionManager {
    pub(crate) target: DatabaseTarget,
    /// `None` for a file.
    postgres: Option<PostgresDialer>,
    busy_timeout_ms: u64,
    generation: Arc<Mutex<ConnectionGeneration>>,
}

/// The connections that were opened since their server was last given up.
struct ConnectionGeneration {
    number: u64,
    since: Instant,
}

/// A connection that is used again and again, with the number of its generation.
pub(crate) struct PooledConn {
    conn: Conn,
    generation: u64,
}

impl Deref for PooledConn {
    type Target = Conn;

    fn deref(&self) -> &Conn {
        &self.conn
    }
}

impl DerefMut for PooledConn {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.conn
    }
}

impl ConnectionManager {
    pub(crate) fn new(config: &StoreConfig) -> Result<Self, OpenError> {
        let target = DatabaseTarget::parse(&config.url)?;
        let postgres = match &target {
            DatabaseTarget::Sqlite(_) => None,
            DatabaseTarget::Postgres(server) => {
                let dialer = PostgresDialer::new(&server.settings, &server.tls, config.acquire_timeout);
                Some(dialer.map_err(OpenError::Url)?)
            }
        };
        let generation = ConnectionGeneration { number: 0, since: Instant::now() };
        let generation = Arc::new(Mutex::new(generation));
        Ok(Self { target, postgres, busy_timeout_ms: config.busy_timeout_ms, generation })
    }

    /// Opens a connection that is used until it breaks, or its server is given up.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) async fn open_pooled(&self, purpose: Purpose) -> Result<PooledConn, StoreError> {
        let generation = self.generation.lock().number;
        Ok(PooledConn { conn: self.open(purpose).await?, generation })
    }

    /// Gives up the connections to a server that takes no writes, unless they are young: another one may have taken
    /// its place behind the same address.
    pub(crate) fn give_up(&self) {
        let mut generation = self.generation.lock();
        if generation.since.elapsed() >= SETTLED {
            *generation = ConnectionGeneration { number: generation.number + 1, since: Instant::now() };
        }
    }

    /// Returns true if the server of a connection was given up since it was opened.
    pub(crate) fn is_given_up(&self, conn: &PooledConn) -> bool {
        conn.generation != self.generation.lock().number
    }

    /// Logs whether connections to a server are encrypted.
    pub(crate) fn log_protection(&mut self, log: Logger) {
        if let Some(postgres) = &mut self.postgres {
            postgres.log_protection(log);
        }
    }

    /// Returns whether connections go through a pooler, as the last one did.
    pub(crate) fn is_pooled(&self) -> bool {
        self.postgres.as_ref().is_some_and(PostgresDialer::is_pooled)
    }

    /// Returns whether connections receive announcements: none arrives over a Unix socket, or through a pooler.
    pub(crate) fn announces(&self) -> bool {
        self.postgres.as_ref().is_some_and(PostgresDialer::announces)
    }

    /// Opens a connection. A SQLite file is opened on a blocking thread, since that reads the disk.
    ///
    /// # Errors
    /// The database does not answer, or refuses the connection.
    pub(crate) async fn open(&self, purpose: Purpose) -> Result<Conn, StoreError> {
        match &self.postgres {
            None => {
                let connector = self.clone();
                let opened = tokio::task::spawn_blocking(move || connector.open_sqlite(purpose)).await;
                let conn = opened.map_err(|error| StoreError::Database(error.to_string()))??;
                Ok(Conn::Sqlite(SyncConnectionWrapper::with_runtime(conn, InlineExecutor)))
            }
            Some(postgres) => {
                let settings = match purpose {
                    Purpose::Read | Purpose::Write => PLAN_EACH,
                    Purpose::Inspect => READ_ONLY,
                };
                Ok(Conn::Postgres(Box::new(postgres.open(settings).await?)))
            }
        }
    }

    /// Opens the file and recovers its journal. Blocks.
    pub(crate) fn open_sqlite(&self, purpose: Purpose) -> Result<SqliteConnection, StoreError> {
        let DatabaseTarget::Sqlite(path) = &self.target else {
            return Err(StoreError::Database("not a sqlite database".into()));
        };
        let place = match purpose {
            Purpose::Inspect => sqlite_uri(path, "mode=ro"),
            Purpose::Read | Purpose::Write => path.clone(),
        };
        if purpose != Purpose::Inspect {
            // SQLite would make it readable by everybody. It reports what cannot be opened.
            let _reported = create_if_missing(Path::new(path));
        }
        let mut conn = SqliteConnection::establish(&place)
            .map_err(|error| StoreError::Unavailable(error.to_string().into()))?;
        conn.batch_execute(&format!("PRAGMA busy_timeout = {};", self.busy_timeout_ms))?;
        if purpose == Purpose::Inspect {
            return Ok(conn);
        }
        conn.batch_execute(&format!("PRAGMA page_size = {PAGE_BYTES};"))?;
        self.use_wal(&mut conn)?;
        // FULL makes a commit survive a power cut. The undo data of savepoints stays in memory.
        conn.batch_execute(&format!(
            "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; \
             PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES};"
        ))?;
        match purpose {
            Purpose::Write => conn.batch_execute(&format!("PRAGMA cache_size = -{WRITER_CACHE_KIB};"))?,
            Purpose::Read | Purpose::Inspect => conn.batch_execute("PRAGMA query_only = ON;")?,
        }
        Ok(conn)
    }

    /// Switches the file to WAL, so that readers continue during writes. Two processes that switch a new file
    /// at the same time conflict, and SQLite ignores the busy timeout in that case, so this retries.
    #[expect(clippy::disallowed_methods, reason = "the thread is there to be blocked by a file")]
    fn use_wal(&self, conn: &mut SqliteConnection) -> Result<(), StoreError> {
        let mut remaining = Duration::from_millis(self.busy_timeout_ms);
        loop {
            match conn.batch_execute("PRAGMA journal_mode = WAL;").map_err(StoreError::from) {
                Err(StoreError::Unavailable(_)) if !remaining.is_zero() => {
                    thread::sleep(WAL_RETRY);
                    remaining = remaining.saturating_sub(WAL_RETRY);
                }
                outcome => return outcome,
            }
        }
    }
}

/// Returns the URI of a file with the parameters of its use.
pub(crate) fn sqlite_uri(path: &str, parameters: &str) -> String {
    let escaped = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    format!("file:{escaped}?{parameters}")
}

impl bb8::ManageConnection for ConnectionManager {
    type Connection = PooledConn;
    type Error = StoreError;

    async fn connect(&self) -> Result<PooledConn, StoreError> {
        self.open_pooled(Purpose::Read).await
    }

    async fn is_valid(&self, conn: &mut PooledConn) -> Result<(), StoreError> {
        if self.is_given_up(conn) {
            return Err(StoreError::Unavailable("the server of the connection takes no writes".into()));
        }
        match conn.backend() {
            // A file cannot close the connection, and its calls belong on a blocking thread.
            Backend::Sqlite => Ok(()),
            Backend::Postgres => conn.ping().await,
        }
    }

    fn has_broken(&self, conn: &mut PooledConn) -> bool {
        self.is_given_up(conn) || conn.is_broken()
    }
}
