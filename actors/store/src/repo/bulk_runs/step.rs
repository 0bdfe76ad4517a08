//! The steps of a run, each one transaction: the rows, the counts, the position and, at the end, the audit row.

use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::json;
use svc_model::{AuditAction, AuditResource, Timestamp};

use super::model::{
    AppliedPage, BulkAction, BulkClaim, BulkKind, BulkPage, BulkRun, BulkState, BulkStep, MOST_BULK_ERRORS,
    RowResults,
};
use super::orders::{RowOrder, give_orders};
use super::rows;
use crate::clock::{self, FromNow};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::group::SingleCall;
use crate::repo::cron::{self, ChannelFacts};
use crate::repo::dead_letters;
use crate::repo::mutation::{AuditEntry, AuditReceipt, record};
use crate::repo::traces::AcceptedRerun;
use crate::schema::bulk_runs;

/// Acts on the rows of a page.
pub(super) struct BulkPageRequest {
    pub(super) claim: BulkClaim,
    pub(super) page: BulkPage,
    pub(super) lease: Duration,
}

impl SingleCall for BulkPageRequest {
    type Answer = AppliedPage;

    async fn run(&self, conn: &mut Conn) -> Result<AppliedPage, StoreError> {
        let mut reruns = Vec::new();
        let step = self.apply(conn, &mut reruns).await?;
        Ok(AppliedPage { step, reruns })
    }
}

impl BulkPageRequest {
    async fn apply(&self, conn: &mut Conn, reruns: &mut Vec<AcceptedRerun>) -> Result<BulkStep, StoreError> {
        let Some(mut run) = lock_claimed(conn, &self.claim).await? else { return Ok(BulkStep::Lost) };
        if run.parsed_state() == Some(BulkState::Aborting) {
            return end(conn, run, BulkState::Aborted, 0).await;
        }
        let mut results = act(conn, &run, &self.page.ids).await?;
        reruns.append(&mut results.reruns);
        let done = results.done;
        add_results(&mut run, results);
        run.position.clone_from(&self.page.next);
        if run.position.is_none() {
            // What matched and was not read any more has changed: it is gone, or matches no longer.
            run.skipped = run.skipped.max(run.matched - run.done - run.failed);
            return end(conn, run, BulkState::Completed, done).await;
        }
        rows::save(conn, &run).await?;
        renew(conn, &run.id, self.lease).await?;
        Ok(BulkStep::Continues { done, position: run.position })
    }
}

/// Acts on rows of the kind of a run.
async fn act(conn: &mut Conn, run: &BulkRun, ids: &[String]) -> Result<RowResults, StoreError> {
    let since = run.started_at.naive();
    match (BulkKind::parse(&run.kind), BulkAction::parse(&run.action)) {
        (Some(BulkKind::DeadLetters), Some(BulkAction::Requeue)) => {
            dead_letters::requeue_each(conn, ids, since).await
        }
        (Some(BulkKind::DeadLetters), Some(BulkAction::Purge)) => {
            dead_letters::purge_each(conn, ids, since).await
        }
        (Some(BulkKind::Occurrences), Some(BulkAction::Retry)) => cron::retry_each(conn, ids, since).await,
        (Some(BulkKind::Occurrences), Some(BulkAction::Cancel)) => {
            give_orders(conn, run, RowOrder::CancelOccurrence, ids).await
        }
        (Some(BulkKind::Traces), Some(BulkAction::Cancel)) => {
            give_orders(conn, run, RowOrder::CancelTrace, ids).await
        }
        (Some(BulkKind::Traces), Some(BulkAction::Rerun)) => {
            give_orders(conn, run, RowOrder::RerunTrace, ids).await
        }
        _ => Err(StoreError::Database(format!("this program cannot {} {}", run.action, run.kind))),
    }
}

/// Puts instants on record.
pub(super) struct BackfillStepRequest {
    pub(super) claim: BulkClaim,
    pub(super) instants: Vec<NaiveDateTime>,
    pub(super) channel: ChannelFacts,
    pub(super) max_parallel: u32,
    pub(super) lease: Duration,
}

impl SingleCall for BackfillStepRequest {
    type Answer = BulkStep;

