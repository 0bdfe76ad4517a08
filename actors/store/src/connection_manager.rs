//! Opens connections for the pool of readers, the writer and migrations.

use std::thread;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection as _};
use tokio::net::UnixStream;
use tokio::time::timeout;
use tokio_postgres::NoTls;
use tokio_postgres::config::{Host, SslMode, SslNegotiation};

use crate::config::{DatabaseTarget, StoreConfig};
use crate::conn::{Conn, InlineExecutor};
use crate::error::{OpenError, StoreError, with_causes};
use crate::sqlstate::{MarkErrors, MarkedStream};

/// Limits the time for which a process that stops inside a transaction, without closing its connection, holds its
/// locks.
const STOPPED: &str = "SET idle_in_transaction_session_timeout = '5s'";

/// Port of a server whose URL names none.
const POSTGRES_PORT: u16 = 5432;

/// Pause between two attempts to switch a new file to WAL.
const WAL_RETRY: Duration = Duration::from_millis(10);

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    Write,
    /// Reads and changes nothing: a file is not created, and keeps its journal mode.
    Inspect,
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

    /// Returns whether connections hear announcements: the driver passes none on over a Unix socket.
    pub(crate) fn announces(&self) -> bool {
        match &self.target {
            DatabaseTarget::Sqlite(_) => false,
            DatabaseTarget::Postgres(settings) => is_over_tcp(settings),
        }
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
                let mut conn = open_postgres(settings).await?;
                if purpose == Purpose::Inspect {
                    conn.batch_execute("SET default_transaction_read_only = on").await?;
                }
                Ok(Conn::Postgres(Box::new(conn)))
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
        let mut conn = SqliteConnection::establish(&place)
            .map_err(|error| StoreError::Unavailable(error.to_string().into()))?;
        conn.batch_execute(&format!("PRAGMA busy_timeout = {};", self.busy_timeout_ms))?;
        if purpose == Purpose::Inspect {
            return Ok(conn);
        }
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

/// Returns the URI of a file with the parameters of its use.
pub(crate) fn sqlite_uri(path: &str, parameters: &str) -> String {
    let escaped = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    format!("file:{escaped}?{parameters}")
}

fn is_over_tcp(settings: &tokio_postgres::Config) -> bool {
    settings.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_)))
}

async fn open_postgres(settings: &tokio_postgres::Config) -> Result<AsyncPgConnection, StoreError> {
    let conn = if is_over_tcp(settings) {
        let mut settings = settings.clone();
        settings.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct);
        let (client, connection) = settings.connect(MarkErrors).await.map_err(connect_failure)?;
        AsyncPgConnection::try_from_client_and_connection(client, connection).await
    } else {
        // The driver applies TLS, and so the marks of errors, to no Unix socket.
        AsyncPgConnection::try_from(connect_unix(settings).await?).await
    };
    let mut conn = conn.map_err(|error| StoreError::Unavailable(error.to_string().into()))?;
    conn.batch_execute(STOPPED).await?;
    Ok(conn)
}

fn connect_failure(error: tokio_postgres::Error) -> StoreError {
    StoreError::Unavailable(with_causes(&error).into())
}

/// Connects over the first Unix socket that answers. A task drives the connection until its client is dropped.
async fn connect_unix(settings: &tokio_postgres::Config) -> Result<tokio_postgres::Client, StoreError> {
    let limit = settings.get_connect_timeout().copied().unwrap_or(Duration::MAX);
    let mut failure = StoreError::Unavailable("the database URL names no host".into());
    for (index, host) in settings.get_hosts().iter().enumerate() {
        let Host::Unix(directory) = host else { continue };
        let ports = settings.get_ports();
        let port = ports.get(index).or(ports.first()).copied().unwrap_or(POSTGRES_PORT);
        let socket = directory.join(format!(".s.PGSQL.{port}"));
        let connected = timeout(limit, async {
            let stream = UnixStream::connect(&socket).await.map_err(|error| {
                StoreError::Unavailable(format!("error connecting to server: {error}").into())
            })?;
            settings.connect_raw(MarkedStream::new(stream), NoTls).await.map_err(connect_failure)
        });
        match connected.await {
            Ok(Ok((client, connection))) => {
                #[expect(clippy::disallowed_methods, reason = "ends with its client")]
                tokio::spawn(connection);
                return Ok(client);
            }
            Ok(Err(error)) => failure = error,
            Err(_) => failure = StoreError::Unavailable("the server did not answer in time".into()),
        }
    }
    Err(failure)
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
