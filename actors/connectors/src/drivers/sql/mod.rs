//! SQL databases: PostgreSQL, MySQL and MariaDB, SQLite.
//!
//! Owns a pool of connections for each connector, opened at its first call. Message in: [`Run`], statements with their
//! parameters; out: rows as JSON, or a [`SqlError`] that shows no part of the connection string. Only checked addresses are
//! dialled, at every new connection. A call that is dropped or runs out of time is cancelled at the server, and its
//! connection is not used again; nor is one in whose session a statement may have left something. Nothing is tried twice.

mod actor;
mod effect;
mod encryption;
mod message;
mod mysql;
mod parameters;
mod pool;
mod postgres;
mod probe;
mod read_only;
mod result;
mod settings;
mod sqlite;
mod value;

pub(crate) use actor::SqlDriver;
pub(crate) use effect::is_blank;
pub(crate) use message::{Access, Origin, Outcome, Run, SqlError, Statement, Together};
pub(crate) use probe::probe;
pub(crate) use result::ResultBounds;
pub(crate) use settings::SqlSettings;
pub use sqlite::OwnDatabase;
