//! The cron ledger: a durable row for each instant of a schedule, claimed under a lease by one worker of any
//! node, and kept after its end.
//!
//! The rules are those of [`svc_ledger`]. Each operation reads the rows under lock, applies the rules, and
//! writes the result. The queries find rows and never decide. The clock is that of the database.
//!
//! On SQLite the writer runs all operations one after the other. On PostgreSQL each is a short transaction of
//! its own, so that one that waits for a row blocks no other. Rows are locked in one order: the channel, its
//! cursor, then a concurrency key and its slots by number, then occurrences. An operation on many occurrences
//! skips locked ones. An operation that the database rolled back because of others is repeated a few times.
//!
//! The operations that every run needs (recording its instant, its start, its end) share transactions in groups, with few
//! statements for all. A group locks many cursors, or many occurrences, and so waits for none: it skips those that are
//! locked. A call with more rows to lock, such as slots, has a transaction of its own.
//!
//! Committed rows survive a restart. Nothing here runs by itself.

mod admin;
mod bulk;
mod claim;
mod conditions;
mod cursors;
mod expiry;
mod list;
mod materialise;
mod model;
mod rows;
mod run;
mod slots;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDateTime;
use svc_ledger::{AlignRequest, ClaimKey, Cursor, HeldSlot, Settlement, Singleton};
use svc_model::Page;
use uuid::Uuid;

use crate::clock;
use crate::config::Backend;
use crate::database::Database;
use crate::error::StoreError;
use crate::group::CallQueue;
use crate::metrics::QueryOperation;
use crate::pool::TransactionFn;
use crate::repo::error_groups;
use crate::repo::mutation::AuditEntry;
use crate::repo::traces::{NewTrace, TraceEnd};
use crate::repo::{key, keyset};

pub(super) use cursors::pause;
pub use model::{
    AlignOutcome, Backlog, ChannelFacts, ClaimBatch, ExhaustedOccurrence, MaterialiseOutcome,
    MaterialiseRequest, OccurrenceClaim, OccurrenceFilter, OccurrencePage, OccurrenceRecord, OccurrenceRow,
    ScheduleStatus, StartResult,
};

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("ledger", method)
}

/// The cron ledger. Every call except a read returns after its commit. Every call fails with
/// [`StoreError::Unavailable`] while the database is away.
#[derive(Clone)]
pub struct Ledger {
    database: Database,
    queues: Arc<LedgerQueues>,
}

/// The waiting calls of the operations that every run needs.
pub(crate) struct LedgerQueues {
    materialise: Arc<CallQueue<MaterialiseRequest, MaterialiseOutcome>>,
    start: Arc<CallQueue<run::StartRunRequest, StartResult>>,
    settle: Arc<CallQueue<run::SettleRequest, bool>>,
}

impl LedgerQueues {
    pub(crate) fn new() -> Self {
        Self {
            materialise: Arc::new(CallQueue::new(
                |conn, orders| Box::pin(materialise::materialise_all(conn, orders)),
                |_| 0,
            )),
            start: Arc::new(CallQueue::new(
                |conn, runs| Box::pin(run::start_all(conn, runs)),
                run::StartRunRequest::bytes,
            )),
            settle: Arc::new(CallQueue::new(
                |conn, ends| Box::pin(run::settle_all(conn, ends)),
                run::SettleRequest::bytes,
            )),
        }
    }
}

impl Ledger {
    pub(crate) const fn new(database: Database, queues: Arc<LedgerQueues>) -> Self {
        Self { database, queues }
    }

    /// Makes a call in a group of the queue, or without one in a transaction of its own.
    async fn transact<I, T>(
        &self,
        operation: QueryOperation,
        queue: Option<&Arc<CallQueue<I, T>>>,
        input: Arc<I>,
        step: TransactionFn<Arc<I>, T>,
    ) -> Result<T, StoreError>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
    {
        match queue {
            Some(queue) => self.database.transact_grouped(operation, queue, input, step).await,
            None => self.database.transact(operation, input, step).await,
        }
    }

    /// Returns the kind of database.
    pub fn backend(&self) -> Backend {
        self.database.backend()
    }

