//! The `config` of a database connector.

use super::fields::{DIALECT, DialectConfig, OPERATIONS, OperationSwitches};
use super::unresolved::is_unresolved;
use crate::config::SecretText;
use crate::config::block::ConfigBlock;
use crate::config::declare::{block, positive};
use crate::config::key_reference::{BlockReference, block};
use crate::field::FieldError;

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

block! {
    reports all;
    /// Settings of a database connector. Without `max_connections`, the default of the driver applies; the limit of
    /// the server on the size of a result always does.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DbConfig {
        /// address and credentials; the scheme selects PostgreSQL, MySQL, SQLite or MongoDB
        pub connection_string: SecretText =>
            "postgres://svc:${DB_PASSWORD}@db/orders", by(connection_string), secret();
        /// connections at most
        pub max_connections: Option<u64> => 5, by(positive);
        /// milliseconds to connect
        pub connect_timeout_ms: u64 = 5000 => 1000, by(positive);
        /// milliseconds for one statement
        pub query_timeout_ms: u64 = 30000 => 5000, by(positive);
        /// bytes of a result at most
        pub max_result_bytes: Option<u64> => 1048576, by(positive);
        /// the host may have a private address
        pub allow_private_urls: bool = false => true;
        /// operations that tasks may use
        pub operations: OperationSwitches = _ => {};
        /// restrictions of the portable dialect on this system
        pub dialect: DialectConfig = _ => {};
        /// a pipeline of MongoDB may write
        pub aggregate_write_stages: bool = false => true;
    }
}

impl DbConfig {
    /// The blocks of the config; the first is the config itself.
    pub(super) const BLOCKS: &'static [BlockReference] = &[block("", Self::KEYS), OPERATIONS, DIALECT];
}

fn connection_string(
    block: &mut ConfigBlock<'_>,
    name: &'static str,
) -> Result<Option<SecretText>, FieldError> {
    let text = block.required_string(name)?;
    if is_unresolved(&text) || DatabaseKind::from_connection_string(&text).is_some() {
        return Ok(Some(SecretText::new(text)));
    }
    let schemes: Vec<_> = SCHEMES.iter().map(|(scheme, _)| *scheme).collect();
    Err(block.invalid(name, format!("the scheme must be one of {}", schemes.join(", "))))
}
