//! The cron ledger: a durable row for each instant of a schedule, claimed under lease by one worker anywhere, kept
//! after it ended.
//!
//! The rules are those of [`svc_ledger`]: each act reads the rows under lock, applies them, and writes what they leave.
//! The queries find rows and never decide. The clock is the database's. On SQLite the writer runs every act, one after
//! the other; on PostgreSQL each is a short transaction of its own, so that one that waits for a row holds up nobody.
//! There rows are locked in one order: the channel, its cursor, then a concurrency key and its slots by number, then
//! occurrences. Whoever takes many occurrences passes over those that are locked. An act that others got in the way of,
//! which the database undid, is done again a few times.
//!
//! Committed rows survive a restart. Nothing here runs by itself.

mod admin;
mod claim;
mod cursors;
mod expiry;
mod list;
mod materialise;
mod model;
mod rows;
mod run;
mod slots;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use chrono::NaiveDateTime;
use svc_ledger::{AlignRequest, ClaimKey, Cursor, HeldSlot, Settlement, Singleton};
use svc_model::Page;
use uuid::Uuid;

use crate::clock;
use crate::config::Backend;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::pool::TransactionFn;
use crate::repo::mutation::AuditEntry;
use crate::repo::traces::{NewTrace, TraceEnd};
use crate::repo::{is_impossible, key, keyset};
use crate::store::Store;

pub(super) use cursors::pause;
pub use model::{
    AlignOutcome, Backlog, ChannelFacts, ClaimBatch, ExhaustedOccurrence, MaterialiseOutcome,
    MaterialiseRequest, OccurrenceClaim, OccurrenceFilter, OccurrencePage, OccurrenceRecord, OccurrenceRow,
    ScheduleStatus, StartResult,
};

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("ledger", method)
}

/// The cron ledger. Each call but a read answers after its commit; each fails with [`StoreError::Unavailable`] while
/// the database is away.
#[derive(Clone)]
pub struct Ledger(pub(crate) Store);

impl Ledger {
    /// The kind of database.
    pub fn backend(&self) -> Backend {
        self.0.backend()
    }

