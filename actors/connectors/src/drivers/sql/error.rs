//! Errors of SQL databases.

use std::fmt;
use std::time::Duration;

use svc_outbound::AddressError;

use crate::drivers::integrity::Integrity;

/// The failure of statements. The texts hold nothing of the connection string.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SqlError {
    /// The host may not be dialled, or has no address now.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// There is no connection, or it broke.
    #[error("{0}")]
    Unreachable(String),
    /// The statements were not done in time.
    #[error("{0}")]
    Timeout(String),
    /// The database takes no writes: it is a replica, or became one. Another one may have taken its place.
    #[error("the database takes no writes ({0}): it is a replica, or read-only")]
    NotPrimary(String),
    /// The database was reached and refused.
    #[error("{0}")]
    Refused(String),
    /// A statement or a parameter that cannot be sent.
    #[error("{0}")]
    Input(String),
    /// A constraint of the database refuses the write. Holds no value of the row.
    #[error("the write violates a {kind} constraint{} ({code})", quote_constraint(.constraint.as_deref()))]
    Violation {
        /// The kind of constraint.
        kind: Integrity,
        /// The constraint or column, if the database names it apart from its text.
        constraint: Option<String>,
        /// The code of the database.
        code: String,
    },
    /// The result has more rows than its bound.
    #[error("the result has more than {0} rows: narrow the query")]
    TooManyRows(usize),
    /// The result has more bytes than its bound.
    #[error("the result takes more than {0} bytes: select less, or raise query.max_result_bytes")]
    TooLarge(usize),
    /// A value that JSON has no place for.
    #[error("column '{column}' of type {kind} {why}")]
    Unreadable {
        /// The column of the result.
        column: String,
        /// The name that the database gives the type.
        kind: String,
        /// The problem and its remedy.
        why: &'static str,
    },
}

fn quote_constraint(constraint: Option<&str>) -> String {
    constraint.map_or_else(String::new, |name| format!(" '{name}'"))
}

impl SqlError {
    pub(super) fn timed_out(limit: Duration) -> Self {
        Self::Timeout(format!("not done within {} ms", limit.as_millis()))
    }

    /// Returns true if dialling was refused for good.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Address(error) if !matches!(error, AddressError::Unresolved { .. }))
    }

    /// Returns true if the error leaves its connection usable.
    pub(super) fn leaves_clean(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::Input(_) | Self::Violation { .. } | Self::NotPrimary(_))
    }

    /// A statement that writes in a transaction that only reads; `code` is the database's.
    pub(super) fn writes_in_read_only(code: impl fmt::Display) -> Self {
        Self::Refused(format!(
            "the statement writes, and its transaction is read-only ({code}): db_read only reads, db_write writes"
        ))
    }
}

/// Checks that there is a parameter for each placeholder.
pub(super) fn check_count(placeholders: usize, params: usize) -> Result<(), SqlError> {
    if placeholders == params {
        return Ok(());
    }
    Err(SqlError::Input(format!(
        "params: the query has {placeholders} placeholders, {params} values were given"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_refusal_leaves_the_connection_clean() {
        assert!(SqlError::Refused(String::new()).leaves_clean());
        assert!(SqlError::NotPrimary("1290".to_owned()).leaves_clean());
        assert!(!SqlError::TooManyRows(1).leaves_clean());
        assert!(!SqlError::TooLarge(1).leaves_clean());
        let violation =
            SqlError::Violation { kind: Integrity::Unique, constraint: None, code: "1062".to_owned() };
        assert!(violation.leaves_clean());
        assert!(!SqlError::timed_out(Duration::from_secs(1)).leaves_clean());
    }
}
