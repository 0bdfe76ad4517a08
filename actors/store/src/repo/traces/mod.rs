//! Traces: one row per traced run.
//!
//! Traces are written on the hot path of requests, so they are written in sets: see
//! [`TraceRepository::insert`]. The end of a trace is written once; an ended trace never changes again.

mod adopt;
pub(super) mod attempts;
mod bulk;
pub(super) mod cancel;
mod change;
mod counts;
mod end;
mod list;
mod merged;
mod model;
mod open;
mod read;
pub(super) mod rerun;
mod scan;
mod statement;
mod status;
mod traffic;
mod unfinished;
mod waiting;

use std::sync::Arc;

use svc_model::{Timestamp, WorkflowVersion};
use uuid::Uuid;

use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::{RowKey, error_groups, key};
use crate::writer::UnitOutcome;

pub(super) use adopt::mark_emptied;
pub use cancel::{
    CancelEffect, CancelFailure, CancelOrder, CancelStep, CancelledEnd, CancelledRun, OpenCancel,
};
pub(crate) use change::TraceWrite;
pub(super) use end::forget_unfinished;
pub(super) use list::find_keyed;
pub use model::{
    AdoptedRun, NewTrace, Ownership, TraceAccess, TraceAttempt, TraceEnd, TraceFailure, TracePage,
    TraceQuery, TraceRecord, TraceRow, TraceSource, UnfinishedRun,
};
pub use open::OpenTrace;
pub(super) use read::LenientTimestamp;
pub use rerun::{AcceptedRerun, RERUN, RerunOrder, RerunVersion};
pub use status::{TraceMode, TraceStatus};
pub use traffic::RunTotals;
pub use waiting::{
    DueTime, QueueShares, RenewedWait, WaitReason, WaitTerms, WaitingCount, WaitingCounts, WaitingWork,
};

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("traces", method)
}

/// The stored traces.
#[derive(Clone)]
pub struct TraceRepository(pub(crate) Database);

impl TraceRepository {
    /// Writes a trace and returns when it is on disk. The rows of many callers are written as one set; a row
    /// that the database refuses fails alone.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement. The latter also if a trace with this id
    /// exists.
    pub async fn insert(&self, trace: impl Into<Arc<NewTrace>>) -> Result<(), StoreError> {
        let trace = storable_row(trace.into());
        let group = trace.error_group.clone();
        error_groups::store_new(&self.0, group.iter().cloned().collect()).await;
        let written = self.0.change(operation("insert"), TraceWrite::Insert(trace)).await.map(drop);
        self.0.failure_tally().count(group.as_deref(), written.is_ok());
        written
    }

