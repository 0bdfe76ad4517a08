//! Claims of due occurrences.

use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_ledger::{ClaimOutcome, Occurrence, Trigger};
use svc_model::{ErrorGroup, FailureFacts};
use uuid::Uuid;

use super::conditions::{IsLeased, IsPending};
use super::model::{ClaimBatch, ExhaustedOccurrence, OccurrenceClaim};
use super::rows::{LoadedOccurrence, OccurrenceFacts, columns};
use super::run::EndLostRequest;
use super::{rows, slots};
use crate::clock::{self, Now};
use crate::conn::Conn;
use crate::error::StoreError;
use crate::group::SingleCall;
use crate::repo::traces::{NewTrace, TraceWrite};
use crate::schema::cron_occurrences;

/// Claims due rows.
pub(super) struct ClaimRequest {
    pub(super) holder: String,
    pub(super) lease: Duration,
    pub(super) limit: i64,
    pub(super) max_recoveries: u32,
    /// Channels whose pending rows are skipped.
    pub(super) except: Vec<String>,
}

impl SingleCall for ClaimRequest {
    type Answer = ClaimBatch;

    /// Lists rows with too many expired leases only: they hold slots, which must be locked before rows, so each of them is
    /// left to a transaction of its own, [`ExhaustRequest`].
    async fn run(&self, conn: &mut Conn) -> Result<ClaimBatch, StoreError> {
        let mut due = candidates(conn, Kind::Abandoned, self).await?;
        due.extend(candidates(conn, Kind::Pending, self).await?);
        due.extend(candidates(conn, Kind::Backfilled, self).await?);
        let now = clock::now(conn).await?;
        let mut due: Vec<_> = due.into_iter().filter_map(LoadedOccurrence::split).collect();
        due.sort_by_key(|(row, facts)| (is_backfilled(facts), row.scheduled_for, row.id));
        let mut claims = ClaimBatch { claimed: Vec::new(), exhausted: Vec::new(), now };
        let mut taken = Vec::new();
        for (mut row, facts) in due.into_iter().take(usize::try_from(self.limit).unwrap_or(0)) {
            match row.claim(&self.holder, self.lease, self.max_recoveries, now) {
                ClaimOutcome::Taken { raised, recovered } => {
                    claims.claimed.extend(claim_from_row(&row, facts, raised, recovered));
                    taken.push(row);
                }
                ClaimOutcome::Exhausted => claims.exhausted.push(exhausted_from_row(row, facts)),
                ClaimOutcome::Unavailable => {}
            }
        }
        rows::save_all(conn, &taken, now).await?;
        Ok(claims)
    }
}

fn is_backfilled(facts: &OccurrenceFacts) -> bool {
    facts.trigger == Trigger::Backfill.name()
}

fn exhausted_from_row(row: Occurrence, facts: OccurrenceFacts) -> ExhaustedOccurrence {
    ExhaustedOccurrence {
        id: row.id,
        channel_id: facts.channel_id,
        channel_name: facts.channel_name,
        trace_id: row.trace_id,
        message: row.error_message.unwrap_or_default(),
    }
}

fn claim_from_row(
    row: &Occurrence,
    facts: OccurrenceFacts,
    raised: bool,
    recovered: bool,
) -> Option<OccurrenceClaim> {
    Some(OccurrenceClaim {
        key: row.key()?,
        channel_id: facts.channel_id,
        channel_name: facts.channel_name,
        channel_version: facts.channel_version,
        workflow_id: facts.workflow_id,
        trigger: Trigger::parse(&facts.trigger).unwrap_or(Trigger::Cron),
        scheduled_for: row.scheduled_for,
        raised,
        recovered,
        workflow_version: facts.workflow_version,
    })
}

/// The kinds of rows that may be claimable. None waits for the resume of a channel that its run called. The queries find
/// them, each by an index; the rules decide.
#[derive(Clone, Copy)]
enum Kind {
    /// Due and not claimed; not backfilled.
    Pending,
    /// Backfilled, not claimed, and not waiting for a slot. Few at a time.
    Backfilled,
    /// Claimed under a lease that has expired.
    Abandoned,
}

