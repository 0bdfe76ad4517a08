//! Recording of instants as occurrences.

use std::collections::HashSet;
use std::ops::Range;

use chrono::{NaiveDateTime, TimeDelta, Timelike};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_ledger::{Occurrence, OccurrenceStatus, Singleton, Trigger, is_saturated};
use svc_model::id::new_ordered_id;
use uuid::Uuid;

use super::model::{ChannelFacts, MaterialiseOutcome, MaterialiseRequest};
use super::{bulk, cursors, slots};
use crate::clock;
use crate::config::Backend;
use crate::conn::{Conn, on};
use crate::connections::prepared::Prepared;
use crate::error::StoreError;
use crate::group::{CallGroup, GroupAnswer, LedgerCall};
use crate::schema::cron_occurrences;

/// A row to be inserted.
#[derive(Insertable)]
#[diesel(table_name = cron_occurrences)]
pub(super) struct NewRow<'a> {
    pub(super) id: String,
    pub(super) channel_id: &'a str,
    pub(super) channel_name: &'a str,
    pub(super) channel_version: i64,
    pub(super) workflow_id: Option<&'a str>,
    pub(super) trigger_kind: &'static str,
    pub(super) scheduled_for: NaiveDateTime,
    pub(super) status: &'static str,
    pub(super) error_message: Option<String>,
    pub(super) completed_at: Option<NaiveDateTime>,
}

impl<'a> NewRow<'a> {
    pub(super) fn new(channel: &'a ChannelFacts, trigger: Trigger, row: Occurrence) -> Self {
        Self {
            id: row.id.to_string(),
            channel_id: &channel.channel_id,
            channel_name: &channel.channel_name,
            channel_version: channel.channel_version,
            workflow_id: channel.workflow_id.as_deref(),
            trigger_kind: trigger.name(),
            scheduled_for: row.scheduled_for,
            status: row.status.name(),
            error_message: row.error_message,
            completed_at: row.completed_at,
        }
    }
}

impl LedgerCall for MaterialiseRequest {
    type Answer = MaterialiseOutcome;

    fn joins_group(&self) -> bool {
        self.fits_group()
    }

    /// Locks the cursors first, so that of several nodes with the same plan only one moves them and writes the rows.
    async fn run(
        group: &CallGroup<Self>,
        conn: &mut Conn,
    ) -> Result<Vec<GroupAnswer<MaterialiseOutcome>>, StoreError> {
        let orders = &group.calls;
        let channel_ids: Vec<&str> = orders.iter().map(|order| &*order.channel.channel_id).collect();
        let mut locked = cursors::lock_all(conn, &channel_ids, group.is_alone).await?;
        let (mut moved, mut rows) = (Vec::new(), Vec::new());
        let mut plans = Vec::with_capacity(orders.len());
        for order in orders {
            let Some(mut cursor) = locked.remove(&order.channel.channel_id) else {
                plans.push(Err(group.answer_absent(MaterialiseOutcome::Gone)));
                continue;
            };
            if cursor.advance(order.channel.channel_version, order.from, order.next) {
                moved.push(cursor);
                plans.push(Ok(plan_rows(conn, order, &mut rows).await?));
            } else {
                plans.push(Err(GroupAnswer::Done(MaterialiseOutcome::Moved(cursor))));
            }
        }
        cursors::save_all(conn, &moved).await?;
        let written = insert(conn, &rows).await?;
        Ok(plans
            .into_iter()
            .map(|plan| plan.map_or_else(|answer| answer, |plan| plan.answer(&written)))
            .collect())
    }
}

/// The rows of an order whose cursor has moved.
struct RowPlan {
    /// Places of its instants that run among the rows of the group.
    instants: Range<usize>,
    is_saturated: bool,
}

impl RowPlan {
    /// Returns the answer to the order. `written` is true for each row that was inserted.
    fn answer(self, written: &[bool]) -> GroupAnswer<MaterialiseOutcome> {
        let rows = written.get(self.instants).unwrap_or_default();
        let count = rows.iter().filter(|written| **written).count();
        let (inserted, skipped) = if self.is_saturated { (0, count) } else { (count, 0) };
        GroupAnswer::Done(MaterialiseOutcome::Written { inserted, skipped })
    }
}

/// Adds the rows of an order. Only a call that is alone has missed instants or a concurrency key, and needs the clock.
async fn plan_rows<'o>(
    conn: &mut Conn,
    order: &'o MaterialiseRequest,
    rows: &mut Vec<NewRow<'o>>,
) -> Result<RowPlan, StoreError> {
    let channel = &order.channel;
    let mut saturated = None;
    if order.missed.is_some() || order.singleton.is_some() {
        let now = clock::now(conn).await?;
        if let Some(missed) = &order.missed {
            let (id, newest) = (new_ordered_id(), missed.newest.naive_utc());
            let status = OccurrenceStatus::SkippedMisfire;
            let row = Occurrence::skipped(id, newest, status, missed.message(), now);
            rows.push(NewRow::new(channel, Trigger::Cron, row));
        }
        saturated = find_saturated_key(conn, order, now).await?.map(|singleton| (singleton, now));
    }
    let first = rows.len();
    for due in &order.fire {
        let id = new_ordered_id();
        let row = match saturated {
            Some((singleton, now)) => {
                let status = OccurrenceStatus::SkippedSingleton;
                Occurrence::skipped(id, *due, status, singleton.skip_message(), now)
            }
            None => Occurrence::pending(id, *due),
        };
        rows.push(NewRow::new(channel, Trigger::Cron, row));
    }
    Ok(RowPlan { instants: first..rows.len(), is_saturated: saturated.is_some() })
}