    /// Writes the row of a run that has begun, with the end of the run if that comes before a transaction takes the row.
    /// Returns when it is on disk.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub async fn insert_open(&self, trace: Arc<OpenTrace>) -> Result<(), StoreError> {
        self.0.change(operation("insert"), TraceWrite::InsertOpen(trace)).await.map(drop)
    }

    /// Returns `true` if the last transaction succeeded, without a refused row, moments ago: the rows that are given now
    /// are expected to be written. Once a caller learns that a row was refused it is `false` until the next success.
    pub fn has_written_lately(&self) -> bool {
        self.0.has_written_lately()
    }

    /// Writes traces and returns when all that can be written are on disk.
    ///
    /// # Errors
    /// The first error, if rows could not be written. The other rows are written.
    pub async fn insert_all(&self, traces: Vec<NewTrace>) -> Result<(), StoreError> {
        self.insert_each(traces.into_iter().map(Arc::new).collect()).await.into_iter().collect()
    }

    /// Writes traces and returns the result of each, as of [`insert`](Self::insert), when all that can be written are
    /// on disk.
    pub async fn insert_each(&self, traces: Vec<Arc<NewTrace>>) -> Vec<Result<(), StoreError>> {
        let groups: Vec<_> = traces.iter().map(|trace| trace.error_group.clone()).collect();
        error_groups::store_new(&self.0, groups.iter().flatten().cloned().collect()).await;
        let changes = traces.into_iter().map(|trace| TraceWrite::Insert(storable_row(trace)));
        let written = self.0.change_each(operation("insert"), changes).await;
        for (group, written) in groups.iter().zip(&written) {
            self.0.failure_tally().count(group.as_deref(), written.is_ok());
        }
        written.into_iter().map(|written| written.map(drop)).collect()
    }

    /// Writes traces in one transaction: when this returns, all are on disk, or none.
    ///
    /// # Errors
    /// As [`insert`](Self::insert), for the first row that cannot be written.
    pub async fn insert_together(&self, traces: Vec<NewTrace>) -> Result<(), StoreError> {
        let rows = traces.into_iter().map(|trace| TraceWrite::Insert(storable_row(Arc::new(trace))));
        let rows: Arc<Vec<_>> = Arc::new(rows.collect());
        self.0
            .write(operation("insert_together"), move |conn| {
                Box::pin(
                    async move { TraceWrite::apply_all(&rows, conn).await.map(|_| UnitOutcome::Keep(())) },
                )
            })
            .await
    }

    /// Marks a pending run as running. Returns whether it was pending, under this claim if one is given.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn start(
        &self,
        id: Uuid,
        workflow: Option<WorkflowVersion>,
        ownership: Option<Ownership>,
    ) -> Result<bool, StoreError> {
        self.0.change(operation("start"), TraceWrite::Start(id, workflow, ownership)).await
    }

    /// Marks a later attempt at accepted work as running, and the work. Returns what [`start`](Self::start) does.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn start_attempt(
        &self,
        id: Uuid,
        workflow: Option<WorkflowVersion>,
        ownership: Option<Ownership>,
    ) -> Result<bool, StoreError> {
        self.0
            .write(operation("start_attempt"), move |conn| {
                Box::pin(async move {
                    attempts::start(conn, id, workflow, ownership).await.map(UnitOutcome::Keep)
                })
            })
            .await
    }

    /// Records that a run is restarted: `ownership` carries the incremented number of recoveries. Returns
    /// whether the run has not ended and belongs to that node. Idempotent.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn recover(&self, id: Uuid, ownership: Ownership) -> Result<bool, StoreError> {
        self.0.change(operation("recover"), TraceWrite::Recover(id, ownership)).await
    }

    /// Writes the outcome of a run. Returns whether the run had not ended before and still has the claim of
    /// the outcome.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn finish(&self, mut end: TraceEnd) -> Result<bool, StoreError> {
        end.error_message = end.error_message.map(storable);
        let group = end.error_group.clone();
        error_groups::store_new(&self.0, group.iter().cloned().collect()).await;
        let written = self.0.change(operation("finish"), TraceWrite::Finish(end)).await;
        self.0.failure_tally().count(group.as_deref(), matches!(written, Ok(true)));
        written
    }

    /// Writes the outcome of a later attempt at accepted work, and with it that of the work. Returns what
    /// [`finish`](Self::finish) does.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub async fn finish_attempt(&self, mut end: TraceEnd) -> Result<bool, StoreError> {
        end.error_message = end.error_message.map(storable);
        let group = end.error_group.clone();
        error_groups::store_new(&self.0, group.iter().cloned().collect()).await;
        let written = self
            .0
            .write(operation("finish_attempt"), move |conn| {
                Box::pin(async move { attempts::finish(conn, end).await.map(UnitOutcome::Keep) })
            })
            .await;
        self.0.failure_tally().count(group.as_deref(), matches!(written, Ok(true)));
        written
    }

    /// Writes the failure of a run, the state of its work and its dead letter in one transaction. Returns whether the run
    /// had not ended before; if it had, no letter is written.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn fail_to_dead_letters(&self, mut failure: TraceFailure) -> Result<bool, StoreError> {
        failure.error_message = storable(failure.error_message);
        let group = failure.error_group.clone();
        error_groups::store_new(&self.0, group.iter().cloned().collect()).await;
        let written = self
            .0
            .write(operation("fail_to_dead_letters"), move |conn| {
                Box::pin(async move { end::fail(conn, failure).await.map(UnitOutcome::Keep) })
            })
            .await;
        self.0.failure_tally().count(group.as_deref(), matches!(written, Ok(true)));
        written
    }

    /// Returns a page of the unfinished asynchronous runs whose node is not `node` and has no lease, oldest
    /// first: at most `limit` after the key `after`, and the key to continue from. `None` means that there
    /// are no more. A page may be shorter than `limit`, even empty, because rows written by other programs
    /// are skipped.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn unfinished_async(
        &self,
        node: &Arc<str>,
        after: Option<RowKey>,
        limit: i64,
    ) -> Result<(Vec<UnfinishedRun>, Option<RowKey>), StoreError> {
        let node = Arc::clone(node);
        self.0
            .read(operation("unfinished_async"), move |conn| {
                Box::pin(async move { adopt::list_unfinished(conn, &node, after, limit).await })
            })
            .await
    }

    /// Makes `node` the owner of unfinished runs, each found with the given owner. Returns the runs that
    /// belong to `node` now. A run is left out if its owner changed, has a lease, or is writing it at this
    /// moment. Idempotent.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn adopt(
        &self,
        node: &Arc<str>,
        found: Vec<(Uuid, Option<String>)>,
    ) -> Result<Vec<AdoptedRun>, StoreError> {
        let node = Arc::clone(node);
        self.0
            .write(operation("adopt"), move |conn| {
                Box::pin(async move { adopt::adopt(conn, &node, &found).await.map(UnitOutcome::Keep) })
            })
            .await
    }

    /// Returns a page of the matching traces. A row with unknown values is listed as it is; a row without a
    /// readable time is left out.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 400 for an invalid cursor, or a cursor together with an offset or another order; the
    /// other variants if the database fails.
    pub async fn list(&self, query: TraceQuery) -> Result<TracePage, StoreError> {
        let listing = list::Listing::new(query)?;
        self.0.read(operation("list"), move |conn| Box::pin(async move { listing.load(conn).await })).await
    }

    /// Counts the runs of the channel with this name that began since an instant, and measures the newest ones. Reads a
    /// bounded part of an index, and at most 500 rows.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn traffic(&self, channel: &str, since: Timestamp) -> Result<RunTotals, StoreError> {
        let channel = key(channel);
        self.0
            .read(operation("traffic"), move |conn| {
                Box::pin(async move { traffic::measure(conn, &channel, since).await })
            })
            .await
    }

    /// Returns the read access of the trace with this id, if it exists. Cheap, whatever the size of the
    /// trace.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn access(&self, id: &str) -> Result<Option<TraceAccess>, StoreError> {
        let id = key(id);
        self.0
            .read(operation("access"), move |conn| Box::pin(async move { read::access(conn, &id).await }))
            .await
    }

    /// Returns the trace with this id.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn get(&self, id: &str) -> Result<Option<TraceRecord>, StoreError> {
        let id = key(id);
        self.0.read(operation("get"), move |conn| Box::pin(async move { read::get(conn, &id).await })).await
    }

    /// Returns whether a trace with this id exists, for a caller whose write was not answered. The query
    /// takes its turn among the writes, so no earlier write is still in progress.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn is_stored(&self, id: Uuid) -> Result<bool, StoreError> {
        self.0
            .write(operation("is_stored"), move |conn| {
                Box::pin(async move { read::exists(conn, id).await.map(UnitOutcome::Discard) })
            })
            .await
    }

    /// Deletes the ended traces older than `hours` and the unfinished ones of twice that age, and returns their
    /// number. Accepted work that has not ended stays, as long as something is left to be done for it. Works in steps of
    /// at most `chunk` rows, between which others can write.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement. Completed steps are kept.
    pub async fn delete_expired(&self, hours: u64, chunk: i64) -> Result<u64, StoreError> {
        self.0
            .delete_in_steps(operation("delete_expired"), chunk, move |conn| {
                Box::pin(end::delete_expired(conn, hours, chunk))
            })
            .await
    }
}

/// Returns a row with a message that every database accepts.
fn storable_row(mut trace: Arc<NewTrace>) -> Arc<NewTrace> {
    if trace.error_message.as_ref().is_some_and(|message| message.contains('\0')) {
        let row = Arc::make_mut(&mut trace);
        row.error_message = row.error_message.take().map(storable);
    }
    trace
}

/// Returns a message that every database accepts. JSON escapes U+0000, but a message may quote it literally.
fn storable(message: String) -> String {
    if message.contains('\0') { key(&message) } else { message }
}
