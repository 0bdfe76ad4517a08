//! Writes of a run: each takes effect only while its claim is valid.

use std::sync::Arc;
use std::time::Duration;

use svc_ledger::{ClaimKey, HeldSlot, Settlement, Singleton, StartOutcome, StartRequest};

use super::model::{OccurrenceClaim, StartResult};
use super::{rows, slots};
use crate::clock;
use crate::conn::Conn;
use crate::error::StoreError;
use crate::group::GroupAnswer;
use crate::repo::traces::{NewTrace, TraceEnd, TraceStatus, TraceWrite, forget_unfinished};

/// Error message of a trace whose run was lost.
const LOST: &str = "the run was lost: its lease ended before it did";

pub(super) struct StartRunRequest {
    pub(super) key: ClaimKey,
    pub(super) executing_version: i64,
    pub(super) singleton: Option<Singleton>,
    pub(super) lease: Duration,
    pub(super) trace: Option<NewTrace>,
}

impl StartRunRequest {
    /// Returns true if the run can be started in a group: it has no slots to lock.
    pub(super) fn fits_group(&self) -> bool {
        self.singleton.is_none()
    }

    pub(super) fn bytes(&self) -> usize {
        self.trace.as_ref().map_or(0, NewTrace::bytes)
    }
}

pub(super) async fn start(conn: &mut Conn, run: &StartRunRequest) -> Result<StartResult, StoreError> {
    let slots = match &run.singleton {
        Some(singleton) => slots::lock(conn, &singleton.key).await?,
        None => Vec::new(),
    };
    let Some(mut row) = rows::lock_held(conn, &run.key).await? else { return Ok(StartResult::Lost) };
    let now = clock::now(conn).await?;
    let before = row.trace_id;
    let started = row.start(
        &run.key,
        StartRequest {
            version: run.executing_version,
            singleton: run.singleton.as_ref().map(|singleton| (singleton, slots.as_slice())),
            trace_id: run.trace.as_ref().map(|trace| trace.id),
            lease: run.lease,
            now,
        },
    );
    let slot = match started {
        StartOutcome::Lost => return Ok(StartResult::Lost),
        StartOutcome::Saturated => {
            rows::save(conn, &row, now).await?;
            return Ok(StartResult::Saturated);
        }
        StartOutcome::Running(slot) => slot,
    };
    if let (Some(singleton), Some(slot)) = (&run.singleton, &slot) {
        slots::save(conn, &singleton.key, slot, now).await?;
    }
    rows::save(conn, &row, now).await?;
    if let Some(lost) = before {
        end_lost(conn, lost).await?;
    }
    if let Some(trace) = &run.trace {
        TraceWrite::Insert(trace.clone()).apply(conn).await?;
    }
    Ok(StartResult::Running { slot: row.slot, started_at: now })
}

/// Starts the runs of a group. None has a concurrency key. One that takes a lost run over ends its trace, which is left to
/// [`start`].
pub(super) async fn start_all(
    conn: &mut Conn,
    runs: &[Arc<StartRunRequest>],
) -> Result<Vec<GroupAnswer<StartResult>>, StoreError> {
    let mut locked = rows::lock_all(conn, runs.iter().map(|run| run.key.id)).await?;
    let now = clock::now(conn).await?;
    let (mut started, mut traces) = (Vec::new(), Vec::new());
    let answers = runs.iter().map(|run| {
        let Some(mut row) = locked.remove(&run.key.id) else { return GroupAnswer::LeftOut };
        if row.trace_id.is_some() {
            return GroupAnswer::Alone;
        }
        let trace_id = run.trace.as_ref().map(|trace| trace.id);
        let (version, lease) = (run.executing_version, run.lease);
        match row.start(&run.key, StartRequest { version, singleton: None, trace_id, lease, now }) {
            StartOutcome::Running(_) => {
                started.push(row);
                traces.extend(run.trace.clone().map(TraceWrite::Insert));
                GroupAnswer::Done(StartResult::Running { slot: None, started_at: now })
            }
            StartOutcome::Saturated | StartOutcome::Lost => GroupAnswer::Done(StartResult::Lost),
        }
    });
    let answers = answers.collect();
    rows::save_all(conn, &started, now).await?;
    TraceWrite::apply_all(&Arc::new(traces), conn).await?;
    Ok(answers)
}

/// Ends the trace of a run without an end. A trace that has ended stays unchanged.
pub(super) async fn end_lost(conn: &mut Conn, id: uuid::Uuid) -> Result<(), StoreError> {
    let end = TraceEnd {
        id,
        status: TraceStatus::Failed,
        result_json: None,
        error_message: Some(LOST.into()),
        error_code: None,
        error_group: None,
        duration_ms: None,
        task_trace_json: None,
        workflow: None,
        ownership: None,
    };
    TraceWrite::Finish(end).apply(conn).await?;
    Ok(())
}

