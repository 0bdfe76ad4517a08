//! The settings of a SQL database, ready for use.

use std::net::SocketAddr;
use std::time::Duration;

use slog::{Logger, o};
use svc_model::config::connector::{DatabaseKind, DbConfig, DialectConfig, OperationSwitches};
use svc_outbound::Outbound;
use tokio::time::timeout;

use super::error::SqlError;
use super::mysql::MySqlTarget;
use super::postgres::PostgresTarget;
use super::result::ResultBounds;
use super::sqlite::SqliteTarget;
use crate::drivers::own_database::OwnDatabase;
use crate::settings::Settings;

/// Most connections when the config sets none.
const MAX_CONNECTIONS: u32 = 5;

/// The settings of a SQL database.
pub(crate) struct SqlSettings {
    pub(super) target: SqlTarget,
    pub(super) max_connections: u32,
    pub(super) connect_timeout: Duration,
    /// Time limit of all statements of one task.
    pub(crate) query_timeout: Duration,
    pub(super) allow_private: bool,
    /// Most bytes of a result, if the server allows as many; `None` for the server's own bound.
    max_result_bytes: Option<usize>,
    /// Operations that tasks may use.
    pub(crate) operations: OperationSwitches,
    /// The bounds of the portable dialect.
    pub(crate) dialect: DialectConfig,
}

/// The server or file of a database, by kind.
pub(super) enum SqlTarget {
    Postgres(PostgresTarget),
    MySql(MySqlTarget),
    Sqlite(SqliteTarget),
}

/// The context that the connections of a pool are made in.
#[derive(Clone)]
pub(super) struct PoolContext {
    pub(super) outbound: Outbound,
    /// The database that no connector may open.
    pub(super) own: OwnDatabase,
    /// Log of the state of encryption.
    pub(super) log: Logger,
}

impl PoolContext {
    /// The context of the connector `name`.
    pub(super) fn new(name: &str, with: &Settings, log: &Logger) -> Self {
        let log = log.new(o!("connector" => name.to_owned()));
        Self { outbound: with.outbound.clone(), own: OwnDatabase::from_store(&with.store), log }
    }
}

/// The settings and services that dialling a server needs.
#[derive(Clone)]
pub(super) struct DialContext {
    pub(super) outbound: Outbound,
    pub(super) allow_private: bool,
    /// Time limit for each address.
    pub(super) limit: Duration,
    pub(super) log: Logger,
}

impl DialContext {
    /// The addresses of a host, each checked.
    pub(super) async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, SqlError> {
        let lookup = self.outbound.addresses(host, port, self.allow_private);
        match timeout(self.limit, lookup).await {
            Ok(addresses) => Ok(addresses?),
            Err(_) => Err(SqlError::Unreachable(format!(
                "the address of the database was not found within {} ms",
                self.limit.as_millis()
            ))),
        }
    }
}

impl SqlSettings {
    /// Makes the settings of a config whose placeholders and references are replaced.
    ///
    /// # Errors
    /// A text that names the unusable field without its value.
    pub(crate) fn new(config: &DbConfig) -> Result<Self, String> {
        let text = config.connection_string.expose();
        let target = match DatabaseKind::from_connection_string(text) {
            Some(DatabaseKind::Postgres) => SqlTarget::Postgres(PostgresTarget::parse(text)?),
            Some(DatabaseKind::MySql) => SqlTarget::MySql(MySqlTarget::parse(text)?),
            Some(DatabaseKind::Sqlite) => SqlTarget::Sqlite(SqliteTarget::parse(text)?),
            Some(DatabaseKind::Mongo) | None => {
                return Err("connection_string: not a SQL database".to_owned());
            }
        };
        let connections = config.max_connections.map(|most| u32::try_from(most).unwrap_or(u32::MAX));
        Ok(Self {
            target,
            max_connections: connections.unwrap_or(MAX_CONNECTIONS),
            connect_timeout: Duration::from_millis(config.connect_timeout_ms),
            query_timeout: Duration::from_millis(config.query_timeout_ms),
            allow_private: config.allow_private_urls,
            max_result_bytes: config.max_result_bytes.and_then(|most| usize::try_from(most).ok()),
            operations: config.operations.clone(),
            dialect: config.dialect.clone(),
        })
    }

    /// Bounds of a result of this connector, if the server's are these.
    pub(crate) fn bound_result(&self, server: ResultBounds) -> ResultBounds {
        ResultBounds {
            bytes: self.max_result_bytes.map_or(server.bytes, |own| own.min(server.bytes)),
            ..server
        }
    }

    /// Returns the kind of the database.
    pub(crate) fn kind(&self) -> DatabaseKind {
        match self.target {
            SqlTarget::Postgres(_) => DatabaseKind::Postgres,
            SqlTarget::MySql(_) => DatabaseKind::MySql,
            SqlTarget::Sqlite(_) => DatabaseKind::Sqlite,
        }
    }

    pub(super) fn dial(&self, context: &PoolContext) -> DialContext {
        DialContext {
            outbound: context.outbound.clone(),
            allow_private: self.allow_private,
            limit: self.connect_timeout,
            log: context.log.clone(),
        }
    }
}
