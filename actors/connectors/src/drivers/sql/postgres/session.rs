//! One connection to a PostgreSQL, and the statements run over it.

use std::collections::HashMap;
use std::pin::pin;

use futures_util::{FutureExt, TryStreamExt};
use svc_functions::declarations::sql::{StatementEffect, effect, first_word};
use svc_model::config::connector::DatabaseKind;
use svc_pooler::TlsNegotiation;
use tokio::runtime::Handle;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, SimpleQueryMessage, Statement as Prepared};

use super::{bind, error, read};
use crate::drivers::sql::cancel::CancelGuard;
use crate::drivers::sql::error::{SqlError, check_count};
use crate::drivers::sql::messages::{
    BoundStatement, PreparedShape, RunStatements, StatementAccess, StatementResult, TransactionMode,
};
use crate::drivers::sql::result::ResultBudget;
use crate::drivers::sql::transaction::TransactionSession;

/// Most prepared statements kept; one more clears them all.
const PREPARED: usize = 200;

/// The first version that plans a statement without values of its placeholders.
const GENERIC_PLANS: u32 = 160_000;
/// The first words of statements that are planned.
const PLANNED: [&str; 7] = ["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "VALUES", "WITH"];

/// A connection.
pub(crate) struct PostgresSession {
    client: Client,
    tls: TlsNegotiation,
    io: Handle,
    prepared: HashMap<String, Prepared>,
    /// Statements run, or were abandoned: the connection must not be used again.
    busy: bool,
    /// State may be left in the session: no other call may use it.
    pub(crate) spent: bool,
}

impl PostgresSession {
    pub(super) fn new(client: Client, tls: TlsNegotiation) -> Self {
        Self { client, tls, io: Handle::current(), prepared: HashMap::new(), busy: false, spent: false }
    }

    pub(super) fn is_broken(&self) -> bool {
        self.busy || self.spent || self.client.is_closed()
    }

    /// Runs statements. Dropped before its end, it is cancelled at the server.
    pub(crate) async fn run(&mut self, run: &RunStatements) -> Result<Vec<StatementResult>, SqlError> {
        self.busy = true;
        let (token, tls) = (self.client.cancel_token(), self.tls.for_cancellation());
        let cancel = CancelGuard::new(self.io.clone(), async move {
            // The server may have ended the statement before.
            let _ = token.cancel_query(tls).await;
        });
        let outcome = match run.statements.as_slice() {
            [statement] => self.run_single(statement, run).await.map(|outcome| vec![outcome]),
            _ => match self.run_in_transaction(run).await {
                // Reads that met a table as it was before are read again, prepared anew.
                Err(StatementFailure::Outdated(_)) if run.transaction == TransactionMode::Snapshot => {
                    self.run_in_transaction(run).await
                }
                outcome => outcome,
            }
            .map_err(StatementFailure::into_error),
        };
        // In a read-only transaction it is the statement that is out of place.
        let outcome = outcome.map_err(|error| match error {
            SqlError::NotPrimary(code) if run.only_reads() => SqlError::writes_in_read_only(code),
            error => error,
        });
        self.busy = outcome.as_ref().is_err_and(|error| !error.leaves_clean());
        cancel.finish(self.busy);
        outcome
    }

    /// Prepares statements in a read-only transaction that is rolled back; none is run. A server from version 16 on
    /// plans them too, for which the user needs the rights that they need: then the second result is true.
    pub(crate) async fn prepare_all(
        &mut self,
        statements: &[String],
    ) -> Result<(Vec<Result<PreparedShape, SqlError>>, bool), SqlError> {
        let plain = |error: Error| error::running(&error, &[], None);
        let answer = self.client.simple_query("SHOW server_version_num").await.map_err(plain)?;
        let version = answer.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0)?.parse::<u32>().ok(),
            _ => None,
        });
        let plans = version.is_some_and(|version| version >= GENERIC_PLANS);
        // A table that is being changed must not hold the check for ever.
        self.client.batch_execute("BEGIN READ ONLY; SET LOCAL lock_timeout = '10s'").await.map_err(plain)?;
        let mut shapes = Vec::with_capacity(statements.len());
        for sql in statements {
            self.client.batch_execute("SAVEPOINT svc_check").await.map_err(plain)?;
            shapes.push(self.prepare_shape(sql, plans).await);
            self.client.batch_execute("ROLLBACK TO SAVEPOINT svc_check").await.map_err(plain)?;
        }
        self.client.batch_execute("ROLLBACK").await.map_err(plain)?;
        Ok((shapes, plans))
    }

    async fn prepare_shape(&self, sql: &str, plans: bool) -> Result<PreparedShape, SqlError> {
        let plain = |error: Error| error::running(&error, &[], None);
        let prepared = match self.client.prepare(sql).await {
            Ok(prepared) => prepared,
            Err(error) if error.code() == Some(&SqlState::INDETERMINATE_DATATYPE) => {
                let warning = format!("{}; cast the placeholder, such as $1::text", plain(error));
                return Ok(PreparedShape { placeholders: None, warning: Some(warning) });
            }
            Err(error) => return Err(plain(error)),
        };
        // It was prepared, so that it is one statement.
        if plans && effect(sql, DatabaseKind::Postgres) == StatementEffect::Rows && is_planned(sql) {
            let explained = self.client.simple_query(&format!("EXPLAIN (GENERIC_PLAN) {sql}")).await;
            explained.map_err(plain)?;
        }
        Ok(PreparedShape { placeholders: Some(prepared.params().len()), warning: None })
    }

    /// A statement that is a transaction of its own.
    async fn run_single(
        &mut self,
        statement: &BoundStatement,
        run: &RunStatements,
    ) -> Result<StatementResult, SqlError> {
        let is_prepared = self.prepared.contains_key(&statement.sql);
        match self.attempt_single(statement, run).await {
            Err(StatementFailure::Outdated(_)) if is_prepared => {
                self.prepared.remove(&statement.sql);
                self.attempt_single(statement, run).await.map_err(StatementFailure::into_error)
            }
            outcome => outcome.map_err(StatementFailure::into_error),
        }
    }

    async fn attempt_single(
        &mut self,
        statement: &BoundStatement,
        run: &RunStatements,
    ) -> Result<StatementResult, StatementFailure> {
        let mut budget = ResultBudget::new(run.bounds);
        // Before a transaction begins, which a statement that cannot be prepared would leave aborted.
        let prepared = self.prepare_cached(statement).await?;
        match run.access {
            StatementAccess::ReadWrite => self.execute(&prepared, statement, &mut budget).await,
            StatementAccess::ReadOnly => self.execute_read_only(&prepared, statement, &mut budget).await,
        }
    }

    /// Executes a statement in a read-only transaction, which is rolled back: what a read leaves behind, such
    /// as a notification or a setting, is undone as well.
    async fn execute_read_only(
        &self,
        prepared: &Prepared,
        statement: &BoundStatement,
        budget: &mut ResultBudget,
    ) -> Result<StatementResult, StatementFailure> {
        let plain = |error: Error| error::running(&error, &[], None);
        self.client.batch_execute("BEGIN READ ONLY").await.map_err(plain)?;
        let mut executed = pin!(self.execute(prepared, statement, budget));
        let mut rolled_back = pin!(self.client.batch_execute("ROLLBACK").fuse());
        // Polled in this order, the rollback is sent right behind the statement and costs no round trip of
        // its own.
        let outcome = tokio::select! {
            biased;
            outcome = executed.as_mut() => outcome,
            done = rolled_back.as_mut() => {
                done.map_err(plain)?;
                return executed.await;
            }
        };
        if outcome.as_ref().is_ok() || outcome.as_ref().is_err_and(StatementFailure::leaves_clean) {
            rolled_back.await.map_err(plain)?;
        }
        outcome
    }

    /// Executes a prepared statement. The request is sent when this is first polled.
    async fn execute(
        &self,
        prepared: &Prepared,
        statement: &BoundStatement,
        budget: &mut ResultBudget,
    ) -> Result<StatementResult, StatementFailure> {
        let origin = &statement.origin;
        check_count(prepared.params().len(), statement.params.len())?;
        let params = statement
            .params
            .iter()
            .zip(prepared.params())
            .map(|(value, kind)| bind::param(value, kind, origin));
        let failed = |error: Error| {
            let sql_error = error::running(&error, prepared.params(), Some(statement));
            if error::is_outdated(&error, prepared.params()) {
                StatementFailure::Outdated(sql_error)
            } else {
                StatementFailure::Error(sql_error)
            }
        };
        if budget.wants_rows() {
            read::check(prepared.columns())?;
        }
        let params: Vec<_> = params.collect();
        let mut stream = pin!(self.client.query_raw(prepared, params).await.map_err(failed)?);
        let mut rows = Vec::new();
        while let Some(row) = stream.try_next().await.map_err(failed)? {
            if budget.admit(rows.len(), row.raw_size_bytes())? {
                let row = read::row(&row, statement.form)?;
                budget.charge(&row)?;
                rows.push(row);
            }
        }
        Ok(StatementResult { rows, affected: stream.rows_affected().unwrap_or(0), last_insert_id: None })
    }

    async fn prepare_cached(&mut self, statement: &BoundStatement) -> Result<Prepared, SqlError> {
        let sql = &statement.sql;
        if let Some(prepared) = self.prepared.get(sql) {
            return Ok(prepared.clone());
        }
        let failed = |error: Error| error::running(&error, &[], Some(statement));
        let mut prepared = self.client.prepare(sql).await.map_err(failed)?;
        if statement.origin.is_document()
            && let Some(cast) = read::cast_to_text(sql, prepared.columns())
        {
            prepared = self.client.prepare(&cast).await.map_err(failed)?;
        }
        if self.tls.link().is_pooled() {
            // Each execution prepares it again, and would not notice that its table has changed.
            return Ok(prepared);
        }
        if self.prepared.len() >= PREPARED {
            self.prepared.clear();
        }
        self.prepared.insert(sql.clone(), prepared.clone());
        Ok(prepared)
    }
}