    async fn run(&self, conn: &mut Conn) -> Result<BulkStep, StoreError> {
        let Some(mut run) = lock_claimed(conn, &self.claim).await? else { return Ok(BulkStep::Lost) };
        if run.parsed_state() == Some(BulkState::Aborting) {
            return end(conn, run, BulkState::Aborted, 0).await;
        }
        let open = cron::count_open(conn, &run.id).await?;
        let room = (self.max_parallel as usize).saturating_sub(open);
        let mut results = RowResults::default();
        for instant in self.instants.iter().take(room) {
            match cron::backfill(conn, &self.channel, *instant, &run.id).await? {
                true => results.done += 1,
                false => results.skipped += 1,
            }
        }
        let taken = self.instants.len().min(room);
        let done = results.done;
        add_results(&mut run, results);
        if taken == self.instants.len() && open + done == 0 {
            return end(conn, run, BulkState::Completed, done).await;
        }
        let before: usize = run.position.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default();
        run.position = Some((before + taken).to_string());
        rows::save(conn, &run).await?;
        renew(conn, &run.id, self.lease).await?;
        Ok(BulkStep::Continues { done, position: run.position })
    }
}

/// Ends a run that cannot go on.
pub(super) struct BulkEndRequest {
    pub(super) claim: BulkClaim,
    pub(super) reason: String,
}

impl SingleCall for BulkEndRequest {
    type Answer = BulkStep;

    async fn run(&self, conn: &mut Conn) -> Result<BulkStep, StoreError> {
        let Some(mut run) = lock_claimed(conn, &self.claim).await? else { return Ok(BulkStep::Lost) };
        run.reason = Some(self.reason.clone());
        end(conn, run, BulkState::Failed, 0).await
    }
}

/// Locks a run that has not ended, if the claim is still valid and knows its position.
async fn lock_claimed(conn: &mut Conn, claim: &BulkClaim) -> Result<Option<BulkRun>, StoreError> {
    Ok(rows::lock(conn, &claim.id).await?.filter(|run| {
        run.holder.as_deref() == Some(&*claim.holder)
            && run.position == claim.position
            && run.parsed_state().is_some_and(|state| !state.is_ended())
    }))
}

fn add_results(run: &mut BulkRun, results: RowResults) {
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    run.done += count(results.done);
    run.skipped += count(results.skipped);
    run.failed += count(results.errors.len());
    let room = MOST_BULK_ERRORS.saturating_sub(run.errors.len());
    run.errors.extend(results.errors.into_iter().take(room));
    // Rows that came to match after they were counted.
    run.matched = run.matched.max(run.done + run.failed + run.skipped);
}

/// Writes the end of a run and its audit row. `done_last` is the number of rows on which its last step acted.
async fn end(
    conn: &mut Conn,
    mut run: BulkRun,
    state: BulkState,
    done_last: usize,
) -> Result<BulkStep, StoreError> {
    run.state = state.name().to_owned();
    run.ended_at = Some(Timestamp::from_naive(clock::now(conn).await?));
    rows::save(conn, &run).await?;
    let BulkRun { id, kind, action, matched, done, failed, skipped, reason, started_by, .. } = run;
    let details = json!({
        "kind": kind,
        "action": action,
        "state": state.name(),
        "matched": matched,
        "done": done,
        "failed": failed,
        "skipped": skipped,
        "reason": reason,
    });
    let entry = AuditEntry {
        principal: started_by,
        action: AuditAction::BulkEnd.name().to_owned(),
        resource_type: AuditResource::BulkRun.name().to_owned(),
        resource_id: id.clone(),
        details: Some(details),
        receipt: AuditReceipt::default(),
    };
    record(conn, entry, &id).await?;
    Ok(BulkStep::Ended { done: done_last, state })
}

async fn renew(conn: &mut Conn, id: &str, lease: Duration) -> Result<(), StoreError> {
    let held = bulk_runs::held_until.eq(FromNow::seconds(lease.as_secs_f64()).nullable());
    on!(conn, c => diesel::update(bulk_runs::table.find(id)).set(held).execute(c).await)?;
    Ok(())
}
