//! The steps of a run, each one transaction: the rows, the counts, the position and, at the end, the audit row.

use std::time::Duration;

use chrono::NaiveDateTime;

use super::model::{
    AppliedPage, BulkAction, BulkKind, BulkPage, BulkRun, BulkStep, MOST_BULK_ERRORS, RowResults,
};
use super::orders::{RowOrder, give_orders};
use super::rows;
use crate::conn::Conn;
use crate::error::StoreError;
use crate::group::SingleCall;
use crate::repo::cron::{self, ChannelFacts};
use crate::repo::dead_letters;
use crate::repo::operator_runs::{self, OperatorRunClaim, OperatorRunState, RunTable, lock_claimed};
use crate::repo::traces::AcceptedRerun;

/// Acts on the rows of a page.
pub(super) struct BulkPageRequest {
    pub(super) claim: OperatorRunClaim,
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
        let Some(mut run) = lock_claimed::<BulkRun>(conn, &self.claim).await? else {
            return Ok(BulkStep::Lost);
        };
        if run.parsed_state() == Some(OperatorRunState::Aborting) {
            return end(conn, run, OperatorRunState::Aborted, 0).await;
        }
        let mut results = act(conn, &run, &self.page.ids).await?;
        reruns.append(&mut results.reruns);
        let done = results.done;
        add_results(&mut run, results);
        run.position.clone_from(&self.page.next);
        if run.position.is_none() {
            // What matched and was not read any more has changed: it is gone, or matches no longer.
            run.skipped = run.skipped.max(run.matched - run.done - run.failed);
            return end(conn, run, OperatorRunState::Completed, done).await;
        }
        rows::save(conn, &run).await?;
        BulkRun::renew(conn, &run.id, self.lease).await?;
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

/// Keeps the lease of a run that cannot take a step yet.
pub(super) struct BulkHoldRequest {
    pub(super) claim: OperatorRunClaim,
    pub(super) lease: Duration,
}

impl SingleCall for BulkHoldRequest {
    type Answer = BulkStep;

    async fn run(&self, conn: &mut Conn) -> Result<BulkStep, StoreError> {
        let Some(run) = lock_claimed::<BulkRun>(conn, &self.claim).await? else {
            return Ok(BulkStep::Lost);
        };
        if run.parsed_state() == Some(OperatorRunState::Aborting) {
            return end(conn, run, OperatorRunState::Aborted, 0).await;
        }
        BulkRun::renew(conn, &run.id, self.lease).await?;
        Ok(BulkStep::Continues { done: 0, position: run.position })
    }
}

/// Puts instants on record.
pub(super) struct BackfillStepRequest {
    pub(super) claim: OperatorRunClaim,
    pub(super) instants: Vec<NaiveDateTime>,
    pub(super) channel: ChannelFacts,
    pub(super) max_parallel: u32,
    pub(super) lease: Duration,
}

impl SingleCall for BackfillStepRequest {
    type Answer = BulkStep;

    async fn run(&self, conn: &mut Conn) -> Result<BulkStep, StoreError> {
        let Some(mut run) = lock_claimed::<BulkRun>(conn, &self.claim).await? else {
            return Ok(BulkStep::Lost);
        };
        if run.parsed_state() == Some(OperatorRunState::Aborting) {
            return end(conn, run, OperatorRunState::Aborted, 0).await;
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
            return end(conn, run, OperatorRunState::Completed, done).await;
        }
        let before: usize = run.position.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default();
        run.position = Some((before + taken).to_string());
        rows::save(conn, &run).await?;
        BulkRun::renew(conn, &run.id, self.lease).await?;
        Ok(BulkStep::Continues { done, position: run.position })
    }
}

/// Ends a run that cannot go on.
pub(super) struct BulkEndRequest {
    pub(super) claim: OperatorRunClaim,
    pub(super) reason: String,
}

impl SingleCall for BulkEndRequest {
    type Answer = BulkStep;

    async fn run(&self, conn: &mut Conn) -> Result<BulkStep, StoreError> {
        let Some(mut run) = lock_claimed::<BulkRun>(conn, &self.claim).await? else {
            return Ok(BulkStep::Lost);
        };
        run.reason = Some(self.reason.clone());
        end(conn, run, OperatorRunState::Failed, 0).await
    }
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

/// Ends a run. `done_last` is the number of rows on which its last step acted.
async fn end(
    conn: &mut Conn,
    mut run: BulkRun,
    state: OperatorRunState,
    done_last: usize,
) -> Result<BulkStep, StoreError> {
    operator_runs::end(conn, &mut run, state).await?;
    Ok(BulkStep::Ended { done: done_last, state })
}
