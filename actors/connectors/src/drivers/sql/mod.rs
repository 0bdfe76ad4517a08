//! SQL databases: PostgreSQL, MySQL and MariaDB, SQLite.
//!
//! Owns a pool of connections for each connector, opened at its first call. Message in: [`RunStatements`],
//! statements with their parameters; out: rows as JSON, or a [`SqlError`] that shows no part of the
//! connection string. Only checked addresses are dialled, at every new connection. A call that is dropped or
//! runs out of time is cancelled at the server, and its connection is not used again; nor is one in whose
//! session a statement may have left something. Nothing is tried twice.

mod actor;
mod cancel;
mod check;
mod encryption;
mod error;
mod messages;
mod mysql;
mod parameters;
mod pool;
mod postgres;
mod probe;
mod result;
mod settings;
mod sqlite;
mod transaction;
mod value;

use svc_model::config::connector::DbConfig;

use crate::driver::{ResolveResult, erase_type};

pub(crate) use actor::SqlDriver;
pub(crate) use check::prepare_statements;
pub(crate) use error::SqlError;
pub(crate) use messages::{
    BoundStatement, PreparedShape, RunStatements, StatementAccess, StatementOrigin, StatementResult,
    TransactionMode,
};
pub(crate) use result::ResultBounds;
pub(crate) use settings::SqlSettings;
pub(crate) use sqlite::check_own_files;
pub(crate) use value::ValueForm;

/// Resolves the config of a SQL database.
///
/// # Errors
/// A text that names the unusable field without its value.
pub(crate) fn resolve(config: &DbConfig) -> ResolveResult {
    SqlSettings::new(config).map(erase_type)
}
