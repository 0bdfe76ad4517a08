//! Recording of instants as occurrences.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

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
use crate::error::StoreError;
use crate::group::GroupAnswer;
use crate::prepared::Prepared;
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
    fn new(channel: &'a ChannelFacts, trigger: Trigger, row: Occurrence) -> Self {
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

/// Moves the cursor first, so that of several nodes with the same plan only one writes. The rows follow in
/// the same transaction.
pub(super) async fn materialise(
    conn: &mut Conn,
    order: &MaterialiseRequest,
) -> Result<MaterialiseOutcome, StoreError> {
    let channel = &order.channel;
    let Some(mut cursor) = cursors::lock(conn, &channel.channel_id).await? else {
        return Ok(MaterialiseOutcome::Gone);
    };
    if !cursor.advance(channel.channel_version, order.from, order.next) {
        return Ok(MaterialiseOutcome::Moved(cursor));
    }
    cursors::save(conn, &cursor).await?;
    let now = clock::now(conn).await?;
    if let Some(missed) = &order.missed {
        let newest = missed.newest.naive_utc();
        let row = Occurrence::skipped(
            new_ordered_id(),
            newest,
            OccurrenceStatus::SkippedMisfire,
            missed.message(),
            now,
        );
        insert_counted(conn, vec![NewRow::new(channel, Trigger::Cron, row)]).await?;
    }
    let saturated_key = find_saturated_key(conn, order, now).await?;
    let rows = order.fire.iter().map(|due| {
        let id = new_ordered_id();
        let row = match saturated_key {
            Some(singleton) => Occurrence::skipped(
                id,
                *due,
                OccurrenceStatus::SkippedSingleton,
                singleton.skip_message(),
                now,
            ),
            None => Occurrence::pending(id, *due),
        };
        NewRow::new(channel, Trigger::Cron, row)
    });
    let written = insert_counted(conn, rows.collect()).await?;
    let (inserted, skipped) = if saturated_key.is_some() { (0, written) } else { (written, 0) };
    Ok(MaterialiseOutcome::Written { inserted, skipped })
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

/// Records the instants of a group. None of its schedules catches up, missed an instant or has a concurrency key.
pub(super) async fn materialise_all(
    conn: &mut Conn,
    orders: &[Arc<MaterialiseRequest>],
) -> Result<Vec<GroupAnswer<MaterialiseOutcome>>, StoreError> {
    let channel_ids = orders.iter().map(|order| &*order.channel.channel_id);
    let mut locked = cursors::lock_all(conn, channel_ids).await?;
    let (mut moved, mut rows) = (Vec::new(), Vec::new());
    // The rows of an order whose cursor moves, by their places.
    let plans = orders.iter().map(|order| {
        let channel = &order.channel;
        let Some(mut cursor) = locked.remove(&channel.channel_id) else { return Err(GroupAnswer::LeftOut) };
        if !cursor.advance(channel.channel_version, order.from, order.next) {
            return Err(GroupAnswer::Done(MaterialiseOutcome::Moved(cursor)));
        }
        moved.push(cursor);
        let first = rows.len();
        let pending = order.fire.iter().map(|due| Occurrence::pending(new_ordered_id(), *due));
        rows.extend(pending.map(|row| NewRow::new(channel, Trigger::Cron, row)));
        Ok(first..rows.len())
    });
    let plans: Vec<Result<Range<usize>, _>> = plans.collect();
    cursors::save_all(conn, &moved).await?;
    let written = insert(conn, &rows).await?;
    let answer = |rows: Range<usize>| {
        let inserted = written.get(rows).map_or(0, |rows| rows.iter().filter(|written| **written).count());
        GroupAnswer::Done(MaterialiseOutcome::Written { inserted, skipped: 0 })
    };
    Ok(plans.into_iter().map(|plan| plan.map_or_else(|other| other, answer)).collect())
}

/// Inserts the rows whose instants are not recorded yet. Returns for each row whether it was inserted.
async fn insert(conn: &mut Conn, rows: &[NewRow<'_>]) -> Result<Vec<bool>, StoreError> {
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

/// Inserts rows like [`insert`], and returns the number of inserted ones.
async fn insert_counted(conn: &mut Conn, rows: Vec<NewRow<'_>>) -> Result<usize, StoreError> {
    Ok(insert(conn, &rows).await?.into_iter().filter(|written| *written).count())
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
        if insert_counted(conn, vec![NewRow::new(channel, Trigger::Manual, row)]).await? > 0 {
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
    fn a_trigger_takes_the_next_free_instant_and_no_whole_second() {
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
