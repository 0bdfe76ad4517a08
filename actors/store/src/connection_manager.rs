//! Opens connections for the pool of readers, the writer and migrations.

use std::thread;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection as _};
use tokio_postgres::NoTls;
use tokio_postgres::config::{Host, SslMode, SslNegotiation};

use crate::config::{DatabaseTarget, StoreConfig};
use crate::conn::{Conn, InlineExecutor};
use crate::error::{OpenError, StoreError, with_causes};
use crate::sqlstate::MarkErrors;

/// Limits the time for which a process that stops inside a transaction, without closing its connection, holds its
/// locks.
const STOPPED: &str = "SET idle_in_transaction_session_timeout = '5s'";

/// Pause between two attempts to switch a new file to WAL.
const WAL_RETRY: Duration = Duration::from_millis(10);

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    Write,
}

/// Opens connections. Must be used on the runtime that will drive them.
#[derive(Clone)]
pub(crate) struct ConnectionManager {
    pub(crate) target: DatabaseTarget,
    busy_timeout_ms: u64,
}

impl ConnectionManager {
    pub(crate) fn new(config: &StoreConfig) -> Result<Self, OpenError> {
        let mut target = DatabaseTarget::parse(&config.url)?;
        if let DatabaseTarget::Postgres(settings) = &mut target {
            // These settings detect a vanished server earlier than the two hours of the kernel.
            settings
                .connect_timeout(config.acquire_timeout)
                .keepalives_idle(Duration::from_secs(15))
                .keepalives_interval(Duration::from_secs(5))
                .keepalives_retries(3)
                .tcp_user_timeout(Duration::from_secs(30));
        }
        Ok(Self { target, busy_timeout_ms: config.busy_timeout_ms })
    }

    pub(crate) async fn open(&self, purpose: Purpose) -> Result<Conn, StoreError> {
        match &self.target {
            DatabaseTarget::Sqlite(_) => {
                let connector = self.clone();
                let opened = tokio::task::spawn_blocking(move || connector.open_sqlite(purpose)).await;
                let conn = opened.map_err(|error| StoreError::Database(error.to_string()))??;
                Ok(Conn::Sqlite(SyncConnectionWrapper::with_runtime(conn, InlineExecutor)))
            }
            DatabaseTarget::Postgres(settings) => {
                open_postgres(settings).await.map(|conn| Conn::Postgres(Box::new(conn)))
            }
        }
    }

    /// Opens the file and recovers its journal. Blocks.
    pub(crate) fn open_sqlite(&self, purpose: Purpose) -> Result<SqliteConnection, StoreError> {
        let DatabaseTarget::Sqlite(path) = &self.target else {
            return Err(StoreError::Database("not a sqlite database".into()));
        };
        let mut conn =
            SqliteConnection::establish(path).map_err(|e| StoreError::Unavailable(e.to_string()))?;
        conn.batch_execute(&format!("PRAGMA busy_timeout = {};", self.busy_timeout_ms))?;
        self.use_wal(&mut conn)?;
        // FULL makes a commit survive a power cut. The undo data of savepoints stays in memory.
        conn.batch_execute(
            "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;",
        )?;
        if purpose == Purpose::Read {
            conn.batch_execute("PRAGMA query_only = ON;")?;
        }
        Ok(conn)
    }

    /// Switches the file to WAL, so that readers continue beside the one writer. Two processes that switch a new file
    /// at the same time conflict, and SQLite ignores the busy timeout in that case, so this retries.
    #[expect(clippy::disallowed_methods, reason = "the thread is there to be blocked by a file")]
    fn use_wal(&self, conn: &mut SqliteConnection) -> Result<(), StoreError> {
        let mut left = Duration::from_millis(self.busy_timeout_ms);
        loop {
            match conn.batch_execute("PRAGMA journal_mode = WAL;").map_err(StoreError::from) {
                Err(StoreError::Unavailable(_)) if !left.is_zero() => {
                    thread::sleep(WAL_RETRY);
                    left = left.saturating_sub(WAL_RETRY);
                }
                outcome => return outcome,
            }
        }
    }
}

async fn open_postgres(settings: &tokio_postgres::Config) -> Result<AsyncPgConnection, StoreError> {
    let failed = |error: tokio_postgres::Error| StoreError::Unavailable(with_causes(&error));
    // The driver uses TLS on a Unix socket only if the host has a name.
    let conn = if settings.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_))) {
        let mut settings = settings.clone();
        settings.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct);
        let (client, connection) = settings.connect(MarkErrors).await.map_err(failed)?;
        AsyncPgConnection::try_from_client_and_connection(client, connection).await
    } else {
        let (client, connection) = settings.connect(NoTls).await.map_err(failed)?;
        AsyncPgConnection::try_from_client_and_connection(client, connection).await
    };
    let mut conn = conn.map_err(|error| StoreError::Unavailable(error.to_string()))?;
    conn.batch_execute(STOPPED).await?;
    Ok(conn)
}

impl bb8::ManageConnection for ConnectionManager {
    type Connection = Conn;
    type Error = StoreError;

    async fn connect(&self) -> Result<Conn, StoreError> {
        self.open(Purpose::Read).await
    }

    async fn is_valid(&self, conn: &mut Conn) -> Result<(), StoreError> {
        match conn {
            // A file cannot close the connection, and its calls belong on a blocking thread.
            Conn::Sqlite(_) => Ok(()),
            Conn::Postgres(_) => conn.ping().await,
        }
    }

    fn has_broken(&self, conn: &mut Conn) -> bool {
        conn.is_broken()
    }
}
