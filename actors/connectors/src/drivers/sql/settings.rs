//! The settings of a SQL database, ready for use.

use std::net::SocketAddr;
use std::time::Duration;

use svc_model::config::connector::{Database, DbConfig, Dialect, Gates};
use svc_outbound::Outbound;
use tokio::time::timeout;

use super::message::SqlError;
use super::mysql::MySqlTarget;
use super::postgres::PostgresTarget;
use super::sqlite::SqliteTarget;

/// Connections at most when the config does not say.
const MAX_CONNECTIONS: u32 = 5;

/// How a database is used.
pub(crate) struct SqlSettings {
    pub(super) target: Target,
    pub(super) max_connections: u32,
    pub(super) connect_timeout: Duration,
    /// For all statements of one task.
    pub(crate) query_timeout: Duration,
    pub(super) allow_private: bool,
    /// Operations that tasks may not use.
    pub(crate) gates: Gates,
    /// How the portable dialect may be used.
    pub(crate) dialect: Dialect,
}

/// Which database.
pub(super) enum Target {
    Postgres(PostgresTarget),
    MySql(MySqlTarget),
    Sqlite(SqliteTarget),
}

/// How a server is dialled.
#[derive(Clone)]
pub(super) struct Dial {
    pub(super) outbound: Outbound,
    pub(super) allow_private: bool,
    /// For each address of it.
    pub(super) limit: Duration,
}

impl Dial {
    /// The addresses of a host, each checked.
    pub(super) async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, SqlError> {
        let found = self.outbound.addresses(host, port, self.allow_private);
        match timeout(self.limit, found).await {
            Ok(found) => Ok(found?),
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
    /// What cannot be used, without its value.
    pub(crate) fn new(config: &DbConfig) -> Result<Self, String> {
        let text = config.connection_string.expose();
        let target = match Database::of(text) {
            Some(Database::Postgres) => Target::Postgres(PostgresTarget::parse(text)?),
            Some(Database::MySql) => Target::MySql(MySqlTarget::parse(text)?),
            Some(Database::Sqlite) => Target::Sqlite(SqliteTarget::parse(text)?),
            Some(Database::Mongo) | None => return Err("connection_string: not a SQL database".to_owned()),
        };
        let connections = config.max_connections.map(|most| u32::try_from(most).unwrap_or(u32::MAX));
        Ok(Self {
            target,
            max_connections: connections.unwrap_or(MAX_CONNECTIONS),
            connect_timeout: Duration::from_millis(config.connect_timeout_ms),
            query_timeout: Duration::from_millis(config.query_timeout_ms),
            allow_private: config.allow_private_urls,
            gates: config.operations.clone(),
            dialect: config.dialect.clone(),
        })
    }

    /// Which dialect of SQL it speaks.
    pub(crate) fn database(&self) -> Database {
        match self.target {
            Target::Postgres(_) => Database::Postgres,
            Target::MySql(_) => Database::MySql,
            Target::Sqlite(_) => Database::Sqlite,
        }
    }

    pub(super) fn dial(&self, outbound: &Outbound) -> Dial {
        Dial { outbound: outbound.clone(), allow_private: self.allow_private, limit: self.connect_timeout }
    }
}
