//! Messages to the actor of a SQL database.

use std::sync::Arc;

use actix::Message;
use serde_json::Value;
use svc_functions::declarations::sql::{StatementEffect, check_read_only, effect};
use svc_model::config::connector::DatabaseKind;

use super::error::SqlError;
use super::result::ResultBounds;
use super::value::{BINARY, ValueForm, is_malformed_binary};

/// Runs statements, several as one transaction. The deadline is the connector's, for all of them and for the
/// wait for a connection.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Vec<StatementResult>, SqlError>")]
pub(crate) struct RunStatements {
    pub(crate) statements: Vec<BoundStatement>,
    /// Bounds of the rows that are answered; `None` if no rows are wanted.
    pub(crate) bounds: Option<ResultBounds>,
    /// The transaction that several statements run in.
    pub(crate) transaction: TransactionMode,
    /// Permission of a single statement to write.
    pub(crate) access: StatementAccess,
}

/// Permission to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatementAccess {
    /// The database refuses writes: the statement runs in a read-only transaction that is rolled back.
    ReadOnly,
    /// The statement runs as it is.
    ReadWrite,
}

/// The transaction that several statements run in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TransactionMode {
    /// The statements write: all of them, or none.
    #[default]
    Atomic,
    /// The statements read, and see the same state of the database.
    Snapshot,
}

/// One statement, with the placeholders of its database.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BoundStatement {
    pub(crate) sql: String,
    /// Values of the placeholders, in order. Objects and arrays are sent as JSON text, except an array if
    /// PostgreSQL expects one of its own.
    pub(crate) params: Vec<Value>,
    pub(crate) origin: StatementOrigin,
    /// The forms in which values of its rows are read.
    pub(crate) form: ValueForm,
}

/// The origin of the text of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StatementOrigin {
    /// The author wrote it, with its placeholders.
    Author,
    /// The service made it of a portable document: its placeholders mean nothing to an author.
    Document {
        /// The table that rows are inserted into, if the key of a new one is wanted.
        inserts: Option<Arc<str>>,
    },
}

impl StatementOrigin {
    pub(super) fn is_document(&self) -> bool {
        matches!(self, Self::Document { .. })
    }
}

/// The result of a statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StatementResult {
    /// Objects by the names of their columns, in the order of these.
    pub(crate) rows: Vec<Value>,
    pub(crate) affected: u64,
    /// The key of a row that was inserted, if the database returns it (not PostgreSQL): of several the last on
    /// SQLite, the first on MySQL.
    pub(crate) last_insert_id: Option<i64>,
}

/// The shape of a statement that was prepared and not run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PreparedShape {
    /// The number of its placeholders; `None` if the database does not say.
    pub(crate) placeholders: Option<usize>,
    /// A probable problem.
    pub(crate) warning: Option<String>,
}

/// Bytes that the answer to the smallest question may take.
const PING_BYTES: usize = 1024;

impl RunStatements {
    /// Returns `true` if the statements run in a read-only transaction.
    pub(super) fn only_reads(&self) -> bool {
        match self.statements.as_slice() {
            [_] => self.access == StatementAccess::ReadOnly,
            _ => self.transaction == TransactionMode::Snapshot,
        }
    }

    /// The smallest question.
    pub(super) fn ping() -> Self {
        let origin = StatementOrigin::Document { inserts: None };
        let (sql, params) = ("SELECT 1".to_owned(), Vec::new());
        let statement = BoundStatement { sql, params, origin, form: ValueForm::default() };
        Self {
            statements: vec![statement],
            bounds: Some(ResultBounds { rows: 1, bytes: PING_BYTES }),
            transaction: TransactionMode::default(),
            access: StatementAccess::ReadWrite,
        }
    }

    /// Checks the parameters, whatever the database.
    ///
    /// # Errors
    /// An object in the form of bytes whose content is not base64.
    pub(super) fn check_params(&self) -> Result<(), SqlError> {
        for statement in &self.statements {
            if let Some(index) = statement.params.iter().position(is_malformed_binary) {
                let place = match statement.origin {
                    StatementOrigin::Author => format!("params[{index}]"),
                    StatementOrigin::Document { .. } => "a value of the document".to_owned(),
                };
                return Err(SqlError::Input(format!("{place}: {BINARY} must be base64")));
            }
        }
        Ok(())
    }

    /// Returns true if the statements may leave state behind in the session, which must then serve no other
    /// call.
    ///
    /// # Errors
    /// A statement that cannot be run as one of its own.
    pub(super) fn leaves_session_state(&self, database: DatabaseKind) -> Result<bool, SqlError> {
        let mut spends = false;
        let written = self.statements.iter().filter(|statement| !statement.origin.is_document());
        for statement in written {
            match effect(&statement.sql, database) {
                StatementEffect::Rows => {}
                StatementEffect::Session => spends = true,
                StatementEffect::Transaction => {
                    return Err(SqlError::Input(
                        "query: a task cannot open or end a transaction, each statement is one of its own"
                            .to_owned(),
                    ));
                }
                StatementEffect::Stream => {
                    return Err(SqlError::Refused(
                        "query: rows come and go as parameters and results only, not by COPY … STDIN, COPY … STDOUT \
                         or LOAD DATA LOCAL"
                            .to_owned(),
                    ));
                }
                StatementEffect::Nothing => {
                    return Err(SqlError::Input("query: there is no statement in it".to_owned()));
                }
            }
            if self.access == StatementAccess::ReadOnly {
                check_read_only(&statement.sql, database).map_err(SqlError::Refused)?;
            }
        }
        Ok(spends)
    }
}
