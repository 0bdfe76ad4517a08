//! Writes of a run: each takes effect only while its claim is valid.

use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_ledger::{
    ClaimKey, ConcurrencySlot, HeldSlot, OccurrenceStatus, Settlement, Singleton, StartOutcome, StartRequest,
};
use uuid::Uuid;

use super::model::{OccurrenceClaim, StartResult};
use super::{rows, slots};
use crate::clock;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::group::{CallGroup, GroupAnswer, LedgerCall, SingleCall};
use crate::repo::channel_pauses::hold_pause;
use crate::repo::traces::{NewTrace, TraceEnd, TraceStatus, TraceWrite, forget_unfinished};
use crate::schema::cron_occurrences;

/// Error message of a trace whose run was lost.
const LOST: &str = "the run was lost: its lease ended before it did";

/// Starts the run of a claim.
pub(super) struct StartRunRequest {
    pub(super) key: ClaimKey,
    pub(super) executing_version: i64,
    pub(super) singleton: Option<Singleton>,
    pub(super) waits_for_slot: bool,
    pub(super) lease: Duration,
    pub(super) trace: Option<NewTrace>,
}

impl StartRunRequest {
    /// Returns the request as the rules take it.
    fn for_rules<'r>(&'r self, slots: &'r [ConcurrencySlot], now: NaiveDateTime) -> StartRequest<'r> {
        StartRequest {
            version: self.executing_version,
            singleton: self.singleton.as_ref().map(|singleton| (singleton, slots)),
            waits_for_slot: self.waits_for_slot,
            trace_id: self.trace.as_ref().map(|trace| trace.id),
            lease: self.lease,
            now,
        }
    }
}

impl LedgerCall for StartRunRequest {
    type Answer = StartResult;

    /// A run with a concurrency key has slots to lock.
    fn joins_group(&self) -> bool {
        self.singleton.is_none()
    }

    fn bytes(&self) -> usize {
        self.trace.as_ref().map_or(0, NewTrace::bytes)
    }

    /// Leaves a run that takes a lost one over to a call that is alone: it ends the trace of the lost one, another row
    /// to lock.
    async fn run(
        group: &CallGroup<Self>,
        conn: &mut Conn,
    ) -> Result<Vec<GroupAnswer<StartResult>>, StoreError> {
        let runs = &group.calls;
        let slots = lock_slots(conn, runs).await?;
        let keys: Vec<&ClaimKey> = runs.iter().map(|run| &run.key).collect();
        let mut locked = rows::lock_claimed(conn, &keys, group.is_alone).await?;
        if locked.is_empty() {
            return Ok(runs.iter().map(|_| group.answer_absent(StartResult::Lost)).collect());
        }
        let now = clock::now(conn).await?;
        let mut answers = Vec::with_capacity(runs.len());
        let (mut changed, mut taken, mut traces) = (Vec::new(), Vec::new(), Vec::new());
        for run in runs {
            let Some((mut row, facts)) = locked.remove(&run.key.id) else {
                answers.push(group.answer_absent(StartResult::Lost));
                continue;
            };
            let is_ready = row.is_held(&run.key) && row.status == OccurrenceStatus::Claimed;
            if let Some(reports) = facts.cancel_order().filter(|_| is_ready) {
                answers.push(GroupAnswer::Done(StartResult::Cancelled { reports }));
                continue;
            }
            let lost = row.trace_id;
            if lost.is_some() && !group.is_alone {
                answers.push(GroupAnswer::Alone);
                continue;
            }
            let result = match row.start(&run.key, run.for_rules(&slots, now)) {
                StartOutcome::Lost => StartResult::Lost,
                StartOutcome::Saturated => {
                    changed.push(row);
                    StartResult::Saturated
                }
                StartOutcome::Waits => {
                    changed.push(row);
                    StartResult::Waits
                }
                StartOutcome::Running(slot) => {
                    let result = StartResult::Running { slot: row.slot.clone(), started_at: now };
                    changed.push(row);
                    taken.extend(run.singleton.as_ref().zip(slot));
                    traces.extend(lost.map(end_as_lost));
                    traces.extend(run.trace.clone().map(|trace| TraceWrite::Insert(trace.into())));
                    result
                }
            };
            answers.push(GroupAnswer::Done(result));
        }
        for (singleton, slot) in &taken {
            slots::save(conn, &singleton.key, slot, now).await?;
        }
        rows::save_all(conn, &changed, now).await?;
        TraceWrite::apply_all(&Arc::new(traces), conn).await?;
        Ok(answers)
    }
}

/// Locks the slots of the concurrency key, which only a call that is alone has.
async fn lock_slots(
    conn: &mut Conn,
    runs: &[Arc<StartRunRequest>],
) -> Result<Vec<ConcurrencySlot>, StoreError> {
    match runs.first().and_then(|run| run.singleton.as_ref()) {
        Some(singleton) => slots::lock(conn, &singleton.key).await,
        None => Ok(Vec::new()),
    }
}

/// Returns the end of the trace of a run without an end. A trace that has ended stays unchanged.
fn end_as_lost(trace: Uuid) -> TraceWrite {
    TraceWrite::Finish(TraceEnd {
        id: trace,
        status: TraceStatus::Failed,
        result_json: None,
        error_message: Some(LOST.into()),
        error_code: None,
        error_group: None,
        duration_ms: None,
        task_trace_json: None,
        workflow: None,
        ownership: None,
    })
}

