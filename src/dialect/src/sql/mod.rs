//! SQL for PostgreSQL, MySQL, MariaDB and SQLite.
//!
//! Every value is a parameter of its statement; every name is quoted and qualified. Texts are compared with case on every
//! database, whatever the collation of the column, but for those of PostgreSQL that are not deterministic.

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
pub use select::select;

/// A way of writing SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SqlFlavour {
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB.
    MySql,
    /// SQLite.
    Sqlite,
}

impl SqlFlavour {
    /// The most parameters of one statement.
    const fn max_params(self) -> usize {
        match self {
            Self::Postgres | Self::MySql => 65_535,
            Self::Sqlite => 32_766,
        }
    }
}

/// One statement and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct SqlStatement {
    /// The text, with a placeholder for each parameter.
    pub sql: String,
    /// The parameters, in the order of their placeholders.
    pub params: Vec<Value>,
}
