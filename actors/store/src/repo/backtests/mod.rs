//! Backtests.
//!
//! A backtest is a row. One node makes it under a lease and writes its report so far with the place behind the last
//! recorded run, in one transaction; after the death of the node another one goes on from there. A node makes one at a
//! time, the oldest first. Each backtest leaves an audit row at its start and one at its end.

mod model;
mod rows;

use std::time::Duration;

use serde_json::{Value, json};
use svc_model::{AuditAction, AuditResource, Page};

use crate::conn::Conn;
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::mutation::Mutation;
use crate::repo::operator_runs::{
    self, OperatorRun, OperatorRunClaim, OperatorRunState, RunFuture, RunTable, lock_claimed,
};
use crate::writer::UnitOutcome;

pub use model::{BacktestEnd, BacktestPoint, BacktestStep, NewBacktest, StoredBacktest};

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("backtests", method)
}

/// The backtests.
#[derive(Clone)]
pub struct Backtests(pub(crate) Database);

impl Backtests {
    /// Puts a backtest on record, unless as many as `most` have not ended yet on all nodes together.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 409 with the ids of those; the other variants if the database fails.
    pub async fn start(
        &self,
        new: NewBacktest,
        most: usize,
        mutation: Mutation,
    ) -> Result<StoredBacktest, StoreError> {
        operator_runs::start(&self.0, new, most, mutation).await
    }

    /// Returns a page of the backtests, the newest first, and the number of all.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn list(&self, page: Page) -> Result<(Vec<StoredBacktest>, i64), StoreError> {
        operator_runs::list(&self.0, page).await
    }

    /// Returns the backtest with this id.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn get(&self, id: &str) -> Result<Option<StoredBacktest>, StoreError> {
        operator_runs::get(&self.0, id).await
    }

    /// Ends a backtest: at once if no node makes it, otherwise at the next write of its node. Returns it. One that is
    /// being aborted stays as it is.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none, 409 if it has ended; the other variants if the database fails.
    pub async fn abort(&self, id: &str, mutation: Mutation) -> Result<StoredBacktest, StoreError> {
        operator_runs::abort(&self.0, id, mutation).await
    }

    /// Takes or keeps the oldest backtest that has not ended and that no other live node makes, for `lease`.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is lost,
    /// [`StoreError::Database`] if it refuses a statement.
    pub async fn claim(&self, holder: &str, lease: Duration) -> Result<Option<StoredBacktest>, StoreError> {
        let claimed = operator_runs::claim::<StoredBacktest>(&self.0, holder, lease).await?;
        Ok(claimed.into_iter().next())
    }

    /// Writes the progress of a backtest and renews the lease. One that is being aborted ends.
    ///
    /// # Errors
    /// [`StoreError`] if the database fails; nothing is written then, unless the answer is lost.
    pub async fn advance(
        &self,
        held: OperatorRunClaim,
        point: BacktestPoint,
        lease: Duration,
    ) -> Result<BacktestStep, StoreError> {
        self.0
            .write(operation("advance"), move |conn| {
                Box::pin(async move {
                    advance(conn, &held, point, None, Some(lease)).await.map(UnitOutcome::Keep)
                })
            })
            .await
    }

    /// Ends a backtest with its whole report, or with the one so far if there is no new one.
    ///
    /// # Errors
    /// [`StoreError`] if the database fails; nothing is written then, unless the answer is lost.
    pub async fn end(
        &self,
        held: OperatorRunClaim,
        point: Option<BacktestPoint>,
        outcome: BacktestEnd,
    ) -> Result<BacktestStep, StoreError> {
        self.0
            .write(operation("end"), move |conn| {
                Box::pin(async move {
                    let step = match point {
                        Some(point) => advance(conn, &held, point, Some(outcome), None).await,
                        None => end_held(conn, &held, outcome).await,
                    };
                    step.map(UnitOutcome::Keep)
                })
            })
            .await
    }

    /// Deletes the backtests that ended more than `hours` ago, and returns their number. Works in steps of at most
    /// `chunk` rows.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is lost,
    /// [`StoreError::Database`] if it refuses a statement. Completed steps are kept.
    pub async fn delete_expired(&self, hours: u64, chunk: i64) -> Result<u64, StoreError> {
        operator_runs::delete_expired::<StoredBacktest>(&self.0, hours, chunk).await
    }
}

