//! One schedule: its channel's instants, put on record as they come.
//!
//! Owns the way from its cursor to the next instant. Takes no messages: its orders are a level that the reconciler
//! sets. It sleeps until it is due, plans what has passed, writes it, and says so to the claimer. A database that does
//! not answer is waited out, for ever and cheaply. A channel that another node changed, so that its version here is no
//! longer active, is loaded anew. A restart begins with the cursor in the ledger; nothing in memory matters. It never
//! runs anything, and never looks at what became of earlier instants.

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

/// Instants looked at before other work of the thread gets its turn.
const WALK: usize = 256;
/// Instants put on record at once, beside those a misfire policy makes up for; the others follow.
const AT_ONCE: usize = 500;
/// Longest sleep: in that time two clocks drift apart by less than anybody notices.
const NAP: Duration = Duration::from_secs(600);
/// Pauses, at most, by which a channel that is not active is given longer to be heard of.
const LONGEST_WAIT: u32 = 30;
/// Position of a cursor whose schedule has no further instant: it is checked again in a year.
const NEVER: TimeDelta = TimeDelta::days(366);

/// The actor.
pub(crate) struct ScheduleActor {
    pub(crate) shared: Arc<CronShared>,
    pub(crate) handle: Arc<ScheduleHandle>,
}

impl Actor for ScheduleActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let (shared, handle) = (Arc::clone(&self.shared), Arc::clone(&self.handle));
        ctx.spawn(async move { follow_orders(&shared, &handle).await }.into_actor(self));
    }
}

impl Supervised for ScheduleActor {}

/// Does what it was told last, until it is told something else.
async fn follow_orders(shared: &CronShared, handle: &ScheduleHandle) {
    let mut orders = handle.orders.subscribe();
    let mut cursor = handle.take_preloaded();
    loop {
        let order = orders.borrow_and_update().clone();
        let told = match order {
            ScheduleCommand::Follow(spec) => {
                if handle.has_rested() {
                    // Whoever else serves the channel moved the cursor meanwhile.
                    cursor = None;
                }
                let course = ScheduleRunner { shared, handle, spec: &spec };
                tokio::select! {
                    never = course.follow(&mut cursor) => match never {},
                    told = orders.changed() => told,
                }
            }
            ScheduleCommand::Rest => {
                handle.set_rested(true);
                handle.set_next_due(None);
                orders.changed().await
            }
        };
        if told.is_err() {
            return;
        }
    }
}

/// The obstacle to the next step of a schedule.
enum Obstacle {
    /// The ledger did not do what it was asked.
    Ledger(StoreError),
    /// This version of the channel is not active, and this node has not heard of it.
    NotActive,
}

impl From<StoreError> for Obstacle {
    fn from(error: StoreError) -> Self {
        Self::Ledger(error)
    }
}

/// Following one spec.
struct ScheduleRunner<'s> {
    shared: &'s CronShared,
    handle: &'s ScheduleHandle,
    spec: &'s ScheduleSpec,
}

