//! Statements in one transaction, the same for every server.

use super::messages::{BoundStatement, RunStatements, StatementResult, TransactionMode};
use super::result::ResultBudget;

/// A connection to a server that runs statements in transactions.
pub(super) trait TransactionSession {
    /// The failure of a statement.
    type Failure;

    /// Begins a transaction.
    async fn begin(&mut self, mode: TransactionMode) -> Result<(), Self::Failure>;

    /// Runs a statement of the open transaction.
    async fn run_statement(
        &mut self,
        statement: &BoundStatement,
        budget: &mut ResultBudget,
    ) -> Result<StatementResult, Self::Failure>;

    /// Executes a command of the transaction, such as `COMMIT`.
    async fn execute_command(&mut self, command: &'static str) -> Result<(), Self::Failure>;

    /// Returns `true` if the connection can still be ordered to roll back.
    fn leaves_clean(failure: &Self::Failure) -> bool;

    /// Runs all statements in one transaction. The first failure rolls it back.
    ///
    /// # Errors
    /// The failure of the first statement that failed, or of the transaction itself.
    async fn run_in_transaction(
        &mut self,
        run: &RunStatements,
    ) -> Result<Vec<StatementResult>, Self::Failure> {
        self.begin(run.transaction).await?;
        let mut outcomes = Vec::with_capacity(run.statements.len());
        let mut budget = ResultBudget::new(run.bounds);
        for statement in &run.statements {
            match self.run_statement(statement, &mut budget).await {
                Ok(outcome) => outcomes.push(outcome),
                Err(failure) => {
                    if Self::leaves_clean(&failure) {
                        self.execute_command("ROLLBACK").await?;
                    }
                    return Err(failure);
                }
            }
        }
        self.execute_command("COMMIT").await?;
        Ok(outcomes)
    }
}
