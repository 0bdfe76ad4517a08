//! Reads of a database that change nothing: no migration, no journal mode, no table, no file. A server may use the
//! database meanwhile.

use std::path::Path;
use std::time::Duration;

use chrono::DateTime;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Bool, Text};
use diesel_async::RunQueryDsl;
use svc_model::{Channel, Connector, Consumer, EntityKind, Timestamp, Workflow};
use tokio::time::Instant;

use crate::clock;
use crate::config::{Backend, DatabaseTarget, StoreConfig};
use crate::conn::Conn;
use crate::connections::connection_manager::{ConnectionManager, Purpose};
use crate::earlier;
use crate::error::{OpenError, StoreError};
use crate::migrate::{self, SchemaReport, detail};
use crate::repo::{Definition, EntityFilter, list_consumers, list_definitions};

/// The first migration, which makes the table of definitions. No later one changes its columns.
const DEFINITIONS: &str = "000020_schema";
/// The end of the name of the migration that makes the table of consumers.
const CONSUMERS: &str = "000030_consumers";

/// The last migration that 0.1.0 does not have, by its name and its version. It is run when the database is upgraded.
const UPGRADE: &str = "000034_distributed_trace_ids";
const UPGRADE_VERSION: &str = "20261129000034";

/// The state of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseSummary {
    /// The location, without the password.
    pub target: String,
    /// False for a SQLite file that does not exist.
    pub exists: bool,
    /// The names of the migrations that are not applied.
    pub pending: Vec<String>,
}

/// The database as one connection sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseProbe {
    /// The kind of the database.
    pub backend: Backend,
    /// The version of the server, or of the library of SQLite.
    pub version: String,
    /// The time of one statement.
    pub latency: Duration,
    /// Milliseconds by which the clock of the database is ahead of the clock of this machine; 0 for a file.
    pub clock_ahead_ms: i64,
    /// The journal mode of a file, such as `wal`; `None` for a server.
    pub journal_mode: Option<String>,
    /// The connections that the server takes from all of its clients; `None` for a file.
    pub max_connections: Option<i64>,
    /// True for a server that takes no writes.
    pub is_replica: bool,
}

/// The stored definitions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredDefinitions {
    /// The latest version of each workflow.
    pub workflows: Vec<Workflow>,
    /// The latest version of each channel.
    pub channels: Vec<Channel>,
    /// The connectors. Settings that cannot be decrypted are marked unreadable.
    pub connectors: Vec<Connector>,
    /// The consumers; none in a database of a release that knows none.
    pub consumers: Vec<Consumer>,
}

/// Opens the database and returns its state.
///
/// # Errors
/// [`OpenError`] if the database cannot be opened, or another program migrated it; also for a SQLite file in a directory
/// that does not exist.
pub async fn summary(config: &StoreConfig) -> Result<DatabaseSummary, OpenError> {
    let connector = ConnectionManager::new(config)?;
    let (exists, schema) = read_schema(&connector).await?;
    Ok(DatabaseSummary { target: connector.target.to_string(), exists, pending: schema.migrations })
}

#[derive(QueryableByName)]
struct FileRow {
    #[diesel(sql_type = Text)]
    version: String,
    #[diesel(sql_type = Text)]
    journal_mode: String,
}

#[derive(QueryableByName)]
struct ServerRow {
    #[diesel(sql_type = Text)]
    version: String,
    #[diesel(sql_type = BigInt)]
    max_connections: i64,
    #[diesel(sql_type = Bool)]
    is_replica: bool,
}

/// Opens a database that exists and measures it.
///
/// # Errors
/// [`OpenError`] if the database cannot be opened or read.
pub async fn probe(config: &StoreConfig) -> Result<DatabaseProbe, OpenError> {
    let connector = ConnectionManager::new(config)?;
    let target = connector.target.to_string();
    let unreachable = |error| OpenError::Unreachable { target: target.clone(), detail: detail(error) };
    let mut conn = connector.open(Purpose::Inspect).await.map_err(unreachable)?;
    measure(&mut conn).await.map_err(unreachable)
}

async fn measure(conn: &mut Conn) -> Result<DatabaseProbe, StoreError> {
    // The first statement of a connection costs more than the others.
    conn.ping().await?;
    let (began_at, local) = (Instant::now(), clock::sqlite_now());
    let remote = clock::now(conn).await?;
    let round_trip = began_at.elapsed();
    let backend = conn.backend();
    let (version, journal_mode, max_connections, is_replica) = match conn {
        Conn::Sqlite(c) => {
            let query = "SELECT sqlite_version() AS version, journal_mode FROM pragma_journal_mode";
            let row: FileRow = diesel::sql_query(query).get_result(c).await?;
            (row.version, Some(row.journal_mode), None, false)
        }
        Conn::Postgres(c) => {
            let query = "SELECT current_setting('server_version') AS version, \
                         current_setting('max_connections')::bigint AS max_connections, \
                         pg_is_in_recovery() AS is_replica";
            let row: ServerRow = diesel::sql_query(query).get_result(&mut **c).await?;
            (row.version, None, Some(row.max_connections), row.is_replica)
        }
    };
    let began = Instant::now();
    conn.ping().await?;
    let latency = began.elapsed();
    let clock_ahead_ms = match backend {
        Backend::Sqlite => 0,
        // The clock was read in the middle of the round trip, as far as anything is known about it.
        Backend::Postgres => {
            let half = i64::try_from(round_trip.as_millis() / 2).unwrap_or(i64::MAX);
            (remote - local).num_milliseconds().saturating_sub(half)
        }
    };
    Ok(DatabaseProbe { backend, version, latency, clock_ahead_ms, journal_mode, max_connections, is_replica })
}