pub(super) struct RenewRequest {
    pub(super) key: ClaimKey,
    pub(super) slot: Option<HeldSlot>,
    pub(super) lease: Duration,
}

pub(super) async fn renew(conn: &mut Conn, renewal: &RenewRequest) -> Result<bool, StoreError> {
    let mut slot = match &renewal.slot {
        Some(held) => slots::lock_one(conn, held).await?,
        None => None,
    };
    let Some(mut row) = rows::lock_held(conn, &renewal.key).await? else { return Ok(false) };
    let now = clock::now(conn).await?;
    let renewed_slot = renewal.slot.as_ref().map(|held| (held, slot.as_mut()));
    if !row.renew(&renewal.key, renewed_slot, renewal.lease, now) {
        return Ok(false);
    }
    if let (Some(renewed_slot), Some(slot)) = (&renewal.slot, &slot) {
        slots::save(conn, &renewed_slot.key, slot, now).await?;
    }
    rows::save(conn, &row, now).await?;
    Ok(true)
}

pub(super) struct SettleRequest {
    pub(super) key: ClaimKey,
    pub(super) slot: Option<HeldSlot>,
    pub(super) settlement: Settlement,
    pub(super) trace: Option<TraceEnd>,
    pub(super) report: Option<NewTrace>,
}

impl SettleRequest {
    /// Returns true if the run can be ended in a group: it has no slot to lock and no follow-up work.
    pub(super) fn fits_group(&self) -> bool {
        self.slot.is_none() && self.report.is_none()
    }

    pub(super) fn bytes(&self) -> usize {
        self.trace.as_ref().map_or(0, TraceEnd::bytes)
    }
}

pub(super) async fn settle(conn: &mut Conn, settle: &SettleRequest) -> Result<bool, StoreError> {
    if let Some(held) = &settle.slot {
        slots::lock_one(conn, held).await?;
    }
    let Some(mut row) = rows::lock_held(conn, &settle.key).await? else { return Ok(false) };
    let now = clock::now(conn).await?;
    if !row.settle(&settle.key, settle.settlement.clone(), now) {
        return Ok(false);
    }
    rows::save(conn, &row, now).await?;
    if let Some(held) = &settle.slot {
        slots::free(conn, held, row.id).await?;
    }
    if let Some(end) = &settle.trace {
        TraceWrite::Finish(end.clone()).apply(conn).await?;
    }
    if let Some(report) = &settle.report {
        TraceWrite::Insert(report.clone()).apply(conn).await?;
    }
    Ok(true)
}

/// Ends the runs of a group. None holds a slot or has follow-up work.
pub(super) async fn settle_all(
    conn: &mut Conn,
    ends: &[Arc<SettleRequest>],
) -> Result<Vec<GroupAnswer<bool>>, StoreError> {
    let mut locked = rows::lock_all(conn, ends.iter().map(|end| end.key.id)).await?;
    let now = clock::now(conn).await?;
    let (mut settled, mut traces) = (Vec::new(), Vec::new());
    let answers = ends.iter().map(|end| {
        let Some(mut row) = locked.remove(&end.key.id) else { return GroupAnswer::LeftOut };
        let settles = row.settle(&end.key, end.settlement.clone(), now);
        if settles {
            settled.push(row);
            traces.extend(end.trace.clone().map(TraceWrite::Finish));
        }
        GroupAnswer::Done(settles)
    });
    let answers = answers.collect();
    rows::save_all(conn, &settled, now).await?;
    TraceWrite::apply_all(&Arc::new(traces), conn).await?;
    Ok(answers)
}

pub(super) struct GiveBackRequest {
    pub(super) claim: OccurrenceClaim,
    pub(super) slot: Option<HeldSlot>,
}

pub(super) async fn give_back(conn: &mut Conn, back: &GiveBackRequest) -> Result<bool, StoreError> {
    if let Some(held) = &back.slot {
        slots::lock_one(conn, held).await?;
    }
    let Some(mut row) = rows::lock_held(conn, &back.claim.key).await? else { return Ok(false) };
    let now = clock::now(conn).await?;
    let trace = row.trace_id;
    if !row.give_back(&back.claim.key, back.claim.raised) {
        return Ok(false);
    }
    rows::save(conn, &row, now).await?;
    if let Some(held) = &back.slot {
        slots::free(conn, held, row.id).await?;
    }
    // A run that did not happen must not leave an unfinished trace.
    if let (Some(trace), None) = (trace, row.trace_id) {
        forget_unfinished(conn, trace).await?;
    }
    Ok(true)
}
