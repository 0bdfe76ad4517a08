//! The facts by which an instant of a schedule is explained.

use chrono::{NaiveDateTime, TimeDelta};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_ledger::{ActiveVersion, InstantFacts, InstantRow, OccurrenceStatus, SlotHolder, Trigger};
use svc_model::EntityKind;

use super::conditions::IsPending;
use super::model::InstantRequest;
use super::rows::columns;
use super::{cursors, slots};
use crate::clock;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::group::SingleCall;
use crate::repo::channel_pauses::{self, find_channel_name};
use crate::schema::{cron_occurrences, definitions};

/// Longest time before a skipped occurrence at which a run that held its slot was due: bounds the rows that are read.
const HOLDER_WINDOW: TimeDelta = TimeDelta::days(1);
/// Most runs that are shown as holders.
const MOST_HOLDERS: i64 = 10;

#[derive(Queryable, Selectable)]
#[diesel(table_name = cron_occurrences)]
struct Row {
    id: String,
    scheduled_for: NaiveDateTime,
    trigger_kind: String,
    status: String,
    attempt: i64,
    claimed_by: Option<String>,
    claimed_until: Option<NaiveDateTime>,
    trace_id: Option<String>,
    error_message: Option<String>,
    started_at: Option<NaiveDateTime>,
    completed_at: Option<NaiveDateTime>,
    awaited_channel: Option<String>,
}

impl From<Row> for InstantRow {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            scheduled_for: row.scheduled_for,
            trigger: row.trigger_kind,
            status: row.status,
            attempt: row.attempt,
            claimed_by: row.claimed_by,
            claimed_until: row.claimed_until,
            trace_id: row.trace_id,
            error_message: row.error_message,
            started_at: row.started_at,
            completed_at: row.completed_at,
            awaited_channel: row.awaited_channel,
        }
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = cron_occurrences)]
struct HolderRow {
    id: String,
    channel_name: String,
    claimed_by: Option<String>,
    started_at: Option<NaiveDateTime>,
    completed_at: Option<NaiveDateTime>,
}

impl From<HolderRow> for SlotHolder {
    fn from(row: HolderRow) -> Self {
        Self {
            occurrence: row.id,
            channel: row.channel_name,
            node: row.claimed_by,
            since: row.started_at,
            until: row.completed_at,
        }
    }
}

impl SingleCall for InstantRequest {
    type Answer = InstantFacts;

    /// Reads the cursor before the rows: the rows of what it has passed are there.
    async fn run(&self, conn: &mut Conn) -> Result<InstantFacts, StoreError> {
        let now = clock::now(conn).await?;
        let at = self.at.unwrap_or(now);
        let cursor = cursors::find(conn, &self.channel_id).await?;
        let active = find_active(conn, &self.channel_id).await?;
        let pauses = channel_pauses::find(conn, std::slice::from_ref(&self.channel_id)).await?;
        let exact = find_exact(conn, &self.channel_id, at).await?;
        let following = find_following(conn, &self.channel_id, at).await?;
        let previous = find_previous(conn, &self.channel_id, at).await?;
        let waits = exact.as_ref().filter(|row| row.status == OccurrenceStatus::Pending.name());
        let waiting_before = match waits {
            Some(row) => count_waiting_before(conn, row.scheduled_for).await?,
            None => 0,
        };
        let holders = match &self.singleton_key {
            Some(key) => find_holders(conn, key, exact.as_ref().and_then(skipped_at), now).await?,
            None => Vec::new(),
        };
        Ok(InstantFacts {
            channel: self.channel_name.clone(),
            at,
            now,
            active,
            cursor,
            exact,
            following,
            previous,
            waiting_before,
            holders,
            pause: pauses.into_iter().next().map(|(_, pause)| pause),
            quarantine: None,
            is_due: None,
            next: None,
            clock_offset: TimeDelta::zero(),
            kept_since: None,
        })
    }
}

/// Returns the instant at which a row was skipped because no slot was free.
fn skipped_at(row: &InstantRow) -> Option<NaiveDateTime> {
    row.completed_at.filter(|_| row.status == OccurrenceStatus::SkippedSingleton.name())
}