impl ScheduleRunner<'_> {
    async fn follow(&self, cursor: &mut Option<Cursor>) -> std::convert::Infallible {
        let mut failures = 0;
        loop {
            match self.proceed(cursor).await {
                Ok(()) => failures = 0,
                Err(Obstacle::Ledger(error)) => {
                    failures += 1;
                    self.failed(&error, failures);
                    sleep(retry_delay(&self.handle.id, failures)).await;
                }
                Err(Obstacle::NotActive) => {
                    failures += 1;
                    *cursor = None;
                    // What comes of it is an order; a failure is the registry's to tell.
                    let _ = self.shared.registry.reload(ReloadScope::channel(&*self.handle.id)).await;
                    sleep(retry_delay(&self.handle.id, failures) * failures.min(LONGEST_WAIT)).await;
                }
            }
        }
    }

    /// The next step.
    async fn proceed(&self, cursor: &mut Option<Cursor>) -> Result<(), Obstacle> {
        let jump = self.shared.clock.jump();
        let Some(now) = self.shared.clock.now() else { return Ok(self.shared.learn_time().await?) };
        let next = next_step(self.spec, cursor.as_ref(), now);
        if let Some(cursor) = cursor {
            self.handle.set_next_due(Some(cursor.next_fire_at.and_utc()));
        }
        match (next, cursor.as_ref()) {
            (ScheduleStep::Wait(due), _) => tokio::select! {
                () = sleep(until(due, now)) => {}
                () = jump => {}
            },
            (ScheduleStep::Write, Some(known)) => {
                let known = known.clone();
                *cursor = self.write(known, now).await?;
            }
            (ScheduleStep::TurnBack, _) => *cursor = self.turn_back(cursor.take()).await?,
            (ScheduleStep::Align | ScheduleStep::Write, _) => {
                let rested = self.handle.has_rested().then(|| state::followed(self.shared.ledger.backend()));
                *cursor = self.align(state::align(self.spec, rested, now)).await?;
            }
        }
        Ok(())
    }

    /// Turns the cursor back, if the database clock shows that it was set back; what this node knows of it may be old.
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

    async fn align(&self, align: Option<AlignRequest>) -> Result<Option<Cursor>, Obstacle> {
        let Some(align) = align else {
            warn!(self.shared.log, "a schedule has no further instant"; "channel" => self.name());
            return std::future::pending().await;
        };
        match self.shared.in_turn(self.shared.ledger.align(align)).await? {
            AlignOutcome::At(cursor) => {
                self.handle.set_rested(false);
                Ok(Some(cursor))
            }
            AlignOutcome::NotActive => Err(Obstacle::NotActive),
        }
    }

    /// Plans what has passed since the cursor and writes it. Answers where the cursor is then, if that is known.
    async fn write(&self, cursor: Cursor, now: DateTime<Utc>) -> Result<Option<Cursor>, StoreError> {
        let plan = state::bounded(self.plan(cursor.next_fire_at.and_utc(), now).await, AT_ONCE);
        let next = plan.next.unwrap_or(now + NEVER).naive_utc();
        let missed = plan.missed.map_or(0, |missed| missed.count);
        let written = self.shared.in_turn(self.shared.ledger.materialise(MaterialiseRequest {
            channel: self.spec.channel.clone(),
            from: cursor.next_fire_at,
            next,
            fire: plan.fire.iter().map(DateTime::naive_utc).collect(),
            missed: plan.missed,
            singleton: self.spec.singleton.clone(),
        }));
        match written.await? {
            MaterialiseOutcome::Written { inserted, skipped } => {
                if inserted > 0 {
                    self.shared.due.notify_one();
                }
                let metrics = &self.shared.metrics;
                metrics.came_to(OccurrenceStatus::Pending, inserted as u64);
                metrics.came_to(OccurrenceStatus::SkippedMisfire, missed);
                metrics.skipped_for_singleton(skipped as u64);
                Ok(Some(Cursor { next_fire_at: next, ..cursor }))
            }
            MaterialiseOutcome::Moved(elsewhere) => Ok(Some(elsewhere)),
            MaterialiseOutcome::Gone => Ok(None),
        }
    }

    /// Walks the instants up to now, in stretches: a day of seconds holds up nobody else.
    async fn plan(&self, from: DateTime<Utc>, now: DateTime<Utc>) -> MisfirePlan {
        let ScheduleSpec { schedule, misfire, .. } = self.spec;
        let mut walk = MisfirePlanner::new(from, now, self.shared.settings.misfire_grace, *misfire);
        let mut instants = schedule.upcoming(from - TimeDelta::seconds(1));
        while !walk.through(&mut instants, WALK) {
            tokio::task::yield_now().await;
        }
        walk.plan()
    }

    fn failed(&self, error: &StoreError, failures: u32) {
        self.shared.settings.errors.tell(ErrorReason::CronReconcileChannel);
        let known = error.is_outage();
        // A database that is away is logged once for all schedules; and one error of this schedule is enough.
        if !known && failures.is_power_of_two() {
            warn!(self.shared.log, "a schedule cannot be put on record";
                "channel" => self.name(), "failures" => failures, "error" => %error);
        }
    }

    fn name(&self) -> &str {
        &self.spec.channel.channel_name
    }
}

/// The time from `now` to `due`, a nap at most.
fn until(due: DateTime<Utc>, now: DateTime<Utc>) -> Duration {
    (due - now).to_std().unwrap_or_default().min(NAP)
}