    /// The database clock, in UTC.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn now(&self) -> Result<NaiveDateTime, StoreError> {
        self.0.read(operation("now"), |conn| Box::pin(clock::now(conn))).await
    }

    /// Every cursor, by channel.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn cursors(&self) -> Result<Vec<Cursor>, StoreError> {
        self.0.read(operation("cursors"), |conn| Box::pin(cursors::load_cursors(conn))).await
    }

    /// Makes the cursor of a schedule, or takes it over as [`Cursor::align`] says; answers how it stands. Nothing is
    /// written unless that version of the channel is active.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn align(&self, align: AlignRequest) -> Result<AlignOutcome, StoreError> {
        self.0.transact(operation("align"), align, |conn, align| Box::pin(cursors::align(conn, align))).await
    }

    /// Puts instants on record and moves the cursor past them, or does neither. An instant that is on record stays as
    /// it is.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn materialise(&self, order: MaterialiseRequest) -> Result<MaterialiseOutcome, StoreError> {
        let step: TransactionFn<_, _> = |conn, order| Box::pin(materialise::materialise(conn, order));
        self.0.transact(operation("materialise"), order, step).await
    }

    /// Pauses the cursors that have been due for longer than `overdue` and have nobody to move them; answers which.
    /// Those are cursors of channels that have no active version, and of those that rest at the caller and that nobody
    /// has moved for as long.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn pause_stale(
        &self,
        resting: HashSet<String>,
        overdue: Duration,
    ) -> Result<Vec<String>, StoreError> {
        let stale = cursors::PauseStaleRequest { resting, overdue };
        let step: TransactionFn<_, _> = |conn, stale| Box::pin(cursors::pause_stale(conn, stale));
        self.0.transact(operation("pause_stale"), stale, step).await
    }

    /// Takes at most `limit` rows for `lease`, those due longest first: rows that are due and in nobody's hands, and
    /// rows in hands whose lease has ended. A row that has had more than `max_recoveries` leases end fails instead.
    /// Rows of the channels `except` are left alone while nobody has them.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer. Rows that were claimed all the same are claimed again when
    /// their lease has ended.
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
        let claim::ClaimResult { mut claims, exhausted } =
            self.0.transact(operation("claim"), take, step).await?;
        for id in exhausted {
            let exhaust = claim::ExhaustRequest { id, max_recoveries };
            let step: TransactionFn<_, _> = |conn, exhaust| Box::pin(claim::exhaust(conn, exhaust));
            // What could not be failed now is found again by the next claim; what is claimed must be heard of.
            if let Ok(exhausted) = self.0.transact(operation("exhaust"), exhaust, step).await {
                claims.exhausted.extend(exhausted);
            }
        }
        Ok(claims)
    }

    /// Begins the run of a claim: takes a slot where there is a key, and writes the trace. The trace of an earlier run
    /// that nobody ended ends as failed.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or refuses the trace; nothing was written then.
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
        self.0.transact(operation("start"), run, |conn, run| Box::pin(run::start(conn, run))).await
    }

    /// Holds a claim, and the slot of its run, for another lease from now; answers whether they are still the
    /// caller's. Where they are not, nothing was written.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn renew(
        &self,
        key: &ClaimKey,
        slot: Option<&HeldSlot>,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let renewal = run::RenewRequest { key: key.clone(), slot: slot.cloned(), lease };
        let step: TransactionFn<_, _> = |conn, renewal| Box::pin(run::renew(conn, renewal));
        self.0.transact(operation("renew"), renewal, step).await
    }

    /// Ends the run of a claim, frees its slot and ends its trace; answers whether the claim was still the caller's.
    /// If it was not, nothing was written.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn settle(
        &self,
        key: &ClaimKey,
        slot: Option<&HeldSlot>,
        settlement: Settlement,
        trace: Option<TraceEnd>,
    ) -> Result<bool, StoreError> {
        self.settle_with(key, slot, settlement, trace, None).await
    }

    /// As [`settle`](Self::settle), and accepts with it the work that follows from a failure.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn settle_with(
        &self,
        key: &ClaimKey,
        slot: Option<&HeldSlot>,
        settlement: Settlement,
        trace: Option<TraceEnd>,
        report: Option<NewTrace>,
    ) -> Result<bool, StoreError> {
        let settle = run::SettleRequest { key: key.clone(), slot: slot.cloned(), settlement, trace, report };
        self.0.transact(operation("settle"), settle, |conn, settle| Box::pin(run::settle(conn, settle))).await
    }

    /// Gives a claim back that led to no run, with its slot, and forgets its trace unless that has ended: the row waits
    /// as if it had not been claimed. Answers whether the claim was still the caller's; where it was not, nothing was
    /// written.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn give_back(
        &self,
        claim: &OccurrenceClaim,
        slot: Option<&HeldSlot>,
    ) -> Result<bool, StoreError> {
        let back = run::GiveBackRequest { claim: claim.clone(), slot: slot.cloned() };
        self.0.transact(operation("give_back"), back, |conn, back| Box::pin(run::give_back(conn, back))).await
    }

    /// Ends the trace of a run whose claim was lost, as failed; one that has ended stays as it is.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn end_lost(&self, trace: Uuid) -> Result<(), StoreError> {
        let step: TransactionFn<_, _> = |conn, trace| Box::pin(run::end_lost(conn, *trace));
        self.0.transact(operation("end_lost"), trace, step).await
    }

    /// The occurrences that pass the filter, newest first: a page of them, and how many there are in all. With the
    /// cursor of a page, those behind it, whatever was put on record in between.
    ///
    /// # Errors
    /// 400 for a cursor that is none.
    pub async fn list(
        &self,
        filter: OccurrenceFilter,
        page: Page,
        cursor: Option<&str>,
    ) -> Result<OccurrencePage, StoreError> {
        let after = cursor.map(keyset::decode).transpose()?;
        if is_impossible([&filter.channel_id, &filter.status]) {
            return Ok(OccurrencePage { rows: Vec::new(), total: 0, next_cursor: None });
        }
        self.0
            .read(operation("list"), move |conn| {
                Box::pin(async move { list::list(conn, &filter, page, after).await })
            })
            .await
    }

    /// The occurrence of that id.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn get(&self, id: &str) -> Result<Option<OccurrenceRecord>, StoreError> {
        let id = key(id);
        self.0.read(operation("get"), move |conn| Box::pin(async move { list::get(conn, &id).await })).await
    }

    /// Makes another attempt at an occurrence possible; answers what it is then.
    ///
    /// # Errors
    /// 404 when there is none; 409 unless it failed or was skipped.
    pub async fn retry(&self, id: &str, audit: AuditEntry) -> Result<OccurrenceRecord, StoreError> {
        let retry = admin::RetryRequest { id: key(id), audit };
        self.0.transact(operation("retry"), retry, |conn, retry| Box::pin(admin::retry(conn, retry))).await
    }

    /// Puts an occurrence on record that is due now, or at the next instant the channel has free; answers it. Whole
    /// seconds are left to the schedule.
    ///
    /// # Errors
    /// 409 when each of the next thousand instants, milliseconds on SQLite and microseconds on PostgreSQL, is taken.
    pub async fn trigger(
        &self,
        channel: ChannelFacts,
        audit: AuditEntry,
    ) -> Result<OccurrenceRecord, StoreError> {
        let order = admin::TriggerRequest { channel, audit };
        self.0
            .transact(operation("trigger"), order, |conn, order| Box::pin(admin::trigger(conn, order)))
            .await
    }

    /// Reads the status of the schedules of these channels; one without a cursor is omitted.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn status(&self, ids: Vec<String>) -> Result<Vec<ScheduleStatus>, StoreError> {
        self.0
            .read(operation("status"), move |conn| Box::pin(async move { list::status(conn, &ids).await }))
            .await
    }

    /// Counts the held slots of each concurrency key; a key without any is omitted.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn slots_held(&self, keys: Vec<String>) -> Result<HashMap<String, i64>, StoreError> {
        self.0
            .read(operation("slots_held"), move |conn| {
                Box::pin(async move { list::slots_held(conn, &keys).await })
            })
            .await
    }

    /// The occurrences that wait for a worker.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.0.read(operation("backlog"), |conn| Box::pin(list::backlog(conn))).await
    }

    /// Deletes what has ended and was put on record more than so many hours ago; answers how many. Works in steps of
    /// at most `chunk` rows, between which others write.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer; earlier steps are kept.
    pub async fn delete_expired(&self, hours: u64, chunk: i64) -> Result<u64, StoreError> {
        let expire = expiry::ExpireRequest { hours, chunk };
        let mut deleted = 0;
        loop {
            let step: TransactionFn<_, _> = |conn, expire| Box::pin(expiry::delete_expired(conn, expire));
            let step = self.0.transact(operation("delete_expired"), expire, step).await?;
            deleted += step;
            if step < chunk.unsigned_abs() {
                return Ok(deleted);
            }
        }
    }
}