/// Returns true for a statement that `EXPLAIN` takes, by its first word.
fn is_planned(sql: &str) -> bool {
    let first = first_word(sql, DatabaseKind::Postgres);
    PLANNED.iter().any(|word| first.eq_ignore_ascii_case(word))
}

impl TransactionSession for PostgresSession {
    type Failure = StatementFailure;

    async fn begin(&mut self, mode: TransactionMode) -> Result<(), StatementFailure> {
        let begin = match mode {
            TransactionMode::Atomic => "BEGIN",
            TransactionMode::Snapshot => "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        };
        self.execute_command(begin).await
    }

    async fn run_statement(
        &mut self,
        statement: &BoundStatement,
        budget: &mut ResultBudget,
    ) -> Result<StatementResult, StatementFailure> {
        let prepared = self.prepare_cached(statement).await?;
        let outcome = self.execute(&prepared, statement, budget).await;
        if let Err(StatementFailure::Outdated(_)) = &outcome {
            // The other statements may be about the same table.
            self.prepared.clear();
        }
        outcome
    }

    async fn execute_command(&mut self, command: &'static str) -> Result<(), StatementFailure> {
        let executed = self.client.batch_execute(command).await;
        executed.map_err(|error| error::running(&error, &[], None).into())
    }

    fn leaves_clean(failure: &StatementFailure) -> bool {
        failure.leaves_clean()
    }
}

pub(crate) enum StatementFailure {
    /// The statement was prepared before a change of its tables, and was not begun.
    Outdated(SqlError),
    Error(SqlError),
}

impl StatementFailure {
    fn leaves_clean(&self) -> bool {
        match self {
            Self::Outdated(error) | Self::Error(error) => error.leaves_clean(),
        }
    }

    fn into_error(self) -> SqlError {
        match self {
            Self::Outdated(error) | Self::Error(error) => error,
        }
    }
}

impl From<SqlError> for StatementFailure {
    fn from(error: SqlError) -> Self {
        Self::Error(error)
    }
}