/// Returns whether the database exists, and the state of its schema.
async fn read_schema(connector: &ConnectionManager) -> Result<(bool, SchemaReport), OpenError> {
    let exists = match &connector.target {
        DatabaseTarget::Sqlite(path) => Path::new(path).exists(),
        DatabaseTarget::Postgres(_) => true,
    };
    if !exists {
        connector.target.check_directory()?;
    }
    Ok((exists, migrate::pending_with(connector).await?))
}

/// Reads the latest version of every stored definition, whatever migrations are pending. A database without tables
/// holds none.
///
/// # Errors
/// [`OpenError`] if the database cannot be opened or read, or another program migrated it.
pub async fn definitions(config: &StoreConfig) -> Result<StoredDefinitions, OpenError> {
    let connector = ConnectionManager::new(config)?;
    let (_, SchemaReport { migrations, is_earlier, .. }) = read_schema(&connector).await?;
    if !is_earlier && migrations.iter().any(|name| name.ends_with(DEFINITIONS)) {
        return Ok(StoredDefinitions::default());
    }
    let target = connector.target.to_string();
    let unreachable = |error| OpenError::Unreachable { target: target.clone(), detail: detail(error) };
    let mut conn = connector.open(Purpose::Inspect).await.map_err(unreachable)?;
    let stored = match is_earlier {
        true => read_earlier(&mut conn, config).await,
        false => {
            let knows_consumers = !migrations.iter().any(|name| name.ends_with(CONSUMERS));
            read(&mut conn, config, knows_consumers).await
        }
    };
    stored.map_err(unreachable)
}

async fn read(
    conn: &mut Conn,
    config: &StoreConfig,
    knows_consumers: bool,
) -> Result<StoredDefinitions, StoreError> {
    let all = EntityFilter { sort_by: Some("name".to_owned()), ..EntityFilter::default() };
    let all = EntityFilter { sort_order: Some("asc".to_owned()), ..all };
    Ok(StoredDefinitions {
        workflows: list_definitions(conn, &all, None, &config.connector_keys).await?.0,
        channels: list_definitions(conn, &all, None, &config.connector_keys).await?.0,
        connectors: list_definitions(conn, &all, None, &config.connector_keys).await?.0,
        consumers: if knows_consumers { list_consumers(conn).await? } else { Vec::new() },
    })
}

/// Reads the definitions of a database of before as they will be taken over.
async fn read_earlier(conn: &mut Conn, config: &StoreConfig) -> Result<StoredDefinitions, StoreError> {
    let keys = &config.connector_keys;
    let mut rows = earlier::read_definitions(conn, keys).await?;
    rows.retain(|row| row.is_latest);
    rows.sort_by(|one, other| (&one.name, &one.id).cmp(&(&other.name, &other.id)));
    let mut stored = StoredDefinitions::default();
    for row in rows {
        if row.kind == EntityKind::Workflow.name() {
            stored.workflows.push(Workflow::open(row, keys));
        } else if row.kind == EntityKind::Channel.name() {
            stored.channels.push(Channel::open(row, keys));
        } else {
            stored.connectors.push(Connector::open(row, keys));
        }
    }
    Ok(stored)
}

#[derive(QueryableByName)]
struct MigrationRow {
    #[diesel(sql_type = BigInt)]
    seconds: i64,
}

/// Returns the instant at which the database was upgraded from 0.1.0, or was made by a later version, in whole seconds;
/// `None` before.
///
/// # Errors
/// [`OpenError`] if the database cannot be opened or read, or another program migrated it.
pub async fn upgraded_at(config: &StoreConfig) -> Result<Option<Timestamp>, OpenError> {
    let connector = ConnectionManager::new(config)?;
    let (_, SchemaReport { migrations, is_earlier, .. }) = read_schema(&connector).await?;
    if is_earlier || migrations.iter().any(|name| name.ends_with(UPGRADE)) {
        return Ok(None);
    }
    let target = connector.target.to_string();
    let unreachable = |error| OpenError::Unreachable { target: target.clone(), detail: detail(error) };
    let mut conn = connector.open(Purpose::Inspect).await.map_err(unreachable)?;
    let seconds = read_upgrade(&mut conn).await.map_err(unreachable)?;
    Ok(DateTime::from_timestamp(seconds, 0).map(|instant| Timestamp::from_naive(instant.naive_utc())))
}

async fn read_upgrade(conn: &mut Conn) -> Result<i64, StoreError> {
    let select = |seconds: &str| {
        let table = "__diesel_schema_migrations";
        format!("SELECT {seconds} AS seconds FROM {table} WHERE version = '{UPGRADE_VERSION}'")
    };
    let row: MigrationRow = match conn {
        Conn::Sqlite(c) => {
            diesel::sql_query(select("CAST(strftime('%s', run_on) AS BIGINT)")).get_result(c).await?
        }
        Conn::Postgres(c) => {
            // A cast alone rounds: what was stored within the next half second would be from before.
            let seconds = "CAST(floor(extract(epoch FROM run_on::timestamptz)) AS bigint)";
            diesel::sql_query(select(seconds)).get_result(&mut **c).await?
        }
    };
    Ok(row.seconds)
}
