//! One schedule: its channel's instants, put on record as they come.
//!
//! Owns the way from its cursor to the next instant. Takes no messages: its orders are a level that the roster sets. It
//! sleeps until it is due, plans what has passed, writes it, and says so to the claimer. A database that does not
//! answer is waited out, for ever and cheaply. A channel that another node changed, so that its version here is no
//! longer active, is loaded anew. A restart begins with the cursor in the ledger; nothing in memory
//! matters. It never runs anything, and never looks at what became of earlier instants.

mod state;

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use chrono::{DateTime, TimeDelta, Utc};
use slog::warn;
use svc_ledger::{Align, Cursor, Plan, Status, Walk};
use svc_registry::ReloadScope;
use svc_store::{Aligned, Materialise, Materialised, StoreError};
use tokio::time::sleep;

use crate::backoff::retry_delay;
use crate::desk::Desk;
use crate::seat::{Order, Seat, Timetable};
use state::{Step, step};

/// Instants looked at before other work of the thread gets its turn.
const WALK: usize = 256;
/// Instants put on record at once, beside those a misfire policy makes up for; the others follow.
const AT_ONCE: usize = 500;
/// Longest sleep: in that time two clocks drift apart by less than anybody notices.
const NAP: Duration = Duration::from_secs(600);
/// Pauses, at most, by which a channel that is not active is given longer to be heard of.
const LONGEST_WAIT: u32 = 30;
/// Where a schedule goes on that has no further instant: to be asked again in a year.
const NEVER: TimeDelta = TimeDelta::days(366);

/// The actor.
pub(crate) struct Scheduler {
    pub(crate) desk: Arc<Desk>,
    pub(crate) seat: Arc<Seat>,
}

impl Actor for Scheduler {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let (desk, seat) = (Arc::clone(&self.desk), Arc::clone(&self.seat));
        ctx.spawn(async move { follow_orders(&desk, &seat).await }.into_actor(self));
    }
}

impl Supervised for Scheduler {}

/// Does what it was told last, until it is told something else.
async fn follow_orders(desk: &Desk, seat: &Seat) {
    let mut orders = seat.orders.subscribe();
    let mut cursor = seat.take_known();
    loop {
        let order = orders.borrow_and_update().clone();
        let told = match order {
            Order::Follow(timetable) => {
                if seat.has_rested() {
                    // Whoever else serves the channel moved the cursor meanwhile.
                    cursor = None;
                }
                let course = Course { desk, seat, timetable: &timetable };
                tokio::select! {
                    never = course.follow(&mut cursor) => match never {},
                    told = orders.changed() => told,
                }
            }
            Order::Rest => {
                seat.set_rested(true);
                seat.show(None);
                orders.changed().await
            }
        };
        if told.is_err() {
            return;
        }
    }
}

/// What keeps a schedule from its next step.
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

/// Following one timetable.
struct Course<'s> {
    desk: &'s Desk,
    seat: &'s Seat,
    timetable: &'s Timetable,
}

