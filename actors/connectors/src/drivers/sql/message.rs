//! What is asked of a database, and what it answers.

use std::time::Duration;

use actix::Message;
use serde_json::Value;
use svc_outbound::AddressError;

/// Run statements, several as one transaction. The deadline is the connector's, for all of them and for the wait for a
/// connection.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Vec<Outcome>, SqlError>")]
pub(crate) struct Run {
    pub(crate) statements: Vec<Statement>,
    /// Most rows of one statement; `None` where its rows are not wanted.
    pub(crate) cap: Option<usize>,
    /// What several statements are to each other.
    pub(crate) together: Together,
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
}

/// What came of a statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// Objects by the names of their columns, in the order of these.
    pub(crate) rows: Vec<Value>,
    pub(crate) affected: u64,
    /// The key the database gave an inserted row, where it tells (not PostgreSQL).
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
    /// More rows than are taken.
    #[error("the result has more than {0} rows: narrow the query")]
    TooManyRows(usize),
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
        matches!(self, Self::Refused(_) | Self::Input(_))
    }
}

impl Run {
    /// The smallest question.
    pub(super) fn ping() -> Self {
        Self {
            statements: vec![Statement { sql: "SELECT 1".to_owned(), params: Vec::new() }],
            cap: Some(1),
            together: Together::default(),
        }
    }

    /// Refuses what would leave a connection changed for whoever uses it next.
    pub(super) fn check(&self) -> Result<(), SqlError> {
        match self.statements.iter().find(|statement| controls_transaction(&statement.sql)) {
            Some(_) => Err(SqlError::Input(
                "query: a task cannot open or end a transaction, each statement is one of its own".to_owned(),
            )),
            None => Ok(()),
        }
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

fn controls_transaction(sql: &str) -> bool {
    let mut words = sql_words(sql);
    let word = words.next().unwrap_or_default().to_ascii_uppercase();
    match word.as_str() {
        "BEGIN" | "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" | "END" | "ABORT" => true,
        "START" => words.next().is_some_and(|next| next.eq_ignore_ascii_case("TRANSACTION")),
        _ => false,
    }
}

/// The words a text begins with, without comments.
fn sql_words(sql: &str) -> impl Iterator<Item = &str> {
    let mut rest = sql;
    std::iter::from_fn(move || {
        loop {
            rest = rest.trim_start();
            let comment = match rest.get(..2) {
                Some("--") => rest.find('\n'),
                Some("/*") => rest.find("*/").map(|end| end + 1),
                _ => break,
            };
            rest = rest.get(comment? + 1..)?;
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_not_for_tasks_to_open() {
        for sql in [
            "BEGIN",
            " begin;",
            "-- a comment\nCOMMIT",
            "/* a */ /* b */rollback to x",
            "start transaction read only",
            "START /* x */ TRANSACTION",
            "SAVEPOINT a",
        ] {
            assert!(controls_transaction(sql), "{sql}");
        }
        for sql in [
            "",
            "--",
            "/* open",
            "SELECT 'BEGIN'",
            "beginning",
            "START REPLICA",
            "INSERT INTO commit VALUES (1)",
            "é",
        ] {
            assert!(!controls_transaction(sql), "{sql}");
        }
    }

    #[test]
    fn what_was_refused_before_it_was_done_leaves_a_connection_as_it_was() {
        assert!(SqlError::Refused(String::new()).leaves_clean());
        assert!(!SqlError::TooManyRows(1).leaves_clean());
        assert!(!SqlError::overdue(Duration::from_secs(1)).leaves_clean());
    }
}
