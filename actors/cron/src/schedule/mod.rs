//! One schedule: writes the occurrences of its channel as they become due.
//!
//! It alone moves the cursor of its channel on this node. It handles no messages: the reconciler sets its command
//! in a watch channel: only the latest one counts. It sleeps until the next instant, plans the instants
//! that have passed, writes them, and notifies the claimer. While the database is away it retries for ever,
//! at a low rate. If another node has changed the channel, so that the version here is no longer active, it
//! reloads the channel. A restart begins with the cursor in the ledger; nothing in memory matters. It never
//! runs an occurrence and never reads the outcome of earlier ones.

mod state;

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use chrono::{DateTime, TimeDelta, Utc};
use slog::warn;
use svc_ledger::{AlignRequest, Cursor, MisfirePlan, MisfirePlanner, OccurrenceStatus};
use svc_model::ErrorReason;
use svc_registry::ReloadScope;
use svc_store::{AlignOutcome, MaterialiseOutcome, MaterialiseRequest, StoreError};
use tokio::time::sleep;

use crate::backoff::retry_delay;
use crate::schedule_handle::{ScheduleCommand, ScheduleHandle, ScheduleSpec};
use crate::shared::CronShared;
use state::{ScheduleStep, next_step};

/// Instants examined before the task yields its thread.
const WALK: usize = 256;
/// Maximum number of occurrences in one write, not counting those that a misfire policy makes up for. The
/// others follow in further writes.
const AT_ONCE: usize = 500;
/// Longest sleep: in that time the drift between two clocks is negligible.
const MAX_SLEEP: Duration = Duration::from_secs(600);
/// Largest factor on the delay before the next reload of a channel that is not active.
const LONGEST_WAIT: u32 = 30;
/// Distance of the cursor from now if the schedule has no further instant: it is computed again in a year.
const NEVER: TimeDelta = TimeDelta::days(366);

pub(crate) struct ScheduleActor {
    pub(crate) shared: Arc<CronShared>,
    pub(crate) handle: Arc<ScheduleHandle>,
}

impl Actor for ScheduleActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let (shared, handle) = (Arc::clone(&self.shared), Arc::clone(&self.handle));
        ctx.spawn(async move { execute_commands(&shared, &handle).await }.into_actor(self));
    }
}

impl Supervised for ScheduleActor {}

/// Executes the current command; the next one interrupts it at an await. The first cursor is the preloaded
/// one; after a rest the cursor is read from the ledger again. Returns when no further command can come.
async fn execute_commands(shared: &CronShared, handle: &ScheduleHandle) {
    let mut orders = handle.orders.subscribe();
    let mut cursor = handle.take_preloaded();
    let mut has_held = false;
    loop {
        let order = orders.borrow_and_update().clone();
        let change = match order {
            ScheduleCommand::Follow(spec) => {
                if handle.has_rested() || std::mem::take(&mut has_held) {
                    // Another node that serves the channel may have moved the cursor.
                    cursor = None;
                }
                let course = ScheduleRunner { shared, handle, spec: &spec };
                tokio::select! {
                    never = course.follow(&mut cursor) => match never {},
                    change = orders.changed() => change,
                }
            }
            ScheduleCommand::Rest => {
                handle.set_rested(true);
                handle.set_next_due(None);
                orders.changed().await
            }
            ScheduleCommand::Hold => {
                has_held = true;
                handle.set_next_due(None);
                orders.changed().await
            }
        };
        if change.is_err() {
            return;
        }
    }
}

/// The obstacle to the next step of a schedule.
enum Obstacle {
    /// The call of the ledger failed.
    Ledger(StoreError),
    /// This version of the channel is not active any more; this node has not learned of it.
    NotActive,
}

impl From<StoreError> for Obstacle {
    fn from(error: StoreError) -> Self {
        Self::Ledger(error)
    }
}

/// Follows one schedule spec.
struct ScheduleRunner<'s> {
    shared: &'s CronShared,
    handle: &'s ScheduleHandle,
    spec: &'s ScheduleSpec,
}