impl Course<'_> {
    async fn follow(&self, cursor: &mut Option<Cursor>) -> std::convert::Infallible {
        let mut failures = 0;
        loop {
            match self.proceed(cursor).await {
                Ok(()) => failures = 0,
                Err(Obstacle::Ledger(error)) => {
                    failures += 1;
                    self.failed(&error, failures);
                    sleep(retry_delay(&self.seat.id, failures)).await;
                }
                Err(Obstacle::NotActive) => {
                    failures += 1;
                    *cursor = None;
                    // What comes of it is an order; a failure is the registry's to tell.
                    let _ = self.desk.registry.reload(ReloadScope::channel(&*self.seat.id)).await;
                    sleep(retry_delay(&self.seat.id, failures) * failures.min(LONGEST_WAIT)).await;
                }
            }
        }
    }

    /// The next step.
    async fn proceed(&self, cursor: &mut Option<Cursor>) -> Result<(), Obstacle> {
        let jump = self.desk.clock.jump();
        let Some(now) = self.desk.clock.now() else { return Ok(self.desk.learn_time().await?) };
        let next = step(self.timetable, cursor.as_ref(), now);
        if let Some(cursor) = cursor {
            self.seat.show(Some(cursor.next_fire_at.and_utc()));
        }
        match (next, cursor.as_ref()) {
            (Step::Wait(due), _) => tokio::select! {
                () = sleep(until(due, now)) => {}
                () = jump => {}
            },
            (Step::Write, Some(known)) => {
                let known = known.clone();
                *cursor = self.write(known, now).await?;
            }
            (Step::TurnBack, _) => *cursor = self.turn_back(cursor.take()).await?,
            (Step::Align | Step::Write, _) => {
                let rested = self.seat.has_rested().then(|| state::followed(self.desk.ledger.backend()));
                *cursor = self.align(state::align(self.timetable, rested, now)).await?;
            }
        }
        Ok(())
    }

    /// Turns the cursor back, if the database clock shows that it was set back; what this node knows of it may be old.
    async fn turn_back(&self, cursor: Option<Cursor>) -> Result<Option<Cursor>, Obstacle> {
        self.desk.learn_time().await?;
        let Some(now) = self.desk.clock.now() else { return Ok(cursor) };
        if step(self.timetable, cursor.as_ref(), now) != Step::TurnBack {
            return Ok(cursor);
        }
        warn!(self.desk.log, "the clock of the database was set back: a schedule goes on from now";
            "channel" => self.name());
        self.align(state::turn_back(self.timetable, now)).await
    }

    async fn align(&self, align: Option<Align>) -> Result<Option<Cursor>, Obstacle> {
        let Some(align) = align else {
            warn!(self.desk.log, "a schedule has no further instant"; "channel" => self.name());
            return std::future::pending().await;
        };
        match self.desk.in_turn(self.desk.ledger.align(align)).await? {
            Aligned::At(cursor) => {
                self.seat.set_rested(false);
                Ok(Some(cursor))
            }
            Aligned::NotActive => Err(Obstacle::NotActive),
        }
    }

    /// Plans what has passed since the cursor and writes it. Answers where the cursor is then, if that is known.
    async fn write(&self, cursor: Cursor, now: DateTime<Utc>) -> Result<Option<Cursor>, StoreError> {
        let plan = state::bounded(self.plan(cursor.next_fire_at.and_utc(), now).await, AT_ONCE);
        let next = plan.next.unwrap_or(now + NEVER).naive_utc();
        let missed = plan.missed.map_or(0, |missed| missed.count);
        let written = self.desk.in_turn(self.desk.ledger.materialise(Materialise {
            channel: self.timetable.channel.clone(),
            from: cursor.next_fire_at,
            next,
            fire: plan.fire.iter().map(DateTime::naive_utc).collect(),
            missed: plan.missed,
            singleton: self.timetable.singleton.clone(),
        }));
        match written.await? {
            Materialised::Written { inserted, skipped } => {
                if inserted > 0 {
                    self.desk.due.notify_one();
                }
                let metrics = &self.desk.metrics;
                metrics.came_to(Status::Pending, inserted as u64);
                metrics.came_to(Status::SkippedMisfire, missed);
                metrics.skipped_for_singleton(skipped as u64);
                Ok(Some(Cursor { next_fire_at: next, ..cursor }))
            }
            Materialised::Moved(elsewhere) => Ok(Some(elsewhere)),
            Materialised::Gone => Ok(None),
        }
    }

    /// Walks the instants up to now, in stretches: a day of seconds holds up nobody else.
    async fn plan(&self, from: DateTime<Utc>, now: DateTime<Utc>) -> Plan {
        let Timetable { schedule, misfire, .. } = self.timetable;
        let mut walk = Walk::new(from, now, self.desk.settings.misfire_grace, *misfire);
        let mut instants = schedule.upcoming(from - TimeDelta::seconds(1));
        while !walk.through(&mut instants, WALK) {
            tokio::task::yield_now().await;
        }
        walk.plan()
    }

    fn failed(&self, error: &StoreError, failures: u32) {
        self.desk.settings.errors.tell("cron_reconcile_channel");
        let known = matches!(error, StoreError::Unavailable(_) | StoreError::Unanswered(_));
        // A database that is away is logged once for all schedules; and one error of this schedule is enough.
        if !known && failures.is_power_of_two() {
            warn!(self.desk.log, "a schedule cannot be put on record";
                "channel" => self.name(), "failures" => failures, "error" => %error);
        }
    }

    fn name(&self) -> &str {
        &self.timetable.channel.channel_name
    }
}

/// The time from `now` to `due`, a nap at most.
fn until(due: DateTime<Utc>, now: DateTime<Utc>) -> Duration {
    (due - now).to_std().unwrap_or_default().min(NAP)
}
