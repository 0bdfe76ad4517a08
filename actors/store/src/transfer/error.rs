//! The reasons for which no database was moved.

use crate::error::OpenError;

/// The reason why nothing was moved. The target is as it was, but for its migrations.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// A database cannot be opened, or the file is in use.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The source is no file that exists.
    #[error("{target} is no SQLite file that exists; name the file of the service, or a backup of it")]
    NoSource {
        /// The location, without the password.
        target: String,
    },
    /// The target is a file.
    #[error("{target} is no PostgreSQL server; name one, like postgres://user@host/database")]
    NoServer {
        /// The location.
        target: String,
    },
    /// The schema of the source is not that of this program.
    #[error("{target} does not have the schema of this program, {}: {remedy}", .migrations.join(", "))]
    OtherSchema {
        /// The location.
        target: String,
        /// The migrations that it lacks, or has too many.
        migrations: Vec<String>,
        /// The remedy.
        remedy: &'static str,
    },
    /// The target holds rows.
    #[error("{target} is not empty: {table} has {rows} row(s); name an empty database")]
    NotEmpty {
        /// The location, without the password.
        target: String,
        /// The first table with rows.
        table: String,
        /// Its rows.
        rows: u64,
    },
    /// A table of the source is missing in the target, or has other columns there.
    #[error("the table {table} is not the same in both databases: {detail}")]
    OtherTable {
        /// The table.
        table: String,
        /// The difference.
        detail: String,
    },
    /// The rows of a table differ after they were copied.
    #[error("the copy of {table} differs from its source: {detail}")]
    Unequal {
        /// The table.
        table: String,
        /// The difference.
        detail: String,
    },
    /// A row cannot be read or written.
    #[error("{target}: {table}: {detail}")]
    Failed {
        /// The location, without the password.
        target: String,
        /// The table.
        table: String,
        /// The message of the database.
        detail: String,
    },
}