impl OperatorRun for StoredBacktest {
    type Order = NewBacktest;
    type Claimed = Self;

    const NOUN: &'static str = "backtest";
    const MOST_CLAIMED: usize = 1;
    const END: AuditAction = AuditAction::BacktestEnd;
    const RESOURCE: AuditResource = AuditResource::Backtest;

    fn describe_bound(_most: usize) -> String {
        ", as many as there may be".to_owned()
    }

    /// The row of the end has the counts of the report.
    fn describe_end(&self) -> Value {
        let kinds = self.report.as_ref().map_or(&Value::Null, |report| &report["kinds"]);
        json!({
            "kind": self.kind,
            "definition": self.definition,
            "version": self.version,
            "state": self.state,
            "done": self.done,
            "kinds": kinds,
            "reason": self.reason,
        })
    }

    fn insert<'c>(conn: &'c mut Conn, id: &'c str, order: &'c NewBacktest) -> RunFuture<'c, ()> {
        Box::pin(rows::insert(conn, id, order))
    }

    fn save<'c>(conn: &'c mut Conn, run: &'c Self) -> RunFuture<'c, ()> {
        Box::pin(rows::save(conn, run))
    }

    fn load_claimed(_conn: &mut Conn, run: Self) -> RunFuture<'_, Self> {
        Box::pin(async move { Ok(run) })
    }
}

/// Writes the progress of a backtest, then its end or its lease.
async fn advance(
    conn: &mut Conn,
    held: &OperatorRunClaim,
    point: BacktestPoint,
    outcome: Option<BacktestEnd>,
    lease: Option<Duration>,
) -> Result<BacktestStep, StoreError> {
    let Some(mut backtest) = lock_claimed::<StoredBacktest>(conn, held).await? else {
        return Ok(BacktestStep::Lost);
    };
    backtest.done = point.done;
    backtest.position = point.position;
    backtest.report = Some(point.report);
    if let Some(outcome) = outcome {
        return end_as(conn, backtest, outcome).await;
    }
    if backtest.parsed_state() == Some(OperatorRunState::Aborting) {
        operator_runs::end(conn, &mut backtest, OperatorRunState::Aborted).await?;
        return Ok(BacktestStep::Ended(OperatorRunState::Aborted));
    }
    rows::save(conn, &backtest).await?;
    if let Some(lease) = lease {
        StoredBacktest::renew(conn, &backtest.id, lease).await?;
    }
    Ok(BacktestStep::Continues)
}

/// Ends a backtest with its report so far.
async fn end_held(
    conn: &mut Conn,
    held: &OperatorRunClaim,
    outcome: BacktestEnd,
) -> Result<BacktestStep, StoreError> {
    let Some(backtest) = lock_claimed::<StoredBacktest>(conn, held).await? else {
        return Ok(BacktestStep::Lost);
    };
    end_as(conn, backtest, outcome).await
}

async fn end_as(
    conn: &mut Conn,
    mut backtest: StoredBacktest,
    outcome: BacktestEnd,
) -> Result<BacktestStep, StoreError> {
    let state = match outcome {
        BacktestEnd::Completed => OperatorRunState::Completed,
        BacktestEnd::Failed(reason) => {
            backtest.reason = Some(reason);
            OperatorRunState::Failed
        }
    };
    operator_runs::end(conn, &mut backtest, state).await?;
    Ok(BacktestStep::Ended(state))
}
