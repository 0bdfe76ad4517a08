//! The reaper: passes over the whole ledger periodically.
//!
//! It takes no messages. Each pass measures the backlog, reads the database clock and records its
//! own time, from which the health of the schedules follows. It pauses cursors of channels that are not
//! active, or that are quarantined here and moved by no node, so that a channel that comes back begins at now
//! instead of making up for its absence. It neither plans nor claims: claimers take over expired leases.

mod state;

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use chrono::TimeDelta;
use slog::{info, warn};
use svc_model::ErrorReason;
use svc_store::StoreError;
use tokio::time::{Instant, sleep};

use crate::shared::CronShared;
use state::AbsenceSweep;

/// Time for which a cursor must have been due before its channel counts as served by no node.
const OVERDUE: Duration = Duration::from_secs(60);
/// Delay after which a schedule of this node counts as late.
const BEHIND: TimeDelta = TimeDelta::seconds(60);
/// Time between two searches for such cursors.
const EVERY: Duration = Duration::from_secs(30);

/// The actor.
pub(crate) struct Reaper {
    shared: Arc<CronShared>,
}

impl Reaper {
    pub(crate) fn new(shared: Arc<CronShared>) -> Self {
        Self { shared }
    }
}

impl Actor for Reaper {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let shared = Arc::clone(&self.shared);
        ctx.spawn(async move { run_passes(&shared).await }.into_actor(self));
    }
}

impl Supervised for Reaper {}

async fn run_passes(shared: &CronShared) {
    let mut absences = AbsenceSweep::new(OVERDUE, EVERY);
    loop {
        let started_at = Instant::now();
        match run_pass(shared, &mut absences).await {
            Ok(()) => {
                shared.metrics.record_reconcile(started_at.elapsed());
                shared.settings.jobs.tell("cron_reconcile");
            }
            Err(error) => {
                absences.record_failure();
                shared.settings.errors.tell(ErrorReason::CronReconcile);
                if !error.is_outage() {
                    warn!(shared.log, "reconciling the ledger failed"; "error" => %error);
                }
            }
        }
        sleep(shared.settings.poll).await;
    }
}

async fn run_pass(shared: &CronShared, absences: &mut AbsenceSweep) -> Result<(), StoreError> {
    shared.learn_time().await?;
    let backlog = shared.call_ledger(shared.ledger.backlog()).await?;
    shared.metrics.pending.set(backlog.pending);
    if absences.is_due(Instant::now()) {
        let snapshot = Arc::clone(&shared.registry.snapshot());
        let resting = snapshot.cron_channels().filter(|entry| entry.quarantine().is_some());
        // The cursor of a paused channel stands still: its instants are planned when it is resumed.
        let resting = resting.filter(|entry| entry.pause().is_none());
        let resting = resting.map(|entry| entry.id().to_owned()).collect();
        let paused = shared.call_ledger(shared.ledger.pause_stale(resting, OVERDUE)).await?;
        if !paused.is_empty() {
            info!(shared.log, "schedules without a serving node were paused"; "schedules" => paused.join(", "));
        }
    }
    let now = shared.clock.now();
    let behind =
        now.is_some_and(|now| shared.schedules().values().any(|handle| handle.is_behind(now - BEHIND)));
    shared.passes.record_success(now.map(|now| now.timestamp()), backlog, behind);
    Ok(())
}