impl ScheduleRunner<'_> {
    /// Takes steps until it is dropped, with a delay after each failure.
    async fn follow(&self, cursor: &mut Option<Cursor>) -> std::convert::Infallible {
        let mut failures = 0;
        loop {
            match self.proceed(cursor).await {
                Ok(()) => failures = 0,
                Err(Obstacle::Ledger(error)) => {
                    failures += 1;
                    self.report_failure(&error, failures);
                    sleep(retry_delay(&self.handle.id, failures)).await;
                }
                Err(Obstacle::NotActive) => {
                    failures += 1;
                    *cursor = None;
                    // A new version arrives as a command; the registry reports a failure.
                    let reload = self.shared.registry.reload(ReloadScope::channel(&*self.handle.id));
                    let _ = Box::pin(reload).await;
                    sleep(retry_delay(&self.handle.id, failures) * failures.min(LONGEST_WAIT)).await;
                }
            }
        }
    }

    /// Takes one step: learns the time of the database, waits, writes occurrences, or moves the cursor. What is not the
    /// wait is boxed: ten thousand schedules wait.
    async fn proceed(&self, cursor: &mut Option<Cursor>) -> Result<(), Obstacle> {
        let jump = self.shared.clock.jump();
        let Some(now) = self.shared.clock.now() else { return Ok(Box::pin(self.shared.learn_time()).await?) };
        let next = next_step(self.spec, cursor.as_ref(), now);
        if let Some(cursor) = cursor {
            self.handle.set_next_due(Some(cursor.next_fire_at.and_utc()));
        }
        match (next, cursor.as_ref()) {
            (ScheduleStep::Wait(due), _) => tokio::select! {
                () = sleep(time_until(due, now)) => {}
                () = jump => {}
            },
            (ScheduleStep::Write, Some(position)) => {
                let position = position.clone();
                *cursor = Box::pin(self.write(position, now)).await?;
            }
            (ScheduleStep::TurnBack, _) => *cursor = Box::pin(self.turn_back(cursor.take())).await?,
            (ScheduleStep::Align | ScheduleStep::Write, _) => {
                let rested =
                    self.handle.has_rested().then(|| state::answer_allowance(self.shared.ledger.backend()));
                *cursor = Box::pin(self.align(state::align(self.spec, rested, now))).await?;
            }
        }
        Ok(())
    }

    /// Turns the cursor back if a fresh reading confirms that the database clock was set back.
    async fn turn_back(&self, cursor: Option<Cursor>) -> Result<Option<Cursor>, Obstacle> {
        self.shared.learn_time().await?;
        let Some(now) = self.shared.clock.now() else { return Ok(cursor) };
        if next_step(self.spec, cursor.as_ref(), now) != ScheduleStep::TurnBack {
            return Ok(cursor);
        }
        warn!(self.shared.log, "the clock of the database was set back: a schedule goes on from now";
            "channel" => self.name());
        self.align(state::turn_back(self.spec, now)).await
    }

    /// Aligns the cursor in the ledger and returns it. Never returns if the schedule has no further instant.
    ///
    /// # Errors
    /// [`Obstacle::NotActive`] if this version of the channel is not active, [`Obstacle::Ledger`] if the call
    /// fails.
    async fn align(&self, align: Option<AlignRequest>) -> Result<Option<Cursor>, Obstacle> {
        let Some(align) = align else {
            warn!(self.shared.log, "a schedule has no further instant"; "channel" => self.name());
            return std::future::pending().await;
        };
        match self.shared.align(align).await? {
            AlignOutcome::At(cursor) => {
                self.handle.set_rested(false);
                Ok(Some(cursor))
            }
            AlignOutcome::NotActive => Err(Obstacle::NotActive),
        }
    }

    /// Plans the instants since the cursor and writes them. Returns the new cursor, if it is known.
    async fn write(&self, cursor: Cursor, now: DateTime<Utc>) -> Result<Option<Cursor>, StoreError> {
        let plan = state::truncate_plan(self.plan(cursor.next_fire_at.and_utc(), now).await, AT_ONCE);
        let next = plan.next.unwrap_or(now + NEVER).naive_utc();
        let missed = plan.missed.map_or(0, |missed| missed.count);
        let written = self.shared.materialise(MaterialiseRequest {
            channel: self.spec.channel.clone(),
            from: cursor.next_fire_at,
            next,
            fire: plan.fire.iter().map(DateTime::naive_utc).collect(),
            missed: plan.missed,
            singleton: self.spec.singleton.clone(),
        });
        match written.await? {
            MaterialiseOutcome::Written { inserted, skipped } => {
                if inserted > 0 {
                    self.shared.due.notify_one();
                }
                let metrics = &self.shared.metrics;
                metrics.record_occurrences(OccurrenceStatus::Pending, inserted as u64);
                metrics.record_occurrences(OccurrenceStatus::SkippedMisfire, missed);
                metrics.record_singleton_skips(skipped as u64);
                Ok(Some(Cursor { next_fire_at: next, ..cursor }))
            }
            MaterialiseOutcome::Moved(elsewhere) => Ok(Some(elsewhere)),
            MaterialiseOutcome::Gone => Ok(None),
        }
    }

    /// Plans the instants up to `now` in stretches, so that a long gap does not block the thread.
    async fn plan(&self, from: DateTime<Utc>, now: DateTime<Utc>) -> MisfirePlan {
        let ScheduleSpec { schedule, misfire, .. } = self.spec;
        let mut walk = MisfirePlanner::new(from, now, self.shared.settings.misfire_grace, *misfire);
        let mut instants = schedule.upcoming(from - TimeDelta::seconds(1));
        while !walk.advance(&mut instants, WALK) {
            tokio::task::yield_now().await;
        }
        walk.plan()
    }

    /// Reports a failed call of the ledger, and logs it unless the database is away.
    fn report_failure(&self, error: &StoreError, failures: u32) {
        self.shared.settings.errors.tell(ErrorReason::CronReconcileChannel);
        let is_outage = error.is_outage();
        // An outage is logged once for all schedules, other errors at powers of two.
        if !is_outage && failures.is_power_of_two() {
            warn!(self.shared.log, "writing occurrences failed";
                "channel" => self.name(), "failures" => failures, "error" => %error);
        }
    }

    fn name(&self) -> &str {
        &self.spec.channel.channel_name
    }
}

/// Returns the time from `now` to `due`, at most the longest sleep.
fn time_until(due: DateTime<Utc>, now: DateTime<Utc>) -> Duration {
    (due - now).to_std().unwrap_or_default().min(MAX_SLEEP)
}
