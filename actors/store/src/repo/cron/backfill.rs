//! Missed instants of a schedule: what is known of a range, and occurrences for instants that never ran.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_ledger::{KeptOccurrences, Missed, Occurrence, OccurrenceStatus, Trigger};
use svc_model::id::new_ordered_id;

use super::materialise::{self, NewRow};
use super::model::ChannelFacts;
use super::rows::{self, LoadedOccurrence, columns};
use crate::clock;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::schema::{cron_occurrences, cron_schedule_state};

/// The facts of a schedule that a backfill is planned from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleHistory {
    /// The instant since which every occurrence is known; `None` if none is kept.
    pub known_since: Option<NaiveDateTime>,
    /// The first instant that its schedule still puts on record by itself.
    pub live_from: NaiveDateTime,
    /// The rows in the range.
    pub kept: KeptOccurrences,
}

/// Reads what is known of a schedule, with its rows from an instant to another, both inclusive.
pub(super) async fn read_history(
    conn: &mut Conn,
    channel_id: &str,
    (from, until): (NaiveDateTime, NaiveDateTime),
) -> Result<ScheduleHistory, StoreError> {
    let now = clock::now(conn).await?;
    let cursor = cron_schedule_state::table.find(channel_id).select(cron_schedule_state::next_fire_at);
    let cursor: Option<NaiveDateTime> = on!(conn, c => cursor.first(c).await.optional())?;
    let rows = cron_occurrences::table
        .filter(cron_occurrences::channel_id.eq(channel_id))
        .filter(cron_occurrences::scheduled_for.between(from, until))
        .select((cron_occurrences::scheduled_for, cron_occurrences::status));
    let rows: Vec<(NaiveDateTime, String)> = on!(conn, c => rows.load(c).await)?;
    let kept =
        rows.into_iter().map(|(instant, status)| (instant, OccurrenceStatus::parse(&status))).collect();
    let known_since = find_oldest(conn, channel_id).await?;
    Ok(ScheduleHistory { known_since, live_from: cursor.map_or(now, |cursor| cursor.min(now)), kept })
}

/// Returns the first instant of the oldest kept row of the schedule itself, with those that it sums up. Rows that have not
/// ended are never deleted, and backfilled ones are newer than their instants, so both say nothing about their neighbours.
async fn find_oldest(conn: &mut Conn, channel_id: &str) -> Result<Option<NaiveDateTime>, StoreError> {
    let ended: Vec<&str> = OccurrenceStatus::ALL
        .into_iter()
        .filter(|status| status.is_terminal())
        .map(OccurrenceStatus::name)
        .collect();
    let oldest = cron_occurrences::table
        .filter(cron_occurrences::channel_id.eq(channel_id))
        .filter(cron_occurrences::trigger_kind.eq(Trigger::Cron.name()))
        .filter(cron_occurrences::status.eq_any(ended))
        .order(cron_occurrences::scheduled_for.asc())
        .select((cron_occurrences::scheduled_for, cron_occurrences::error_message));
    let oldest: Option<(NaiveDateTime, Option<String>)> = on!(conn, c => oldest.first(c).await.optional())?;
    Ok(oldest.map(|(instant, message)| {
        let summed_up = message.as_deref().and_then(Missed::read_range);
        summed_up.map_or(instant, |range| (*range.start()).min(instant))
    }))
}

/// Returns the number of occurrences of a backfill that have not ended.
pub(in crate::repo) async fn count_open(conn: &mut Conn, run: &str) -> Result<usize, StoreError> {
    let open: Vec<&str> = OccurrenceStatus::ALL
        .into_iter()
        .filter(|status| !status.is_terminal())
        .map(OccurrenceStatus::name)
        .collect();
    let open = cron_occurrences::table
        .filter(cron_occurrences::bulk_run_id.eq(run))
        .filter(cron_occurrences::status.eq_any(open))
        .count();
    let count: i64 = on!(conn, c => open.get_result(c).await)?;
    Ok(usize::try_from(count).unwrap_or_default())
}

/// Puts an instant on record for a backfill: as a new row, or as another attempt of the row that was skipped. Returns
/// `false` if it ran, or was put on record, in the meantime.
pub(in crate::repo) async fn backfill(
    conn: &mut Conn,
    channel: &ChannelFacts,
    instant: NaiveDateTime,
    run: &str,
) -> Result<bool, StoreError> {
    let row = Occurrence::pending(new_ordered_id(), instant);
    let mut id = row.id.to_string();
    if materialise::insert(conn, &[NewRow::new(channel, Trigger::Backfill, row)]).await? != [true] {
        let Some((mut row, _)) = lock_at(conn, &channel.channel_id, instant).await? else { return Ok(false) };
        if !row.status.is_skipped() || row.retry().is_err() {
            return Ok(false);
        }
        let now = clock::now(conn).await?;
        rows::save(conn, &row, now).await?;
        id = row.id.to_string();
    }
    let marked = (
        cron_occurrences::trigger_kind.eq(Trigger::Backfill.name()),
        cron_occurrences::bulk_run_id.eq(run),
        cron_occurrences::awaited_channel.eq(None::<&str>),
    );
    on!(conn, c => diesel::update(cron_occurrences::table.find(id)).set(marked).execute(c).await)?;
    Ok(true)
}

/// Reads the row of an instant, and locks it.
async fn lock_at(
    conn: &mut Conn,
    channel_id: &str,
    instant: NaiveDateTime,
) -> Result<Option<(Occurrence, rows::OccurrenceFacts)>, StoreError> {
    let row = cron_occurrences::table
        .filter(cron_occurrences::channel_id.eq(channel_id))
        .filter(cron_occurrences::scheduled_for.eq(instant))
        .select(columns::<LoadedOccurrence>());
    let loaded: Option<LoadedOccurrence> = match conn {
        Conn::Sqlite(c) => row.first(c).await.optional()?,
        Conn::Postgres(c) => row.for_update().first(&mut **c).await.optional()?,
    };
    Ok(loaded.and_then(LoadedOccurrence::split))
}
