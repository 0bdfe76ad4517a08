//! The cron ledger: a durable row for each instant of a schedule, claimed under a lease by one worker of any
//! node, and kept after its end.
//!
//! The rules are those of [`svc_ledger`]. Each operation reads the rows under lock, applies the rules, and
//! writes the result. The queries find rows and never decide. The clock is that of the database. A call of an operation is
//! a value with its step (`LedgerCall` of `group/call.rs`); [`Ledger`] makes it.
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

pub(super) mod admin;
mod backfill;
mod bulk;
mod bulk_rows;
pub(super) mod cancel;
mod claim;
mod conditions;
mod cursors;
mod expiry;
mod instant_facts;
mod keys;
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
use svc_ledger::{AlignRequest, ClaimKey, Cursor, HeldSlot, InstantFacts, Settlement, Singleton};
use svc_model::Page;
use uuid::Uuid;

use crate::clock;
use crate::config::Backend;
use crate::database::Database;
use crate::error::StoreError;
use crate::group::CallQueue;
use crate::metrics::QueryOperation;
use crate::repo::error_groups;
use crate::repo::mutation::AuditEntry;
use crate::repo::traces::cancel::record_in_flight;
use crate::repo::traces::{NewTrace, RerunVersion, TraceEnd};
use crate::repo::{key, keyset};
use crate::writer::UnitOutcome;

use admin::{RetryRequest, TriggerRequest};
pub use backfill::ScheduleHistory;
pub(super) use backfill::{backfill, count_open};
pub(super) use bulk_rows::retry_each;
use cancel::CancelRequest;
use claim::{ClaimRequest, ExhaustRequest};
use cursors::PauseStaleRequest;
pub(super) use cursors::pause;
use expiry::ExpireRequest;
pub use model::{
    AlignOutcome, Backlog, ChannelFacts, ClaimBatch, ExhaustedOccurrence, InstantRequest, MaterialiseOutcome,
    MaterialiseRequest, OccurrenceCancel, OccurrenceClaim, OccurrenceFilter, OccurrencePage,
    OccurrenceRecord, OccurrenceRow, OpenOccurrenceCancel, ScheduleStatus, StartResult,
};
use run::{EndLostRequest, GiveBackRequest, RenewRequest, SettleRequest, StartRunRequest};

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("ledger", method)
}

/// The cron ledger. Every call except a read returns after its commit.
///
/// # Errors
/// Every call fails with [`StoreError::Unavailable`] while the database is away, and with [`StoreError::Database`] if it
/// refuses a statement; nothing is written then. A call that writes fails with [`StoreError::Unanswered`] if its answer
/// is lost. Calls with further errors name them.
#[derive(Clone)]
pub struct Ledger {
    database: Database,
    queues: Arc<LedgerQueues>,
}

/// The waiting calls of the operations that every run needs.
#[derive(Default)]
pub(crate) struct LedgerQueues {
    materialise: Arc<CallQueue<MaterialiseRequest>>,
    start: Arc<CallQueue<StartRunRequest>>,
    settle: Arc<CallQueue<SettleRequest>>,
}

impl Ledger {
    pub(crate) const fn new(database: Database, queues: Arc<LedgerQueues>) -> Self {
        Self { database, queues }
    }

    /// Returns the kind of database.
    pub fn backend(&self) -> Backend {
        self.database.backend()
    }

    /// Returns the time of the database clock, in UTC.
    pub async fn now(&self) -> Result<NaiveDateTime, StoreError> {
        self.database.read(operation("now"), |conn| Box::pin(clock::now(conn))).await
    }

    /// Returns every cursor, sorted by channel.
    pub async fn cursors(&self) -> Result<Vec<Cursor>, StoreError> {
        self.database.read(operation("cursors"), |conn| Box::pin(cursors::load_cursors(conn))).await
    }

    /// Creates the cursor of a schedule, or takes it over according to [`Cursor::align`], and returns it.
    /// Writes nothing unless this version of the channel is active.
    pub async fn align(&self, align: AlignRequest) -> Result<AlignOutcome, StoreError> {
        self.database.call(operation("align"), align).await
    }

    /// Records instants and moves the cursor past them, or does neither. An instant that is already recorded
    /// stays unchanged.
    pub async fn materialise(&self, order: MaterialiseRequest) -> Result<MaterialiseOutcome, StoreError> {
        self.database.call_grouped(operation("materialise"), &self.queues.materialise, order).await
    }

    /// Pauses the cursors that have been due for longer than `overdue` without a scheduler to move them, and
    /// returns them: cursors of channels without an active version, and cursors that rest at the caller and
    /// have not moved for as long.
    pub async fn pause_stale(
        &self,
        resting: HashSet<String>,
        overdue: Duration,
    ) -> Result<Vec<String>, StoreError> {
        self.database.call(operation("pause_stale"), PauseStaleRequest { resting, overdue }).await
    }

