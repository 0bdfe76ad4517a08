//! What is asked of a database, and what it answers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix::Message;
use serde_json::Value;
use svc_model::config::connector::DatabaseKind;
use svc_outbound::AddressError;

use super::effect::{Effect, effect};
use super::read_only;
use super::result::ResultBounds;
use crate::drivers::integrity::Integrity;

/// Run statements, several as one transaction. The deadline is the connector's, for all of them and for the wait for a
/// connection.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Vec<Outcome>, SqlError>")]
pub(crate) struct Run {
    pub(crate) statements: Vec<Statement>,
    /// Bounds of the rows that are answered; `None` where no rows are wanted.
    pub(crate) bounds: Option<ResultBounds>,
    /// What several statements are to each other.
    pub(crate) together: Together,
    /// Permission of a single statement to write.
    pub(crate) access: Access,
}

/// Permission to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// The database refuses writes: the statement runs in a read-only transaction that is rolled back.
    ReadOnly,
    /// The statement runs as it is.
    ReadWrite,
}

/// What the statements of one transaction are to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Together {
    /// They write: all of them, or none.
    #[default]
    AllOrNothing,
    /// They read, and see the same state of the database.
    OneView,
}

/// One statement, with the placeholders of its database.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    /// For the placeholders, in order. Objects and arrays are sent as JSON text, but for an array where PostgreSQL wants one
    /// of its own.
    pub(crate) params: Vec<Value>,
    pub(crate) origin: Origin,
}

/// Where the text of a statement comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Its author wrote it, placeholders and all.
    Author,
    /// It was made here, of a portable document: nobody outside knows its placeholders.
    Document {
        /// The table that rows are inserted into, where the key of a new one is wanted.
        inserts: Option<Arc<str>>,
    },
}

impl Origin {
    pub(super) fn is_document(&self) -> bool {
        matches!(self, Self::Document { .. })
    }
}

/// What came of a statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// Objects by the names of their columns, in the order of these.
    pub(crate) rows: Vec<Value>,
    pub(crate) affected: u64,
    /// The key of a row that was inserted, where the database tells (not PostgreSQL): of several the last on SQLite, the first on
    /// MySQL.
    pub(crate) last_insert_id: Option<i64>,
}

/// Why there is no outcome. The texts hold nothing of the connection string.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SqlError {
    /// The host may not be dialled, or has no address now.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// No connection, or one that broke off.
    #[error("{0}")]
    Unreachable(String),
    /// Not done in time.
    #[error("{0}")]
    Timeout(String),
    /// Reached, but refused.
    #[error("{0}")]
    Refused(String),
    /// A statement or a parameter that cannot be sent.
    #[error("{0}")]
    Input(String),
    /// A constraint of the database refuses the write. Holds no value of the row.
    #[error("the write violates a {kind} constraint{} ({code})", named(.constraint.as_deref()))]
    Violation {
        /// The kind of constraint.
        kind: Integrity,
        /// The constraint or column, where the database names it apart from its text.
        constraint: Option<String>,
        /// The code of the database.
        code: String,
    },
    /// More rows than are taken.
    #[error("the result has more than {0} rows: narrow the query")]
    TooManyRows(usize),
    /// More bytes than are taken.
    #[error("the result takes more than {0} bytes: select less, or raise query.max_result_bytes")]
    TooLarge(usize),
    /// A value that JSON has no place for.
    #[error("column '{column}' of type {kind} {why}")]
    Unreadable {
        /// Of the result.
        column: String,
        /// As the database calls it.
        kind: String,
        /// What is wrong, and what helps.
        why: &'static str,
    },
}

fn named(constraint: Option<&str>) -> String {
    constraint.map_or_else(String::new, |name| format!(" '{name}'"))
}

impl SqlError {
    pub(super) fn overdue(limit: Duration) -> Self {
        Self::Timeout(format!("not done within {} ms", limit.as_millis()))
    }

    /// Whether dialling was refused for good.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Address(error) if !matches!(error, AddressError::Unresolved { .. }))
    }

    /// Whether the connection it came over is as before.
    pub(super) fn leaves_clean(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::Input(_) | Self::Violation { .. })
    }

    /// A statement that writes where the transaction only reads; `code` is the database's.
    pub(super) fn writes_in_read_only(code: impl fmt::Display) -> Self {
        Self::Refused(format!(
            "the statement writes, and its transaction is read-only ({code}): db_read only reads, db_write writes"
        ))
    }
}

/// Bytes that the answer to the smallest question may take.
const PING_BYTES: usize = 1024;

impl Run {
    /// The smallest question.
    pub(super) fn ping() -> Self {
        let origin = Origin::Document { inserts: None };
        let statement = Statement { sql: "SELECT 1".to_owned(), params: Vec::new(), origin };
        Self {
            statements: vec![statement],
            bounds: Some(ResultBounds { rows: 1, bytes: PING_BYTES }),
            together: Together::default(),
            access: Access::ReadWrite,
        }
    }

    /// Whether something may stay behind in the session, which must then serve nobody else.
    ///
    /// # Errors
    /// A statement that cannot be run as one of its own.
    pub(super) fn spends_session(&self, database: DatabaseKind) -> Result<bool, SqlError> {
        let mut spends = false;
        let written = self.statements.iter().filter(|statement| !statement.origin.is_document());
        for statement in written {
            match effect(&statement.sql, database) {
                Effect::Rows => {}
                Effect::Session => spends = true,
                Effect::Transaction => {
                    return Err(SqlError::Input(
                        "query: a task cannot open or end a transaction, each statement is one of its own"
                            .to_owned(),
                    ));
                }
                Effect::Stream => {
                    return Err(SqlError::Refused(
                        "query: rows come and go as parameters and results only, not by COPY … STDIN, COPY … STDOUT \
                         or LOAD DATA LOCAL"
                            .to_owned(),
                    ));
                }
                Effect::Nothing => {
                    return Err(SqlError::Input("query: there is no statement in it".to_owned()));
                }
            }
            if self.access == Access::ReadOnly {
                read_only::check(&statement.sql, database)?;
            }
        }
        Ok(spends)
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
    fn what_was_refused_before_it_was_done_leaves_a_connection_as_it_was() {
        assert!(SqlError::Refused(String::new()).leaves_clean());
        assert!(!SqlError::TooManyRows(1).leaves_clean());
        assert!(!SqlError::TooLarge(1).leaves_clean());
        let violation =
            SqlError::Violation { kind: Integrity::Unique, constraint: None, code: "1062".to_owned() };
        assert!(violation.leaves_clean());
        assert!(!SqlError::overdue(Duration::from_secs(1)).leaves_clean());
    }
}