/// Returns the key if no run of it could begin now. A run that begins or ends at the same moment is harmless:
/// waiting rows are checked again when they start.
async fn find_saturated_key<'o>(
    conn: &mut Conn,
    order: &'o MaterialiseRequest,
    now: NaiveDateTime,
) -> Result<Option<&'o Singleton>, StoreError> {
    let Some(singleton) = &order.singleton else { return Ok(None) };
    if order.fire.is_empty() {
        return Ok(None);
    }
    let slots = slots::load_slots(conn, &singleton.key).await?;
    Ok(is_saturated(&slots, singleton.slots, now).then_some(singleton))
}

/// Inserts the rows whose instants are not recorded yet. Returns for each row whether it was inserted.
pub(super) async fn insert(conn: &mut Conn, rows: &[NewRow<'_>]) -> Result<Vec<bool>, StoreError> {
    match conn {
        Conn::Sqlite(c) => {
            let identity = (cron_occurrences::channel_id, cron_occurrences::scheduled_for);
            let mut written = Vec::with_capacity(rows.len());
            for row in rows {
                let insert = diesel::insert_into(cron_occurrences::table).values(row);
                let insert = Prepared(insert.on_conflict(identity).do_nothing());
                written.push(insert.execute(c).await? > 0);
            }
            Ok(written)
        }
        Conn::Postgres(c) => bulk::insert_occurrences(rows, c).await,
    }
}

/// Number of instants from which a manual trigger may choose.
const INSTANTS: i32 = 1000;
/// Attempts of a trigger to choose again after another one took the instant.
const CHOICES: usize = 20;

/// Records an occurrence requested by an administrator, due now or at the next free instant of the channel.
/// Returns `None` if there is no free instant.
pub(super) async fn trigger(conn: &mut Conn, channel: &ChannelFacts) -> Result<Option<Uuid>, StoreError> {
    let tick = match conn.backend() {
        Backend::Sqlite => TimeDelta::milliseconds(1),
        Backend::Postgres => TimeDelta::microseconds(1),
    };
    for _ in 0..CHOICES {
        let now = clock::now(conn).await?;
        let instants = cron_occurrences::table
            .filter(cron_occurrences::channel_id.eq(&channel.channel_id))
            .filter(cron_occurrences::scheduled_for.between(now, now + tick * INSTANTS))
            .select(cron_occurrences::scheduled_for);
        let instants: Vec<NaiveDateTime> = on!(conn, c => instants.load(c).await)?;
        let Some(due) = free_instant(now, tick, &instants.into_iter().collect()) else { return Ok(None) };
        let row = Occurrence::pending(new_ordered_id(), due);
        let id = row.id;
        if insert(conn, &[NewRow::new(channel, Trigger::Manual, row)]).await? == [true] {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Returns the first instant from `now` without an occurrence. Whole seconds are skipped: they belong to the
/// schedule, and a row there would take the place of a scheduled one.
fn free_instant(
    now: NaiveDateTime,
    tick: TimeDelta,
    taken: &HashSet<NaiveDateTime>,
) -> Option<NaiveDateTime> {
    let mut instants = (0..INSTANTS).map(|n| now + tick * n);
    instants.find(|instant| instant.nanosecond() != 0 && !taken.contains(instant))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_time(time: &str) -> NaiveDateTime {
        NaiveDateTime::parse_from_str(&format!("2026-01-01 {time}"), "%Y-%m-%d %H:%M:%S%.f").unwrap()
    }

    #[test]
    fn trigger_takes_next_free_instant_between_whole_seconds() {
        let tick = TimeDelta::milliseconds(1);
        let free = |now: &str, taken: &[&str]| {
            free_instant(parse_time(now), tick, &taken.iter().map(|time| parse_time(time)).collect())
        };
        assert_eq!(free("00:00:00.500", &["00:00:00.499"]), Some(parse_time("00:00:00.500")));
        assert_eq!(free("00:00:00.500", &["00:00:00.500", "00:00:00.501"]), Some(parse_time("00:00:00.502")));
        assert_eq!(free("00:00:00.999", &["00:00:00.999"]), Some(parse_time("00:00:01.001")));
        assert_eq!(free("00:00:02", &[]), Some(parse_time("00:00:02.001")));
    }

    #[test]
    fn a_trigger_does_not_wander_far() {
        let (now, tick) = (parse_time("00:00:00.500"), TimeDelta::microseconds(1));
        let taken: HashSet<_> = (0..INSTANTS).map(|n| now + tick * n).collect();
        assert_eq!(free_instant(now, tick, &taken), None);
    }
}