    /// Claims at most `limit` rows for `lease`, the longest due first, backfilled ones last: rows that are due and have
    /// no holder, and rows whose lease has expired. A row with more than `max_recoveries` expired leases is listed
    /// instead, for [`exhaust`](Self::exhaust); until then every claim lists it. Pending rows of the channels
    /// `except` are skipped; their rows with an expired lease are not. A claim whose answer is lost is claimed
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
        let holder = holder.to_owned();
        self.database
            .call(operation("claim"), ClaimRequest { holder, lease, limit, max_recoveries, except })
            .await
    }

    /// Fails a row with more than `max_recoveries` expired leases, frees its slot, and accepts the follow-up
    /// work of the failure in the same transaction. Returns whether it did; if not, another worker was faster
    /// and nothing is written. The next claim lists a row that was not failed again.
    pub async fn exhaust(
        &self,
        id: Uuid,
        max_recoveries: u32,
        report: Option<NewTrace>,
    ) -> Result<bool, StoreError> {
        self.database.call(operation("exhaust"), ExhaustRequest { id, max_recoveries, report }).await
    }

    /// Starts the run of a claim: takes a slot if there is a concurrency key, and writes the trace. The
    /// unfinished trace of an earlier run ends as failed. Nothing is written if the database refuses the trace.
    pub async fn start(
        &self,
        key: &ClaimKey,
        executing_version: i64,
        singleton: Option<&Singleton>,
        lease: Duration,
        trace: Option<NewTrace>,
    ) -> Result<StartResult, StoreError> {
        let (key, singleton, waits_for_slot) = (key.clone(), singleton.cloned(), false);
        let run = StartRunRequest { key, executing_version, singleton, waits_for_slot, lease, trace };
        self.database.call_grouped(operation("start"), &self.queues.start, run).await
    }

    /// Starts the run of a backfilled occurrence like [`start`](Self::start). Without a free slot the row waits for one
    /// in place of being skipped.
    pub async fn start_backfilled(
        &self,
        key: &ClaimKey,
        executing_version: i64,
        singleton: Option<&Singleton>,
        lease: Duration,
        trace: Option<NewTrace>,
    ) -> Result<StartResult, StoreError> {
        let (key, singleton, waits_for_slot) = (key.clone(), singleton.cloned(), true);
        let run = StartRunRequest { key, executing_version, singleton, waits_for_slot, lease, trace };
        self.database.call_grouped(operation("start"), &self.queues.start, run).await
    }

    /// Renews the lease of a claim, and of the slot of its run, from now. Returns whether both still belong
    /// to the caller; if not, nothing is written.
    pub async fn renew(
        &self,
        key: &ClaimKey,
        slot: Option<&HeldSlot>,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        self.database
            .call(operation("renew"), RenewRequest { key: key.clone(), slot: slot.cloned(), lease })
            .await
    }

    /// Ends the run of a claim, frees its slot, ends its trace, and accepts the follow-up work of a failure in the
    /// same transaction. Returns whether the claim was still valid; if not, nothing is written.
    pub async fn settle(
        &self,
        key: &ClaimKey,
        slot: Option<&HeldSlot>,
        settlement: Settlement,
        trace: Option<TraceEnd>,
        report: Option<NewTrace>,
    ) -> Result<bool, StoreError> {
        let group = settlement.error_group.clone();
        error_groups::store_new(&self.database, group.iter().cloned().collect()).await;
        let end = SettleRequest { key: key.clone(), slot: slot.cloned(), settlement, trace, report };
        let settled = self.database.call_grouped(operation("settle"), &self.queues.settle, end).await;
        self.database.failure_tally().count(group.as_deref(), matches!(settled, Ok(true)));
        settled
    }

    /// Gives back a claim that led to no run, with its slot, and deletes its trace unless that has ended: the
    /// row waits as if it had not been claimed. Returns whether the claim was still valid; if not, nothing is
    /// written.
    pub async fn give_back(
        &self,
        claim: &OccurrenceClaim,
        slot: Option<&HeldSlot>,
    ) -> Result<bool, StoreError> {
        let (claim, slot) = (claim.clone(), slot.cloned());
        let request = GiveBackRequest { claim, slot, awaited_channel: None };
        self.database.call(operation("give_back"), request).await
    }

    /// Gives back a claim like [`give_back`](Self::give_back) whose run called a paused channel: no node claims the
    /// row before that channel is resumed, which frees it. If it is not paused any more, the row waits as if it had not been
    /// claimed.
    pub async fn give_back_until_resume(
        &self,
        claim: &OccurrenceClaim,
        slot: Option<&HeldSlot>,
        channel_id: &str,
    ) -> Result<bool, StoreError> {
        let (claim, slot) = (claim.clone(), slot.cloned());
        let request = GiveBackRequest { claim, slot, awaited_channel: Some(key(channel_id)) };
        self.database.call(operation("give_back"), request).await
    }

    /// Ends the trace of a run whose claim was lost, as failed. A trace that has ended stays unchanged.
    pub async fn end_lost(&self, trace: Uuid) -> Result<(), StoreError> {
        self.database.call(operation("end_lost"), EndLostRequest { trace }).await
    }

    /// Names the calls, as JSON, that had left when the run of a cancelled occurrence was dropped.
    pub async fn record_in_flight(&self, trace: Uuid, in_flight_json: String) -> Result<(), StoreError> {
        self.database
            .write(operation("record_in_flight"), move |conn| {
                Box::pin(async move {
                    let ids = vec![trace.to_string()];
                    record_in_flight(conn, ids, in_flight_json).await.map(UnitOutcome::Keep)
                })
            })
            .await
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
    pub async fn get(&self, id: &str) -> Result<Option<OccurrenceRecord>, StoreError> {
        let id = key(id);
        self.database
            .read(operation("get"), move |conn| Box::pin(async move { list::get(conn, &id).await }))
            .await
    }

    /// Makes another attempt at an occurrence possible, with a version of its workflow, and returns its new state.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none, 409 unless it failed, was skipped or cancelled, 400 for an unknown
    /// version; the other variants if the database fails.
    pub async fn retry(
        &self,
        id: &str,
        version: RerunVersion,
        audit: AuditEntry,
    ) -> Result<OccurrenceRecord, StoreError> {
        self.database.call(operation("retry"), RetryRequest { id: key(id), version, audit }).await
    }

    /// Cancels an occurrence, and returns its new state. One that is held under a live lease gets the order, which its
    /// holder carries out. Idempotent until it has ended. Without an audit row for an order that is on record already.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none, 409 if it has ended; the other variants if the database fails.
    pub async fn cancel(
        &self,
        order: OccurrenceCancel,
        audit: Option<AuditEntry>,
    ) -> Result<OccurrenceRecord, StoreError> {
        let order = OccurrenceCancel { id: key(&order.id), ..order };
        self.database.call(operation("cancel"), CancelRequest { order, audit }).await
    }

    /// Returns the orders to cancel that are not carried out yet and concern `holder`: for its own attempts, and for
    /// occurrences that no process holds under a live lease.
    pub async fn open_cancels(&self, holder: &str) -> Result<Vec<OpenOccurrenceCancel>, StoreError> {
        let holder = holder.to_owned();
        self.database
            .read(operation("open_cancels"), move |conn| {
                Box::pin(async move { cancel::list_open(conn, &holder).await })
            })
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
        self.database.call(operation("trigger"), TriggerRequest { channel, audit }).await
    }

    /// Returns what is known of a schedule, with its rows from an instant to another, both inclusive.
    pub async fn history(
        &self,
        channel_id: &str,
        range: (NaiveDateTime, NaiveDateTime),
    ) -> Result<ScheduleHistory, StoreError> {
        let channel_id = key(channel_id);
        self.database
            .read(operation("history"), move |conn| {
                Box::pin(async move { backfill::read_history(conn, &channel_id, range).await })
            })
            .await
    }

    /// Returns the state of the schedules of these channels. Channels without a cursor are omitted.
    pub async fn status(&self, ids: Vec<String>) -> Result<Vec<ScheduleStatus>, StoreError> {
        self.database
            .read(operation("status"), move |conn| Box::pin(async move { list::status(conn, &ids).await }))
            .await
    }

    /// Returns the facts about an instant of a schedule, read in one transaction. Those that the database does not have
    /// (quarantine, instants of the schedule, clock of the node, retention) are for the caller to add.
    pub async fn instant_facts(&self, request: InstantRequest) -> Result<InstantFacts, StoreError> {
        self.database.call(operation("instant_facts"), request).await
    }

    /// Returns the number of held slots per concurrency key. Keys without held slots are omitted.
    pub async fn slots_held(&self, keys: Vec<String>) -> Result<HashMap<String, i64>, StoreError> {
        self.database
            .read(operation("slots_held"), move |conn| {
                Box::pin(async move { list::slots_held(conn, &keys).await })
            })
            .await
    }

    /// Returns the occurrences that wait for a worker.
    pub async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.database.read(operation("backlog"), |conn| Box::pin(list::backlog(conn))).await
    }

    /// Deletes the ended rows that were recorded more than `hours` ago, and returns their number. Works in
    /// steps of at most `chunk` rows, between which others can write. Completed steps are kept after an error.
    pub async fn delete_expired(&self, hours: u64, chunk: i64) -> Result<u64, StoreError> {
        let mut deleted = 0;
        loop {
            let step =
                self.database.call(operation("delete_expired"), ExpireRequest { hours, chunk }).await?;
            deleted += step;
            if step < chunk.unsigned_abs() {
                return Ok(deleted);
            }
        }
    }
}
