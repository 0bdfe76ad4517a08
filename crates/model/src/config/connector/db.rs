//! The `config` of a database connector.

use super::fields::{ConnectorFields, DialectConfig, OperationSwitches};
use super::unresolved::is_unresolved;
use crate::config::SecretText;
use crate::config::block::ConfigBlock;
use crate::field::FieldError;

const OPERATIONS: [&str; 6] = ["read", "insert", "update", "delete", "upsert", "raw_write"];
const CONNECT_TIMEOUT_MS: u64 = 5000;
const QUERY_TIMEOUT_MS: u64 = 30_000;

/// The supported database systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseKind {
    /// PostgreSQL.
    Postgres,
    /// MySQL or MariaDB.
    MySql,
    /// A SQLite file.
    Sqlite,
    /// MongoDB.
    Mongo,
}

const SCHEMES: [(&str, DatabaseKind); 7] = [
    ("postgres", DatabaseKind::Postgres),
    ("postgresql", DatabaseKind::Postgres),
    ("mysql", DatabaseKind::MySql),
    ("mariadb", DatabaseKind::MySql),
    ("sqlite", DatabaseKind::Sqlite),
    ("mongodb", DatabaseKind::Mongo),
    ("mongodb+srv", DatabaseKind::Mongo),
];

impl DatabaseKind {
    /// Returns the database of a connection string by its scheme; `None` for an unknown scheme.
    pub fn from_connection_string(connection_string: &str) -> Option<Self> {
        let (scheme, _) = connection_string.split_once(':')?;
        SCHEMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(scheme)).map(|(_, database)| *database)
    }
}

/// Settings of a database connector.
#[derive(Clone, Debug, PartialEq)]
pub struct DbConfig {
    /// Connection string with address and credentials; its scheme selects the database, see
    /// [`DatabaseKind::from_connection_string`].
    pub connection_string: SecretText,
    /// Maximum number of connections; `None` uses the default of the driver.
    pub max_connections: Option<u64>,
    /// Timeout for connecting, in milliseconds.
    pub connect_timeout_ms: u64,
    /// Timeout for one statement, in milliseconds.
    pub query_timeout_ms: u64,
    /// Maximum size of a result, in bytes; `None` leaves only the limit of the server, which always applies.
    pub max_result_bytes: Option<u64>,
    /// True if the hosts may have private addresses.
    pub allow_private_urls: bool,
    /// Operations that tasks may use.
    pub operations: OperationSwitches,
    /// Restrictions of the portable dialect.
    pub dialect: DialectConfig,
    /// True if an aggregation may contain stages that write (MongoDB).
    pub aggregate_write_stages: bool,
}

pub(super) fn parse(block: &mut ConfigBlock<'_>) -> Result<DbConfig, Vec<FieldError>> {
    let mut fields = ConnectorFields::new(block);
    let config = DbConfig {
        connection_string: SecretText::new(fields.require(connection_string)),
        max_connections: fields.read(|block| block.positive("max_connections")),
        connect_timeout_ms: fields.positive("connect_timeout_ms", CONNECT_TIMEOUT_MS),
        query_timeout_ms: fields.positive("query_timeout_ms", QUERY_TIMEOUT_MS),
        max_result_bytes: fields.read(|block| block.positive("max_result_bytes")),
        allow_private_urls: fields.flag("allow_private_urls"),
        operations: OperationSwitches::read(&mut fields, &OPERATIONS),
        dialect: DialectConfig::read(&mut fields),
        aggregate_write_stages: fields.flag("aggregate_write_stages"),
    };
    fields.finish(config)
}

fn connection_string(block: &mut ConfigBlock<'_>) -> Result<String, FieldError> {
    let text = block.required_string("connection_string")?;
    if is_unresolved(&text) || DatabaseKind::from_connection_string(&text).is_some() {
        return Ok(text);
    }
    let schemes: Vec<_> = SCHEMES.iter().map(|(scheme, _)| *scheme).collect();
    Err(block.invalid("connection_string", format!("the scheme must be one of {}", schemes.join(", "))))
}
