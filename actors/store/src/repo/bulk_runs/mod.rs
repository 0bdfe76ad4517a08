//! Runs of actions on many rows.
//!
//! A run is a row. One node drives it under a lease: it reads a page of the rows that match, and [`BulkRuns::apply`]
//! acts on them and stores the position of the next page in one transaction. After the death of the node another one
//! takes the run over at that position, so no row is acted on twice. The transaction looks at each row again: one that is
//! gone, or has changed since the start of the run, is skipped, by the clock of the database. So of two runs over one row
//! one acts on it. Each run leaves an audit row at its start and one at its end.

mod model;
mod orders;
mod rows;
mod step;

use std::time::Duration;

use chrono::NaiveDateTime;
use serde_json::{Value, json};
use svc_model::{AuditAction, AuditResource, Page};

use crate::conn::Conn;
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::cron::ChannelFacts;
use crate::repo::mutation::Mutation;
use crate::repo::operator_runs::{self, OperatorRun, OperatorRunClaim, RunFuture};

pub(in crate::repo) use model::RowResults;
pub use model::{AppliedPage, BulkAction, BulkError, BulkKind, BulkPage, BulkRun, BulkStep, NewBulkRun};
use step::{BackfillStepRequest, BulkEndRequest, BulkHoldRequest, BulkPageRequest};

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("bulk_runs", method)
}

/// The runs of actions on many rows.
#[derive(Clone)]
pub struct BulkRuns(pub(crate) Database);

/// A run that this node drives.
#[derive(Clone, Debug, PartialEq)]
pub struct DrivenRun {
    pub run: BulkRun,
    /// The instants of a backfill, ascending; empty for any other action.
    pub instants: Vec<NaiveDateTime>,
}

impl BulkRuns {
    /// Starts a run, unless as many as `most` have not ended yet on all nodes together.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 409 with the ids of those runs; the other variants if the database fails.
    pub async fn start(&self, run: NewBulkRun, most: u32, mutation: Mutation) -> Result<BulkRun, StoreError> {
        operator_runs::start(&self.0, run, most as usize, mutation).await
    }

    /// Returns a page of the runs, the newest first, and the number of all.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn list(&self, page: Page) -> Result<(Vec<BulkRun>, i64), StoreError> {
        operator_runs::list(&self.0, page).await
    }

    /// Returns the run with this id.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn get(&self, id: &str) -> Result<Option<BulkRun>, StoreError> {
        operator_runs::get(&self.0, id).await
    }

    /// Ends a run before its next page. Returns it; its driver writes the end. One that is being aborted stays as it is.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none, 409 if it has ended; the other variants if the database fails.
    pub async fn abort(&self, id: &str, mutation: Mutation) -> Result<BulkRun, StoreError> {
        operator_runs::abort(&self.0, id, mutation).await
    }

    /// Takes or keeps the runs that have not ended and that no other live node drives, for `lease`. Returns them.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is lost,
    /// [`StoreError::Database`] if it refuses a statement.
    pub async fn claim(&self, holder: &str, lease: Duration) -> Result<Vec<DrivenRun>, StoreError> {
        operator_runs::claim::<BulkRun>(&self.0, holder, lease).await
    }

    /// Acts on the rows of a page that have not changed since the start of the run, stores the position behind it, and
    /// renews the lease. The run ends with its last page, or if it is being aborted.
    ///
    /// # Errors
    /// [`StoreError`] if the database fails; nothing is written then, unless the answer is lost.
    pub async fn apply(
        &self,
        claim: OperatorRunClaim,
        page: BulkPage,
        lease: Duration,
    ) -> Result<AppliedPage, StoreError> {
        self.0.call(operation("apply"), BulkPageRequest { claim, page, lease }).await
    }

    /// Renews the lease of a run that cannot take a step yet. The run ends if it is being aborted.
    ///
    /// # Errors
    /// [`StoreError`] if the database fails; nothing is written then, unless the answer is lost.
    pub async fn hold(&self, claim: OperatorRunClaim, lease: Duration) -> Result<BulkStep, StoreError> {
        self.0.call(operation("hold"), BulkHoldRequest { claim, lease }).await
    }

    /// Puts the next of the instants on record, as many as the run may have open, and renews the lease. The run ends
    /// with the last of its occurrences.
    ///
    /// # Errors
    /// [`StoreError`] if the database fails; nothing is written then, unless the answer is lost.
    pub async fn backfill(
        &self,
        claim: OperatorRunClaim,
        instants: Vec<NaiveDateTime>,
        (channel, max_parallel): (ChannelFacts, u32),
        lease: Duration,
    ) -> Result<BulkStep, StoreError> {
        let request = BackfillStepRequest { claim, instants, channel, max_parallel, lease };
        self.0.call(operation("backfill"), request).await
    }

    /// Ends a run that cannot go on, for this reason.
    ///
    /// # Errors
    /// [`StoreError`] if the database fails; nothing is written then, unless the answer is lost.
    pub async fn fail(&self, claim: OperatorRunClaim, reason: String) -> Result<BulkStep, StoreError> {
        self.0.call(operation("fail"), BulkEndRequest { claim, reason }).await
    }

    /// Deletes the runs that ended more than `hours` ago, and returns their number. Works in steps of at most `chunk`
    /// rows.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is lost,
    /// [`StoreError::Database`] if it refuses a statement. Completed steps are kept.
    pub async fn delete_expired(&self, hours: u64, chunk: i64) -> Result<u64, StoreError> {
        operator_runs::delete_expired::<BulkRun>(&self.0, hours, chunk).await
    }
}

impl OperatorRun for BulkRun {
    type Order = NewBulkRun;
    type Claimed = DrivenRun;

    const NOUN: &'static str = "bulk run";
    const MOST_CLAIMED: usize = usize::MAX;
    const END: AuditAction = AuditAction::BulkEnd;
    const RESOURCE: AuditResource = AuditResource::BulkRun;

    fn describe_bound(most: usize) -> String {
        format!(", and bulk.max_running is {most}")
    }

    fn describe_end(&self) -> Value {
        json!({
            "kind": self.kind,
            "action": self.action,
            "state": self.state,
            "matched": self.matched,
            "done": self.done,
            "failed": self.failed,
            "skipped": self.skipped,
            "reason": self.reason,
        })
    }

    fn insert<'c>(conn: &'c mut Conn, id: &'c str, order: &'c NewBulkRun) -> RunFuture<'c, ()> {
        Box::pin(rows::insert(conn, id, order))
    }

    fn save<'c>(conn: &'c mut Conn, run: &'c Self) -> RunFuture<'c, ()> {
        Box::pin(rows::save(conn, run))
    }

    fn load_claimed(conn: &mut Conn, run: Self) -> RunFuture<'_, DrivenRun> {
        Box::pin(async move {
            let instants = rows::get_instants(conn, &run.id).await?;
            Ok(DrivenRun { run, instants })
        })
    }
}
