//! Errors of SQLite.

use std::ffi::c_int;

use rusqlite::{Error, ErrorCode, ffi};

use crate::drivers::integrity::Integrity;
use crate::drivers::sql::error::SqlError;

/// Converts an error of opening a connection. SQLite's own text repeats the path.
pub(super) fn opening(error: &Error) -> SqlError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            SqlError::Refused("the file is no SQLite database".to_owned())
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => locked_error(),
        _ => SqlError::Unreachable("the database file cannot be opened".to_owned()),
    }
}

/// Converts an error of running a statement.
pub(super) fn running(error: &Error) -> SqlError {
    match (error, error.sqlite_error_code()) {
        (Error::MultipleStatement, _) => SqlError::Input("query: one statement at a time".to_owned()),
        (_, Some(ErrorCode::OperationInterrupted)) => {
            SqlError::Timeout("the statement was given up".to_owned())
        }
        (_, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)) => locked_error(),
        (_, Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure)) => {
            SqlError::Unreachable("the database file cannot be used".to_owned())
        }
        (_, Some(ErrorCode::AuthorizationForStatementDenied)) => SqlError::Refused(
            "query: a task works in the file of its connector: it attaches and writes no other, and sets nothing for \
             the whole process"
                .to_owned(),
        ),
        _ => match error.sqlite_error().map(|told| told.extended_code) {
            Some(code) if let Some(kind) = integrity(code) => {
                SqlError::Violation { kind, constraint: None, code: code.to_string() }
            }
            _ => SqlError::Refused(format!("the database refuses the statement: {error}")),
        },
    }
}

/// The kind of constraint that an extended result code is about.
fn integrity(code: c_int) -> Option<Integrity> {
    match code {
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
            Some(Integrity::Unique)
        }
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => Some(Integrity::ForeignKey),
        ffi::SQLITE_CONSTRAINT_NOTNULL => Some(Integrity::NotNull),
        ffi::SQLITE_CONSTRAINT_CHECK => Some(Integrity::Check),
        _ => None,
    }
}

fn locked_error() -> SqlError {
    SqlError::Unreachable("the database stayed locked by others".to_owned())
}
