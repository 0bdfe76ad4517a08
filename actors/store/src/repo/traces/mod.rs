//! Traces: one row per traced run.
//!
//! Written on the way of requests, so in sets: see [`TraceRepository::insert`]. An end is written once: what has ended
//! is never changed again.

mod adopt;
mod bulk;
mod change;
mod end;
mod list;
mod model;
mod read;
mod statement;

use std::sync::Arc;

use uuid::Uuid;

use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::{RowKey, key};
use crate::store::Store;
use crate::writer::UnitOutcome;

pub(super) use adopt::mark_emptied;
pub(crate) use change::TraceWrite;
pub(super) use end::forget_unfinished;
pub use model::{
    AdoptedRun, NewTrace, Ownership, TraceAccess, TraceEnd, TraceFailure, TraceMode, TracePage, TraceQuery,
    TraceRecord, TraceRow, TraceStatus, UnfinishedRun,
};
pub(super) use read::LenientTimestamp;

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("traces", method)
}

/// The traces.
#[derive(Clone)]
pub struct TraceRepository(pub(crate) Store);

impl TraceRepository {
    /// Writes a trace; answers when it is on disk. Rows of many callers are written as one set, and a row that the
    /// database refuses fails alone.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or [`StoreError::Unanswered`] when the database is away, [`StoreError::Database`]
    /// when it has a trace of that id.
    pub async fn insert(&self, mut trace: NewTrace) -> Result<(), StoreError> {
        trace.error_message = trace.error_message.map(storable);
        self.0.change(operation("insert"), TraceWrite::Insert(trace)).await.map(drop)
    }

    /// Writes traces; answers when all that can be written are on disk.
    ///
    /// # Errors
    /// The first, where rows could not be written; the others are.
    pub async fn insert_all(&self, traces: Vec<NewTrace>) -> Result<(), StoreError> {
        let writes = traces.into_iter().map(|trace| self.insert(trace));
        futures_util::future::join_all(writes).await.into_iter().collect()
    }

    /// Marks a pending run as running; answers whether it was pending, under this claim where one is given.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or, for a write, [`StoreError::Unanswered`] when the database does not answer.
    pub async fn start(&self, id: Uuid, ownership: Option<Ownership>) -> Result<bool, StoreError> {
        self.0.change(operation("start"), TraceWrite::Start(id, ownership)).await
    }

    /// Counts that a run is begun once more: `ownership` carries the raised number. Answers whether the run has not
    /// ended and belongs to that node. Asked twice it is counted once.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or, for a write, [`StoreError::Unanswered`] when the database does not answer.
    pub async fn recover(&self, id: Uuid, ownership: Ownership) -> Result<bool, StoreError> {
        self.0.change(operation("recover"), TraceWrite::Recover(id, ownership)).await
    }

    /// Writes how a run ended; answers whether it had not ended before and still carries the claim of the end.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or, for a write, [`StoreError::Unanswered`] when the database does not answer.
    pub async fn finish(&self, mut end: TraceEnd) -> Result<bool, StoreError> {
        end.error_message = end.error_message.map(storable);
        self.0.change(operation("finish"), TraceWrite::Finish(end)).await
    }

    /// Writes that a run failed, and the dead letter of it, in one transaction; answers whether it had not ended
    /// before. Where it had, no letter is written.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or, for a write, [`StoreError::Unanswered`] when the database does not answer.
    pub async fn fail_to_dead_letters(&self, mut failure: TraceFailure) -> Result<bool, StoreError> {
        failure.error_message = storable(failure.error_message);
        self.0
            .write(operation("fail_to_dead_letters"), move |conn| {
                Box::pin(async move { end::fail(conn, failure).await.map(UnitOutcome::Keep) })
            })
            .await
    }

    /// The asynchronous runs that have not ended and whose node is not `node` and has no lease, oldest first: at most
    /// `limit` of those behind `after`, and behind what the next ones are. `None`: there are no more. A page may be
    /// shorter than that, even empty: rows that were not written here are passed over.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or, for a write, [`StoreError::Unanswered`] when the database does not answer.
    pub async fn unfinished_async(
        &self,
        node: &Arc<str>,
        after: Option<RowKey>,
        limit: i64,
    ) -> Result<(Vec<UnfinishedRun>, Option<RowKey>), StoreError> {
        let node = Arc::clone(node);
        self.0
            .read(operation("unfinished_async"), move |conn| {
                Box::pin(async move { adopt::unfinished(conn, &node, after, limit).await })
            })
            .await
    }

    /// Makes `node` the owner of runs that were found unfinished, each with the owner it had then. Answers those that
    /// belong to `node` now: not those whose owner changed, lives, or writes them at this moment. Asked twice it is
    /// done once.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or, for a write, [`StoreError::Unanswered`] when the database does not answer.
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

    /// A page of the traces that match. A row that says what nobody knows is listed as it is; one without a readable
    /// time of its own is left out.
    ///
    /// # Errors
    /// 400 for a cursor that is none, or one beside an offset or another order.
    pub async fn list(&self, query: TraceQuery) -> Result<TracePage, StoreError> {
        let listing = list::Listing::new(query)?;
        self.0.read(operation("list"), move |conn| Box::pin(async move { listing.load(conn).await })).await
    }

    /// Reads the access rule of the trace of that id; `None` if there is none. Cheap, whatever the trace carries.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or, for a write, [`StoreError::Unanswered`] when the database does not answer.
    pub async fn access(&self, id: &str) -> Result<Option<TraceAccess>, StoreError> {
        let id = key(id);
        self.0
            .read(operation("access"), move |conn| Box::pin(async move { read::access(conn, &id).await }))
            .await
    }

    /// The trace of that id.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or, for a write, [`StoreError::Unanswered`] when the database does not answer.
    pub async fn get(&self, id: &str) -> Result<Option<TraceRecord>, StoreError> {
        let id = key(id);
        self.0.read(operation("get"), move |conn| Box::pin(async move { read::get(conn, &id).await })).await
    }

    /// Returns true if there is a trace of that id, for a caller that got no answer to its write: queued behind earlier
    /// writes, so that none of before is still under way.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or, for a write, [`StoreError::Unanswered`] when the database does not answer.
    pub async fn is_stored(&self, id: Uuid) -> Result<bool, StoreError> {
        self.0
            .write(operation("is_stored"), move |conn| {
                Box::pin(async move { read::exists(conn, id).await.map(UnitOutcome::Discard) })
            })
            .await
    }

    /// Deletes what has ended and is older than `hours`, and what has not ended and is twice as old; answers how many.
    /// Works in steps of at most `chunk` rows, between which others write.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer; earlier steps are kept.
    pub async fn delete_expired(&self, hours: u64, chunk: i64) -> Result<u64, StoreError> {
        let mut deleted = 0;
        loop {
            let step = self.0.write(operation("delete_expired"), move |conn| {
                Box::pin(async move { end::delete_expired(conn, hours, chunk).await.map(UnitOutcome::Keep) })
            });
            let step = step.await?;
            deleted += step;
            if step < chunk.unsigned_abs() {
                return Ok(deleted);
            }
        }
    }
}

/// A message as any database keeps it. JSON writes U+0000 as an escape, but a message may quote it as it came.
fn storable(message: String) -> String {
    if message.contains('\0') { key(&message) } else { message }
}
