//! One connection to a MySQL, and the statements run over it.

use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, Opts, Params};
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout};

use super::{bind, error, read};
use crate::drivers::sql::cancel::CancelGuard;
use crate::drivers::sql::error::{SqlError, check_count};
use crate::drivers::sql::messages::{
    BoundStatement, PreparedShape, RunStatements, StatementAccess, StatementResult, TransactionMode,
};
use crate::drivers::sql::result::ResultBudget;
use crate::drivers::sql::transaction::TransactionSession;

/// A connection that was idle for longer is asked whether it is still there.
const TRUSTED: Duration = Duration::from_secs(1);
/// Time limit of the answer to a ping.
const PING: Duration = Duration::from_secs(2);

/// A connection.
pub(crate) struct MySqlSession {
    conn: Conn,
    options: Opts,
    io: Handle,
    used: Instant,
    /// Statements run, or were abandoned: the connection must not be used again.
    busy: bool,
    /// A read-only transaction is still to be rolled back: no statement may use it before.
    in_transaction: bool,
    /// State may be left in the session: no other call may use it.
    pub(crate) spent: bool,
}

impl MySqlSession {
    pub(super) fn new(conn: Conn, options: Opts) -> Self {
        let (io, used) = (Handle::current(), Instant::now());
        Self { conn, options, io, used, busy: false, in_transaction: false, spent: false }
    }

    pub(super) fn is_broken(&self) -> bool {
        self.busy || self.in_transaction || self.spent || self.conn.is_disconnected()
    }

    /// Returns true if a read-only transaction is open that [`roll_back`](Self::roll_back) has to end.
    pub(crate) const fn is_in_transaction(&self) -> bool {
        self.in_transaction && !self.busy
    }

    /// The runtime that drives the connection.
    pub(crate) fn io(&self) -> Handle {
        self.io.clone()
    }

    /// Ends a read-only transaction. A connection that fails at it is not used again.
    pub(crate) async fn roll_back(&mut self) {
        let rolled_back = timeout(PING, self.conn.query_drop("ROLLBACK")).await;
        self.in_transaction = !matches!(rolled_back, Ok(Ok(())));
        self.used = Instant::now();
    }

    /// Returns true if the server still holds the connection: the loss of an unused connection is not noticed
    /// otherwise.
    pub(super) async fn is_alive(&mut self) -> bool {
        if self.is_broken() || self.used.elapsed() < TRUSTED {
            return !self.is_broken();
        }
        self.busy = true;
        let answered = timeout(PING, self.conn.ping()).await;
        self.busy = !matches!(answered, Ok(Ok(())));
        !self.busy
    }

    /// Runs statements. Dropped before its end, it is cancelled at the server.
    pub(crate) async fn run(&mut self, run: &RunStatements) -> Result<Vec<StatementResult>, SqlError> {
        self.busy = true;
        let (id, options) = (self.conn.id(), self.options.clone());
        let cancel = CancelGuard::new(self.io.clone(), async move {
            // The server may have lost the connection before.
            let _ = kill(id, options).await;
        });
        let outcome = match run.statements.as_slice() {
            [statement] => self.run_single(statement, run).await.map(|outcome| vec![outcome]),
            _ => self.run_in_transaction(run).await,
        };
        self.busy = outcome.as_ref().is_err_and(|error| !error.leaves_clean());
        self.used = Instant::now();
        cancel.finish(self.busy);
        outcome
    }

    /// Prepares statements in a transaction that is rolled back; none is run. It is not read-only: MariaDB then refuses to
    /// prepare one that writes.
    pub(crate) async fn prepare_all(
        &mut self,
        statements: &[String],
    ) -> Result<Vec<Result<PreparedShape, SqlError>>, SqlError> {
        let plain = |error: Error| error::running(&error, None);
        // A table that is being changed must not hold the check for ever.
        self.conn.query_drop("SET SESSION lock_wait_timeout = 10").await.map_err(plain)?;
        self.conn.query_drop("START TRANSACTION").await.map_err(plain)?;
        let mut shapes = Vec::with_capacity(statements.len());
        for sql in statements {
            let prepared = self.conn.prep(sql).await.map_err(plain);
            shapes.push(prepared.map(|prepared| PreparedShape {
                placeholders: Some(usize::from(prepared.num_params())),
                warning: None,
            }));
        }
        self.conn.query_drop("ROLLBACK").await.map_err(plain)?;
        Ok(shapes)
    }

    /// A statement by itself. In a read-only transaction it leaves that open: ending it takes a round trip,
    /// which the answer does not wait for.
    async fn run_single(
        &mut self,
        statement: &BoundStatement,
        run: &RunStatements,
    ) -> Result<StatementResult, SqlError> {
        if run.access == StatementAccess::ReadOnly {
            let outcome = self.conn.query_drop("START TRANSACTION READ ONLY").await;
            outcome.map_err(|error| error::running(&error, None))?;
            self.in_transaction = true;
        }
        self.run_statement(statement, &mut ResultBudget::new(run.bounds)).await
    }
}

impl TransactionSession for MySqlSession {
    type Failure = SqlError;

    async fn begin(&mut self, mode: TransactionMode) -> Result<(), SqlError> {
        match mode {
            TransactionMode::Atomic => self.execute_command("START TRANSACTION").await,
            TransactionMode::Snapshot => {
                // Of the next transaction alone; on another level than this there is no snapshot.
                self.execute_command("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
                self.execute_command("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY").await
            }
        }
    }

    async fn run_statement(
        &mut self,
        statement: &BoundStatement,
        budget: &mut ResultBudget,
    ) -> Result<StatementResult, SqlError> {
        let failed = |error: Error| error::running(&error, Some(statement));
        let prepared = self.conn.prep(&statement.sql).await.map_err(failed)?;
        check_count(usize::from(prepared.num_params()), statement.params.len())?;
        if budget.wants_rows() {
            read::check(&prepared.columns())?;
        }
        let params = Params::Positional(statement.params.iter().map(bind::param).collect());
        let mut result = self.conn.exec_iter(&prepared, params).await.map_err(failed)?;
        let mut rows = Vec::new();
        while let Some(row) = result.next().await.map_err(failed)? {
            if budget.admit(rows.len(), read::size(&row))? {
                let row = read::row(row, statement.form)?;
                budget.charge(&row)?;
                rows.push(row);
            }
        }
        let affected = result.affected_rows();
        let last_insert_id =
            result.last_insert_id().and_then(|id| i64::try_from(id).ok()).filter(|id| *id != 0);
        // A procedure has more results, which are passed over.
        result.drop_result().await.map_err(failed)?;
        Ok(StatementResult { rows, affected, last_insert_id })
    }

    async fn execute_command(&mut self, command: &'static str) -> Result<(), SqlError> {
        self.conn.query_drop(command).await.map_err(|error| error::running(&error, None))
    }

    fn leaves_clean(failure: &SqlError) -> bool {
        failure.leaves_clean()
    }
}

/// Ends a connection at the server, with what runs over it.
async fn kill(id: u32, options: Opts) -> Result<(), Error> {
    let mut conn = Conn::new(options).await?;
    conn.query_drop(format!("KILL {id}")).await?;
    conn.disconnect().await
}
