//! Statements over a connection to a SQLite, on a thread that may block.
//!
//! That thread has the connection until all is done or undone, also when whoever asked has left: it then
//! stops at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bb8::{ManageConnection, PooledConnection};
use rusqlite::hooks::Action;
use rusqlite::types::{ToSqlOutput, Value as Bound};
use rusqlite::{CachedStatement, Connection};
use serde_json::Value;
use svc_functions::declarations::sql::inserted_table;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use super::{error, read};
use crate::drivers::sql::error::{SqlError, check_count};
use crate::drivers::sql::messages::{
    BoundStatement, RunStatements, StatementAccess, StatementOrigin, StatementResult, TransactionMode,
};
use crate::drivers::sql::result::ResultBudget;
use crate::drivers::sql::value::tagged_bytes;

/// Steps of SQLite's machine between two checks of the deadline.
const STEPS: i32 = 1000;

/// A connection.
pub(crate) struct SqliteSession {
    pub(super) connection: Connection,
    /// State may be left in the session: no other call may use it.
    pub(crate) spent: bool,
}

/// Runs statements. Dropped before its end, they are stopped and undone.
pub(crate) async fn run<M: ManageConnection<Connection = SqliteSession>>(
    session: PooledConnection<'static, M>,
    run: RunStatements,
    deadline: Instant,
    limit: Duration,
) -> Result<Vec<StatementResult>, SqlError> {
    let stop = Stop(Arc::default());
    let stopped = Arc::clone(&stop.0);
    let work = spawn_blocking(move || run_blocking(&session.connection, &run, deadline, stopped));
    match timeout_at(deadline, work).await {
        Ok(Ok(Err(SqlError::Timeout(_)))) | Err(_) => Err(SqlError::timed_out(limit)),
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(SqlError::Unreachable("the statement was not run".to_owned())),
    }
}

/// Stops the statements when the caller leaves.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn run_blocking(
    connection: &Connection,
    run: &RunStatements,
    deadline: Instant,
    stopped: Arc<AtomicBool>,
) -> Result<Vec<StatementResult>, SqlError> {
    let failed = |error: rusqlite::Error| error::running(&error);
    let remaining = deadline.saturating_duration_since(Instant::now());
    connection.busy_timeout(remaining).map_err(failed)?;
    let over = move || stopped.load(Ordering::Relaxed) || Instant::now() >= deadline;
    connection.progress_handler(STEPS, Some(over)).map_err(failed)?;
    let outcome = run_in_transaction(connection, run);
    connection.progress_handler(0, None::<fn() -> bool>).map_err(failed)?;
    if !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK").map_err(failed)?;
    }
    outcome
}

fn run_in_transaction(
    connection: &Connection,
    run: &RunStatements,
) -> Result<Vec<StatementResult>, SqlError> {
    let failed = |error: rusqlite::Error| error::running(&error);
    let mut budget = ResultBudget::new(run.bounds);
    // Set for each run: a statement of an author may have changed it.
    connection.pragma_update(None, "query_only", run.access == StatementAccess::ReadOnly).map_err(failed)?;
    if let [statement] = run.statements.as_slice() {
        if run.access == StatementAccess::ReadOnly {
            let prepared = connection.prepare_cached(&statement.sql).map_err(failed)?;
            // SQLite judges the explanation of a statement by the statement, which it does not run.
            if !prepared.readonly() && prepared.is_explain() == 0 {
                return Err(SqlError::writes_in_read_only("SQLITE_READONLY"));
            }
        }
        return run_statement(connection, statement, &mut budget).map(|outcome| vec![outcome]);
    }
    connection
        .execute_batch(match run.transaction {
            // One that reads first and writes later could not wait for another writer.
            TransactionMode::Atomic => "BEGIN IMMEDIATE",
            TransactionMode::Snapshot => "BEGIN",
        })
        .map_err(failed)?;
    let outcomes = run.statements.iter().map(|statement| run_statement(connection, statement, &mut budget));
    let outcomes = outcomes.collect::<Result<Vec<_>, _>>()?;
    connection.execute_batch("COMMIT").map_err(failed)?;
    Ok(outcomes)
}

fn run_statement(
    connection: &Connection,
    statement: &BoundStatement,
    budget: &mut ResultBudget,
) -> Result<StatementResult, SqlError> {
    let failed = |error: rusqlite::Error| error::running(&error);
    let mut prepared = connection.prepare_cached(&statement.sql).map_err(failed)?;
    check_count(prepared.parameter_count(), statement.params.len())?;
    for (index, value) in statement.params.iter().enumerate() {
        bind(&mut prepared, index, value, &statement.origin)?;
    }
    let inserted = watch_inserts(connection, statement).map_err(failed)?;
    let before = connection.total_changes();
    let (mut rows, mut columns) = (Vec::new(), None);
    let mut cursor = prepared.raw_query();
    while let Some(row) = cursor.next().map_err(failed)? {
        if budget.admit(rows.len(), read::size(row))? {
            // Known for sure when it runs: one prepared before its table changed is prepared anew then.
            let columns = columns.get_or_insert_with(|| read::columns(row.as_ref()));
            let row = read::row(row, columns, statement.form)?;
            budget.charge(&row)?;
            rows.push(row);
        }
    }
    drop(cursor);
    // What is not a change leaves the count of the last one.
    let changed = connection.total_changes() != before;
    let affected = if changed { connection.changes() } else { 0 };
    let last_insert_id = inserted.load(Ordering::Relaxed).then(|| connection.last_insert_rowid());
    Ok(StatementResult { rows, affected, last_insert_id })
}

/// Returns a flag that is set when a row is inserted into the table of a statement. The connection reports
/// the key of the last insert ever, even of another statement, and a table without row ids has none.
fn watch_inserts(connection: &Connection, statement: &BoundStatement) -> rusqlite::Result<Arc<AtomicBool>> {
    let inserted = Arc::new(AtomicBool::new(false));
    let table = match &statement.origin {
        StatementOrigin::Document { inserts } => inserts.clone(),
        StatementOrigin::Author => inserted_table(&statement.sql).map(Arc::from),
    };
    let hook = table.map(|table| {
        let inserted = Arc::clone(&inserted);
        move |action: Action, _: &str, into: &str, _: i64| {
            if action == Action::SQLITE_INSERT && into.eq_ignore_ascii_case(&table) {
                inserted.store(true, Ordering::Relaxed);
            }
        }
    });
    connection.update_hook(hook)?;
    Ok(inserted)
}

fn bind(
    prepared: &mut CachedStatement<'_>,
    index: usize,
    value: &Value,
    origin: &StatementOrigin,
) -> Result<(), SqlError> {
    let bound = match value {
        Value::Null => Bound::Null,
        Value::Bool(is) => Bound::Integer((*is).into()),
        Value::Number(number) => match (number.as_i64(), number.is_u64(), number.as_f64()) {
            (Some(int), ..) => Bound::Integer(int),
            (None, false, Some(double)) => Bound::Real(double),
            _ if origin.is_document() => {
                let text = "a number of the document is too large for SQLite";
                return Err(SqlError::Input(text.to_owned()));
            }
            _ => return Err(SqlError::Input(format!("params[{index}]: the number is too large for SQLite"))),
        },
        Value::String(text) => Bound::Text(text.clone()),
        Value::Array(_) | Value::Object(_) => {
            tagged_bytes(value).map_or_else(|| Bound::Text(value.to_string()), Bound::Blob)
        }
    };
    prepared.raw_bind_parameter(index + 1, ToSqlOutput::Owned(bound)).map_err(|error| error::running(&error))
}
