//! New connections to a SQLite.

use bb8::ManageConnection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, OpenFlags, ffi};
use tokio::task::spawn_blocking;

use super::error;
use super::own::{REFUSED, is_own};
use super::session::SqliteSession;
use super::target::{FileMode, SqliteTarget};
use crate::drivers::own_database::OwnDatabase;
use crate::drivers::sql::error::SqlError;
use crate::drivers::sql::messages::PreparedShape;
use crate::drivers::sql::pool::PoolError;

/// Statements kept prepared for each connection.
const PREPARED: usize = 200;

/// Makes connections.
pub(crate) struct SqliteManager {
    target: SqliteTarget,
    /// The files that must not be opened.
    own: OwnDatabase,
}

impl SqliteManager {
    pub(crate) fn new(target: &SqliteTarget, own: OwnDatabase) -> Self {
        Self { target: target.clone(), own }
    }
}

impl ManageConnection for SqliteManager {
    type Connection = SqliteSession;
    type Error = PoolError;

    async fn connect(&self) -> Result<SqliteSession, PoolError> {
        let (target, own) = (self.target.clone(), self.own.clone());
        let opened = spawn_blocking(move || {
            // Before each connection: a link may have been made since the last one.
            if target.file.as_deref().is_some_and(|file| is_own(&own, file)) {
                return Err(SqlError::Refused(REFUSED.to_owned()));
            }
            open(&target).map_err(|error| error::opening(&error))
        });
        let opened = opened.await;
        let connection =
            opened.map_err(|_| SqlError::Unreachable("the database was not opened".to_owned()))??;
        Ok(SqliteSession { connection, spent: false })
    }

    async fn is_valid(&self, _: &mut SqliteSession) -> Result<(), PoolError> {
        Ok(())
    }

    fn has_broken(&self, session: &mut SqliteSession) -> bool {
        // Its own thread gives it back, when all is done or undone. A database in memory would be gone with
        // it.
        session.spent && !self.target.in_memory()
    }
}

/// Prepares statements over a connection that can only read; none is run.
pub(crate) async fn prepare_all(
    target: &SqliteTarget,
    statements: Vec<String>,
) -> Result<Vec<Result<PreparedShape, SqlError>>, SqlError> {
    if target.in_memory() {
        return Err(SqlError::Refused(
            "a database in memory has no tables before a task makes them".to_owned(),
        ));
    }
    let target = SqliteTarget { access: FileMode::Read, ..target.clone() };
    let prepared = spawn_blocking(move || -> Result<Vec<_>, SqlError> {
        let connection = open(&target).map_err(|error| error::opening(&error))?;
        let shape = |sql: &String| match connection.prepare(sql) {
            Ok(prepared) => {
                Ok(PreparedShape { placeholders: Some(prepared.parameter_count()), warning: None })
            }
            Err(error) => Err(error::running(&error)),
        };
        Ok(statements.iter().map(shape).collect())
    });
    prepared.await.map_err(|_| SqlError::Unreachable("the database was not opened".to_owned()))?
}

fn open(target: &SqliteTarget) -> rusqlite::Result<Connection> {
    // One thread at a time uses it.
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
        | match target.access {
            FileMode::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            FileMode::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
            FileMode::Create => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        };
    let connection = match &target.file {
        None => Connection::open_in_memory_with_flags(flags)?,
        Some(file) => Connection::open_with_flags(file, flags)?,
    };
    connection.set_prepared_statement_cache_capacity(PREPARED);
    connection.authorizer(Some(authorize))?;
    // Opens the file; until then a wrong one is not noticed.
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(()))?;
    if target.file.is_some() && target.access != FileMode::Read {
        // Readers then do not wait for a writer. A directory that takes no second file keeps the mode it has.
        let _ = connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()));
    }
    Ok(connection)
}

/// Settings of SQLite that hold for the whole process, whatever the connection they are made over.
const OF_THE_PROCESS: [&str; 3] = ["soft_heap_limit", "hard_heap_limit", "temp_store_directory"];

/// A connection is for its own file: another one, the service's own among them, is not for tasks to name.
fn authorize(asked: AuthContext<'_>) -> Authorization {
    let refused = match asked.action {
        // `VACUUM` works in a temporary file, which has no name.
        AuthAction::Attach { filename } => !filename.is_empty(),
        AuthAction::Detach { .. } => true,
        // A name that is computed.
        AuthAction::Unknown { code, .. } => matches!(code, ffi::SQLITE_ATTACH | ffi::SQLITE_DETACH),
        AuthAction::Pragma { pragma_name, pragma_value } => {
            let named = |setting: &&str| pragma_name.eq_ignore_ascii_case(setting);
            pragma_value.is_some() && OF_THE_PROCESS.iter().any(named)
        }
        _ => false,
    };
    if refused { Authorization::Deny } else { Authorization::Allow }
}
