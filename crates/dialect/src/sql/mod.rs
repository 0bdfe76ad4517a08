//! Renders bound documents to SQL for PostgreSQL, MySQL, MariaDB and SQLite.
//!
//! Every value is a statement parameter; every name is quoted and qualified. Texts are compared
//! case-sensitively on every database and in every collation, except for nondeterministic collations of
//! PostgreSQL.

mod change;
mod include;
mod join;
mod mysql;
mod predicate;
mod select;
mod writer;

use serde_json::Value;

pub use change::change;
pub use include::{attach, include};
pub use select::{count, select};

/// An SQL dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SqlFlavour {
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB.
    MySql,
    Sqlite,
}

impl SqlFlavour {
    /// Maximum number of parameters of one statement.
    const fn max_params(self) -> usize {
        match self {
            Self::Postgres | Self::MySql => 65_535,
            Self::Sqlite => 32_766,
        }
    }
}

/// One SQL statement and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct SqlStatement {
    /// The SQL text, with a placeholder for each parameter.
    pub sql: String,
    /// The parameters, in the order of their placeholders.
    pub params: Vec<Value>,
}