/// Ends the trace of a run that was lost.
pub(super) struct EndLostRequest {
    pub(super) trace: Uuid,
}

impl SingleCall for EndLostRequest {
    type Answer = ();

    async fn run(&self, conn: &mut Conn) -> Result<(), StoreError> {
        end_as_lost(self.trace).apply(conn).await?;
        Ok(())
    }
}

/// Renews the lease of a claim and of its slot.
pub(super) struct RenewRequest {
    pub(super) key: ClaimKey,
    pub(super) slot: Option<HeldSlot>,
    pub(super) lease: Duration,
}

impl SingleCall for RenewRequest {
    type Answer = bool;

    async fn run(&self, conn: &mut Conn) -> Result<bool, StoreError> {
        let mut slot = match &self.slot {
            Some(held) => slots::lock_one(conn, held).await?,
            None => None,
        };
        let Some(mut row) = rows::lock_held(conn, &self.key).await? else { return Ok(false) };
        let now = clock::now(conn).await?;
        let renewed_slot = self.slot.as_ref().map(|held| (held, slot.as_mut()));
        if !row.renew(&self.key, renewed_slot, self.lease, now) {
            return Ok(false);
        }
        if let (Some(renewed_slot), Some(slot)) = (&self.slot, &slot) {
            slots::save(conn, &renewed_slot.key, slot, now).await?;
        }
        rows::save(conn, &row, now).await?;
        Ok(true)
    }
}

/// Ends the run of a claim.
pub(super) struct SettleRequest {
    pub(super) key: ClaimKey,
    pub(super) slot: Option<HeldSlot>,
    pub(super) settlement: Settlement,
    pub(super) trace: Option<TraceEnd>,
    pub(super) report: Option<NewTrace>,
}

impl LedgerCall for SettleRequest {
    type Answer = bool;

    /// A slot is another row to lock; follow-up work is rare.
    fn joins_group(&self) -> bool {
        self.slot.is_none() && self.report.is_none()
    }

    fn bytes(&self) -> usize {
        self.trace.as_ref().map_or(0, TraceEnd::bytes)
    }

    async fn run(group: &CallGroup<Self>, conn: &mut Conn) -> Result<Vec<GroupAnswer<bool>>, StoreError> {
        let ends = &group.calls;
        for end in ends {
            if let Some(held) = &end.slot {
                slots::lock_one(conn, held).await?;
            }
        }
        let keys: Vec<&ClaimKey> = ends.iter().map(|end| &end.key).collect();
        let mut locked = rows::lock_claimed(conn, &keys, group.is_alone).await?;
        if locked.is_empty() {
            return Ok(ends.iter().map(|_| group.answer_absent(false)).collect());
        }
        let now = clock::now(conn).await?;
        let mut answers = Vec::with_capacity(ends.len());
        let (mut settled, mut freed, mut traces) = (Vec::new(), Vec::new(), Vec::new());
        for end in ends {
            let Some((mut row, _)) = locked.remove(&end.key.id) else {
                answers.push(group.answer_absent(false));
                continue;
            };
            let settles = row.settle(&end.key, end.settlement.clone(), now);
            if settles {
                freed.extend(end.slot.as_ref().map(|held| (held, row.id)));
                settled.push(row);
                traces.extend(end.trace.clone().map(TraceWrite::Finish));
                traces.extend(end.report.clone().map(|report| TraceWrite::Insert(report.into())));
            }
            answers.push(GroupAnswer::Done(settles));
        }
        rows::save_all(conn, &settled, now).await?;
        for (held, occurrence) in freed {
            slots::free(conn, held, occurrence).await?;
        }
        TraceWrite::apply_all(&Arc::new(traces), conn).await?;
        Ok(answers)
    }
}

/// Gives back a claim that led to no run.
pub(super) struct GiveBackRequest {
    pub(super) claim: OccurrenceClaim,
    pub(super) slot: Option<HeldSlot>,
    /// The paused channel that its run called. The row rests until that one is resumed.
    pub(super) awaited_channel: Option<String>,
}

impl SingleCall for GiveBackRequest {
    type Answer = bool;

    async fn run(&self, conn: &mut Conn) -> Result<bool, StoreError> {
        let awaited = match &self.awaited_channel {
            Some(channel) if hold_pause(conn, channel).await? => Some(channel),
            _ => None,
        };
        if let Some(held) = &self.slot {
            slots::lock_one(conn, held).await?;
        }
        let Some(mut row) = rows::lock_held(conn, &self.claim.key).await? else { return Ok(false) };
        let now = clock::now(conn).await?;
        let trace = row.trace_id;
        if !row.give_back(&self.claim.key, self.claim.raised) {
            return Ok(false);
        }
        rows::save(conn, &row, now).await?;
        if let Some(channel) = awaited {
            let rests = cron_occurrences::awaited_channel.eq(channel);
            let row = cron_occurrences::table.find(row.id.to_string());
            on!(conn, c => diesel::update(row).set(rests).execute(c).await)?;
        }
        if let Some(held) = &self.slot {
            slots::free(conn, held, row.id).await?;
        }
        // A run that did not happen must not leave an unfinished trace.
        if let (Some(trace), None) = (trace, row.trace_id) {
            forget_unfinished(conn, trace).await?;
        }
        Ok(true)
    }
}