async fn find_active(conn: &mut Conn, channel: &str) -> Result<Option<ActiveVersion>, StoreError> {
    // Its content does not change any more: the last change is the activation.
    let active = definitions::table
        .filter(definitions::kind.eq(EntityKind::Channel.name()))
        .filter(definitions::id.eq(channel))
        .filter(definitions::status.eq("active"))
        .select((definitions::version, definitions::updated_at));
    let active: Option<(i64, NaiveDateTime)> = on!(conn, c => active.first(c).await.optional())?;
    Ok(active.map(|(version, since)| ActiveVersion { version, since }))
}

async fn find_exact(
    conn: &mut Conn,
    channel: &str,
    at: NaiveDateTime,
) -> Result<Option<InstantRow>, StoreError> {
    let row = cron_occurrences::table
        .filter(cron_occurrences::channel_id.eq(channel))
        .filter(cron_occurrences::scheduled_for.eq(at))
        .select(columns::<Row>());
    let row: Option<Row> = on!(conn, c => row.first(c).await.optional())?;
    let Some(mut row) = row.map(InstantRow::from) else { return Ok(None) };
    if let Some(id) = row.awaited_channel.take() {
        row.awaited_channel = Some(find_channel_name(conn, &id).await?.unwrap_or(id));
    }
    Ok(Some(row))
}

/// Returns the first row of the schedule itself at an instant or after it.
async fn find_following(
    conn: &mut Conn,
    channel: &str,
    at: NaiveDateTime,
) -> Result<Option<InstantRow>, StoreError> {
    let row = cron_occurrences::table
        .filter(cron_occurrences::channel_id.eq(channel))
        .filter(cron_occurrences::scheduled_for.ge(at))
        .filter(cron_occurrences::trigger_kind.eq(Trigger::Cron.name()))
        .order(cron_occurrences::scheduled_for.asc())
        .select(columns::<Row>());
    let row: Option<Row> = on!(conn, c => row.first(c).await.optional())?;
    Ok(row.map(Into::into))
}

async fn find_previous(
    conn: &mut Conn,
    channel: &str,
    at: NaiveDateTime,
) -> Result<Option<InstantRow>, StoreError> {
    let row = cron_occurrences::table
        .filter(cron_occurrences::channel_id.eq(channel))
        .filter(cron_occurrences::scheduled_for.lt(at))
        .order(cron_occurrences::scheduled_for.desc())
        .select(columns::<Row>());
    let row: Option<Row> = on!(conn, c => row.first(c).await.optional())?;
    Ok(row.map(Into::into))
}

async fn count_waiting_before(conn: &mut Conn, due: NaiveDateTime) -> Result<i64, StoreError> {
    let waiting = cron_occurrences::table
        .filter(IsPending)
        .filter(cron_occurrences::awaited_channel.is_null())
        .filter(cron_occurrences::scheduled_for.lt(due))
        .count();
    Ok(on!(conn, c => waiting.get_result(c).await)?)
}

/// Returns the runs that have the slots of a key and had them at an instant already, and those that had them then. Without
/// an instant, those that have them now.
async fn find_holders(
    conn: &mut Conn,
    key: &str,
    then: Option<NaiveDateTime>,
    now: NaiveDateTime,
) -> Result<Vec<SlotHolder>, StoreError> {
    let live = slots::load_slots(conn, key).await?.into_iter().filter(|slot| slot.is_live(now));
    let live: Vec<String> = live.map(|slot| slot.occurrence.to_string()).collect();
    let runs = cron_occurrences::table
        .filter(cron_occurrences::id.eq_any(live))
        .filter(cron_occurrences::started_at.le(then.unwrap_or(now)))
        .order(cron_occurrences::started_at.asc())
        .limit(MOST_HOLDERS)
        .select(columns::<HolderRow>());
    let mut holders: Vec<HolderRow> = on!(conn, c => runs.load(c).await)?;
    if let Some(then) = then {
        let ended = cron_occurrences::table
            .filter(cron_occurrences::singleton_key.eq(key))
            .filter(cron_occurrences::scheduled_for.le(then))
            .filter(cron_occurrences::scheduled_for.ge(then - HOLDER_WINDOW))
            .filter(cron_occurrences::started_at.le(then))
            .filter(cron_occurrences::completed_at.ge(then))
            .order(cron_occurrences::scheduled_for.desc())
            .limit(MOST_HOLDERS)
            .select(columns::<HolderRow>());
        let ended: Vec<HolderRow> = on!(conn, c => ended.load(c).await)?;
        holders.extend(ended);
    }
    Ok(holders.into_iter().map(Into::into).collect())
}