/// Returns the oldest rows of a kind, locked. Rows locked by another worker are skipped. SQLite has a single writer, which
/// this is.
async fn candidates(
    conn: &mut Conn,
    kind: Kind,
    take: &ClaimRequest,
) -> Result<Vec<LoadedOccurrence>, StoreError> {
    let order = (cron_occurrences::scheduled_for.asc(), cron_occurrences::id.asc());
    // Cancelled rows are ended, not claimed.
    let rows = cron_occurrences::table
        .filter(cron_occurrences::cancel_requested_at.is_null())
        .select(columns::<LoadedOccurrence>())
        .order(order)
        .limit(take.limit);
    Ok(match kind {
        Kind::Pending => {
            let due = rows
                .filter(IsPending)
                .filter(cron_occurrences::scheduled_for.le(Now))
                .filter(cron_occurrences::trigger_kind.ne(Trigger::Backfill.name()))
                .filter(cron_occurrences::awaited_channel.is_null())
                .filter(cron_occurrences::channel_id.ne_all(&take.except));
            match conn {
                Conn::Sqlite(c) => due.load(c).await?,
                Conn::Postgres(c) => due.for_update().skip_locked().load(&mut **c).await?,
            }
        }
        Kind::Backfilled => {
            let until = cron_occurrences::claimed_until;
            let due = rows
                .filter(IsPending)
                .filter(cron_occurrences::trigger_kind.eq(Trigger::Backfill.name()))
                .filter(cron_occurrences::bulk_run_id.is_not_null())
                .filter(until.is_null().or(until.lt(Now.nullable())))
                .filter(cron_occurrences::awaited_channel.is_null())
                .filter(cron_occurrences::channel_id.ne_all(&take.except));
            match conn {
                Conn::Sqlite(c) => due.load(c).await?,
                Conn::Postgres(c) => due.for_update().skip_locked().load(&mut **c).await?,
            }
        }
        Kind::Abandoned => {
            let ended = rows.filter(IsLeased).filter(cron_occurrences::claimed_until.lt(Now.nullable()));
            match conn {
                Conn::Sqlite(c) => ended.load(c).await?,
                Conn::Postgres(c) => ended.for_update().skip_locked().load(&mut **c).await?,
            }
        }
    })
}

/// Fails a row with too many expired leases, and frees its slot. The answer is false if another worker was faster.
pub(super) struct ExhaustRequest {
    pub(super) id: Uuid,
    pub(super) max_recoveries: u32,
    pub(super) report: Option<NewTrace>,
}

impl SingleCall for ExhaustRequest {
    type Answer = bool;

    async fn run(&self, conn: &mut Conn) -> Result<bool, StoreError> {
        let slot = rows::read(conn, self.id).await?.and_then(|(row, _)| row.slot);
        if let Some(slot) = &slot {
            slots::lock_one(conn, slot).await?;
        }
        let Some((mut row, facts)) = rows::lock(conn, self.id).await? else { return Ok(false) };
        let now = clock::now(conn).await?;
        // The holder of a slot writes the slot to its row, so a different slot means a different claim.
        let exhausted = row.slot == slot && is_exhausted(&mut row, self.max_recoveries, now);
        if !exhausted {
            return Ok(false);
        }
        let group = ErrorGroup::new(FailureFacts {
            channel: &facts.channel_name,
            message: row.error_message.as_deref().unwrap_or_default(),
            ..FailureFacts::default()
        });
        row.error_group = Some(group.id.clone());
        TraceWrite::Group(Arc::new(group)).apply(conn).await?;
        rows::save(conn, &row, now).await?;
        if let Some(slot) = &slot {
            slots::free(conn, slot, row.id).await?;
        }
        if let Some(trace) = row.trace_id {
            EndLostRequest { trace }.run(conn).await?;
        }
        if let Some(report) = &self.report {
            TraceWrite::Insert(report.clone().into()).apply(conn).await?;
        }
        Ok(true)
    }
}

/// An empty holder cannot claim the row: the row is either exhausted or left unchanged.
fn is_exhausted(row: &mut Occurrence, max_recoveries: u32, now: NaiveDateTime) -> bool {
    row.claim("", Duration::ZERO, max_recoveries, now) == ClaimOutcome::Exhausted
}