    /// Returns the time of the database clock, in UTC.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn now(&self) -> Result<NaiveDateTime, StoreError> {
        self.database.read(operation("now"), |conn| Box::pin(clock::now(conn))).await
    }

    /// Returns every cursor, sorted by channel.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn cursors(&self) -> Result<Vec<Cursor>, StoreError> {
        self.database.read(operation("cursors"), |conn| Box::pin(cursors::load_cursors(conn))).await
    }

    /// Creates the cursor of a schedule, or takes it over according to [`Cursor::align`], and returns it.
    /// Writes nothing unless this version of the channel is active.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn align(&self, align: AlignRequest) -> Result<AlignOutcome, StoreError> {
        self.database
            .transact(operation("align"), align, |conn, align| Box::pin(cursors::align(conn, align)))
            .await
    }

    /// Records instants and moves the cursor past them, or does neither. An instant that is already recorded
    /// stays unchanged.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn materialise(&self, order: MaterialiseRequest) -> Result<MaterialiseOutcome, StoreError> {
        let step: TransactionFn<Arc<_>, _> = |conn, order| Box::pin(materialise::materialise(conn, order));
        let (is_grouped, order) = (order.fits_group(), Arc::new(order));
        self.transact(operation("materialise"), is_grouped.then_some(&self.queues.materialise), order, step)
            .await
    }

    /// Pauses the cursors that have been due for longer than `overdue` without a scheduler to move them, and
    /// returns them: cursors of channels without an active version, and cursors that rest at the caller and
    /// have not moved for as long.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn pause_stale(
        &self,
        resting: HashSet<String>,
        overdue: Duration,
    ) -> Result<Vec<String>, StoreError> {
        let stale = cursors::PauseStaleRequest { resting, overdue };
        let step: TransactionFn<_, _> = |conn, stale| Box::pin(cursors::pause_stale(conn, stale));
        self.database.transact(operation("pause_stale"), stale, step).await
    }

    /// Claims at most `limit` rows for `lease`, the longest due first: rows that are due and have no holder,
    /// and rows whose lease has expired. A row with more than `max_recoveries` expired leases is listed
    /// instead, for [`exhaust`](Self::exhaust); until then every claim lists it. Pending rows of the channels
    /// `except` are skipped; their rows with an expired lease are not.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement. A claim whose answer is lost is claimed
    /// again when its lease expires.
    pub async fn claim(
        &self,
        holder: &str,
        lease: Duration,
        limit: usize,
        max_recoveries: u32,
        except: Vec<String>,
    ) -> Result<ClaimBatch, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let take = claim::ClaimRequest { holder: holder.to_owned(), lease, limit, max_recoveries, except };
        let step: TransactionFn<_, _> = |conn, take| Box::pin(claim::claim(conn, take));
        self.database.transact(operation("claim"), take, step).await
    }

    /// Fails a row with more than `max_recoveries` expired leases, frees its slot, and accepts the follow-up
    /// work of the failure in the same transaction. Returns whether it did; if not, another worker was faster
    /// and nothing is written.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement. The next claim lists a row that was not
    /// failed again.
    pub async fn exhaust(
        &self,
        id: Uuid,
        max_recoveries: u32,
        report: Option<NewTrace>,
    ) -> Result<bool, StoreError> {
        let exhaust = claim::ExhaustRequest { id, max_recoveries, report };
        let step: TransactionFn<_, _> = |conn, exhaust| Box::pin(claim::exhaust(conn, exhaust));
        self.database.transact(operation("exhaust"), exhaust, step).await
    }

    /// Starts the run of a claim: takes a slot if there is a concurrency key, and writes the trace. The
    /// unfinished trace of an earlier run ends as failed.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement. Nothing was written if the database refused
    /// the trace.
    pub async fn start(
        &self,
        key: &ClaimKey,
        executing_version: i64,
        singleton: Option<&Singleton>,
        lease: Duration,
        trace: Option<NewTrace>,
    ) -> Result<StartResult, StoreError> {
        let (key, singleton) = (key.clone(), singleton.cloned());
        let run = run::StartRunRequest { key, executing_version, singleton, lease, trace };
        let step: TransactionFn<Arc<_>, _> = |conn, run| Box::pin(run::start(conn, run));
        let (is_grouped, run) = (run.fits_group(), Arc::new(run));
        self.transact(operation("start"), is_grouped.then_some(&self.queues.start), run, step).await
    }

    /// Renews the lease of a claim, and of the slot of its run, from now. Returns whether both still belong
    /// to the caller; if not, nothing is written.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn renew(
        &self,
        key: &ClaimKey,
        slot: Option<&HeldSlot>,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let renewal = run::RenewRequest { key: key.clone(), slot: slot.cloned(), lease };
        let step: TransactionFn<_, _> = |conn, renewal| Box::pin(run::renew(conn, renewal));
        self.database.transact(operation("renew"), renewal, step).await
    }

    /// Ends the run of a claim, frees its slot and ends its trace. Returns whether the claim was still valid;
    /// if not, nothing is written.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn settle(
        &self,
        key: &ClaimKey,
        slot: Option<&HeldSlot>,
        settlement: Settlement,
        trace: Option<TraceEnd>,
    ) -> Result<bool, StoreError> {
        self.settle_with(key, slot, settlement, trace, None).await
    }

    /// Ends a run like [`settle`](Self::settle), and accepts the follow-up work of a failure in the same
    /// transaction.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn settle_with(
        &self,
        key: &ClaimKey,
        slot: Option<&HeldSlot>,
        settlement: Settlement,
        trace: Option<TraceEnd>,
        report: Option<NewTrace>,
    ) -> Result<bool, StoreError> {
        error_groups::store_new(&self.database, settlement.error_group.iter().cloned().collect()).await;
        let settle = run::SettleRequest { key: key.clone(), slot: slot.cloned(), settlement, trace, report };
        let step: TransactionFn<Arc<_>, _> = |conn, settle| Box::pin(run::settle(conn, settle));
        let (is_grouped, settle) = (settle.fits_group(), Arc::new(settle));
        self.transact(operation("settle"), is_grouped.then_some(&self.queues.settle), settle, step).await
    }

    /// Gives back a claim that led to no run, with its slot, and deletes its trace unless that has ended: the
    /// row waits as if it had not been claimed. Returns whether the claim was still valid; if not, nothing is
    /// written.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn give_back(
        &self,
        claim: &OccurrenceClaim,
        slot: Option<&HeldSlot>,
    ) -> Result<bool, StoreError> {
        let back = run::GiveBackRequest { claim: claim.clone(), slot: slot.cloned() };
        self.database
            .transact(operation("give_back"), back, |conn, back| Box::pin(run::give_back(conn, back)))
            .await
    }

    /// Ends the trace of a run whose claim was lost, as failed. A trace that has ended stays unchanged.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn end_lost(&self, trace: Uuid) -> Result<(), StoreError> {
        let step: TransactionFn<_, _> = |conn, trace| Box::pin(run::end_lost(conn, *trace));
        self.database.transact(operation("end_lost"), trace, step).await
    }

    /// Returns a page of the occurrences that match the filter, in its order, and the number of all matches.
    /// With the cursor of a page, returns those after it, regardless of rows recorded in between.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 400 for an invalid cursor; the other variants if the database fails.
    pub async fn list(
        &self,
        filter: OccurrenceFilter,
        page: Page,
        cursor: Option<&str>,
    ) -> Result<OccurrencePage, StoreError> {
        let after = cursor.map(|cursor| keyset::decode(filter.cursor_kind(), cursor)).transpose()?;
        self.database
            .read(operation("list"), move |conn| {
                Box::pin(async move { list::list(conn, &filter, page, after).await })
            })
            .await
    }

    /// Returns the occurrence with this id.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn get(&self, id: &str) -> Result<Option<OccurrenceRecord>, StoreError> {
        let id = key(id);
        self.database
            .read(operation("get"), move |conn| Box::pin(async move { list::get(conn, &id).await }))
            .await
    }

    /// Makes another attempt at an occurrence possible, and returns its new state.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none, 409 unless it failed or was skipped; the other variants if the
    /// database fails.
    pub async fn retry(&self, id: &str, audit: AuditEntry) -> Result<OccurrenceRecord, StoreError> {
        let retry = admin::RetryRequest { id: key(id), audit };
        self.database
            .transact(operation("retry"), retry, |conn, retry| Box::pin(admin::retry(conn, retry)))
            .await
    }

    /// Records an occurrence that is due now, or at the next free instant of the channel, and returns it.
    /// Whole seconds are left to the schedule.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 409 if each of the next thousand instants is taken: milliseconds on SQLite,
    /// microseconds on PostgreSQL; the other variants if the database fails.
    pub async fn trigger(
        &self,
        channel: ChannelFacts,
        audit: AuditEntry,
    ) -> Result<OccurrenceRecord, StoreError> {
        let order = admin::TriggerRequest { channel, audit };
        self.database
            .transact(operation("trigger"), order, |conn, order| Box::pin(admin::trigger(conn, order)))
            .await
    }

    /// Returns the state of the schedules of these channels. Channels without a cursor are omitted.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn status(&self, ids: Vec<String>) -> Result<Vec<ScheduleStatus>, StoreError> {
        self.database
            .read(operation("status"), move |conn| Box::pin(async move { list::status(conn, &ids).await }))
            .await
    }

    /// Returns the number of held slots per concurrency key. Keys without held slots are omitted.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn slots_held(&self, keys: Vec<String>) -> Result<HashMap<String, i64>, StoreError> {
        self.database
            .read(operation("slots_held"), move |conn| {
                Box::pin(async move { list::slots_held(conn, &keys).await })
            })
            .await
    }

    /// Returns the occurrences that wait for a worker.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.database.read(operation("backlog"), |conn| Box::pin(list::backlog(conn))).await
    }

    /// Deletes the ended rows that were recorded more than `hours` ago, and returns their number. Works in
    /// steps of at most `chunk` rows, between which others can write.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement. Completed steps are kept.
    pub async fn delete_expired(&self, hours: u64, chunk: i64) -> Result<u64, StoreError> {
        let expire = expiry::ExpireRequest { hours, chunk };
        let mut deleted = 0;
        loop {
            let step: TransactionFn<_, _> = |conn, expire| Box::pin(expiry::delete_expired(conn, expire));
            let step = self.database.transact(operation("delete_expired"), expire, step).await?;
            deleted += step;
            if step < chunk.unsigned_abs() {
                return Ok(deleted);
            }
        }
    }
}
