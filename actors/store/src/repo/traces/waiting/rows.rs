//! Reads of the accepted work that waits, and its changes from one reason to another.

use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::claim::WAITING;
use super::model::{WaitReason, WaitingCount, WaitingCounts, WaitingWork};
use crate::clock::{self, FromNow, Now};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::traces::read::LenientTimestamp;
use crate::repo::traces::{Ownership, TraceStatus, attempts};
use crate::schema::traces;

type Columns = (String, Option<String>, String, Option<String>);

const COLUMNS: (traces::id, traces::channel_id, traces::channel, traces::queue_channel) =
    (traces::id, traces::channel_id, traces::channel, traces::queue_channel);

/// Returns the row, unless its id was written by another program.
fn to_row((id, channel_id, channel, queue_channel): Columns) -> Option<WaitingWork> {
    Some(WaitingWork { id: Uuid::try_parse(&id).ok()?, channel_id, channel, queue_channel })
}

/// Returns the rows that waited for an instant that has come, the longest due first.
pub(super) async fn list_due(conn: &mut Conn, limit: i64) -> Result<Vec<WaitingWork>, StoreError> {
    let now = clock::now(conn).await?;
    let due = traces::table
        .select(COLUMNS)
        .filter(traces::waits_until.le(now))
        .order((traces::waits_until.asc(), traces::id.asc()))
        .limit(limit);
    let rows: Vec<Columns> = on!(conn, c => due.load(c).await)?;
    Ok(rows.into_iter().filter_map(to_row).collect())
}

/// Returns the oldest rows of a channel that wait because it was paused.
pub(super) async fn list_paused(
    conn: &mut Conn,
    channel: &str,
    limit: i64,
) -> Result<Vec<WaitingWork>, StoreError> {
    let paused = traces::table
        .select(COLUMNS)
        .filter(sql::<Bool>("traces.waiting = 'paused'"))
        .filter(traces::channel_id.eq(channel))
        .filter(traces::waits_until.is_null())
        .filter(traces::status.eq_any(WAITING))
        .order((traces::created_at.asc(), traces::id.asc()))
        .limit(limit);
    let rows: Vec<Columns> = on!(conn, c => paused.load(c).await)?;
    Ok(rows.into_iter().filter_map(to_row).collect())
}

/// Returns the time until the next row that waits for an instant; zero if one is due now.
pub(super) async fn next_due(conn: &mut Conn) -> Result<Option<Duration>, StoreError> {
    let now = clock::now(conn).await?;
    let next = traces::table
        .select(traces::waits_until.assume_not_null())
        .filter(traces::waits_until.is_not_null())
        .order((traces::waits_until.asc(), traces::id.asc()));
    let next: Option<LenientTimestamp> = on!(conn, c => next.first(c).await.optional())?;
    Ok(next.and_then(|instant| instant.0).map(|at| (at - now).to_std().unwrap_or_default()))
}

/// Counts the rows that wait.
pub(super) async fn count(conn: &mut Conn) -> Result<WaitingCounts, StoreError> {
    let waiting: Vec<(Option<String>, Option<String>, i64)> = on!(conn, c => {
        traces::table
            .filter(traces::waiting.is_not_null())
            .group_by((traces::waiting, traces::channel_id))
            .select((traces::waiting, traces::channel_id, diesel::dsl::count_star()))
            .load(c)
            .await
    })?;
    let retrying = traces::table.filter(traces::status.eq(TraceStatus::Retrying.name())).count();
    let retrying: i64 = on!(conn, c => retrying.get_result(c).await)?;
    let count = |(reason, channel_id, rows): (Option<String>, Option<String>, i64)| {
        Some(WaitingCount {
            reason: WaitReason::parse(reason.as_deref()?)?,
            channel_id,
            rows: rows.unsigned_abs(),
        })
    };
    let waiting = waiting.into_iter().filter_map(count).collect();
    Ok(WaitingCounts { waiting, retrying: retrying.unsigned_abs() })
}

/// Has those of the rows that wait and are due wait for another reason, without an instant.
pub(super) async fn rest(conn: &mut Conn, ids: &[Uuid], reason: WaitReason) -> Result<(), StoreError> {
    let now = clock::now(conn).await?;
    let due = traces::table
        .filter(traces::id.eq_any(ids.iter().map(Uuid::to_string).collect::<Vec<_>>()))
        .filter(traces::status.eq_any(WAITING))
        .filter(traces::waits_until.is_null().or(traces::waits_until.assume_not_null().le(now)));
    let waits = (
        traces::status.eq(reason.status().name()),
        traces::waiting.eq(reason.name()),
        traces::waits_until.eq(None::<NaiveDateTime>),
        traces::updated_at.eq(Now),
    );
    on!(conn, c => diesel::update(due).set(waits).execute(c).await)?;
    Ok(())
}

/// Makes those of the rows due that were put back because a channel was paused and are due within that time.
pub(super) async fn hasten_paused(conn: &mut Conn, within: Duration) -> Result<(), StoreError> {
    let now = clock::now(conn).await?;
    let within = chrono::Duration::from_std(within).unwrap_or_default();
    let until = now.checked_add_signed(within).unwrap_or(now);
    // By the index of due rows: most of those that wait for a resume have no instant.
    let put_back = traces::table
        .filter(traces::waits_until.gt(now))
        .filter(traces::waits_until.le(until))
        .filter(sql::<Bool>("coalesce(traces.waiting, '') = 'paused'"))
        .filter(traces::status.eq_any(WAITING));
    let due = (traces::waits_until.eq(now), traces::updated_at.eq(Now));
    on!(conn, c => diesel::update(put_back).set(due).execute(c).await)?;
    Ok(())
}

/// Has those of the rows that wait and take no share wait in the line of their channel, for a share of no key.
pub(super) async fn join_line(conn: &mut Conn, ids: &[Uuid]) -> Result<(), StoreError> {
    let alone = traces::table
        .filter(traces::id.eq_any(ids.iter().map(Uuid::to_string).collect::<Vec<_>>()))
        .filter(traces::status.eq_any(WAITING))
        .filter(traces::queue_channel.is_null());
    let line = (traces::queue_channel.eq(traces::channel_id), traces::queue_key.eq(""));
    on!(conn, c => diesel::update(alone).set(line).execute(c).await)?;
    rest(conn, ids, WaitReason::Share).await
}

/// Gives back a run that did not begin: it waits again and has no owner. With a `delay` it is looked at after that
/// time. It is of the channel with this id, if one is given. Returns whether it had not ended and still had the claim.
pub(super) async fn put_back(
    conn: &mut Conn,
    id: Uuid,
    claim: &Ownership,
    (reason, delay): (WaitReason, Option<Duration>),
    channel_id: Option<&str>,
) -> Result<bool, StoreError> {
    let owned = traces::table
        .find(id.to_string())
        .filter(traces::status.eq_any([TraceStatus::Pending.name(), TraceStatus::Running.name()]))
        .filter(traces::owner.eq(&*claim.owner))
        .filter(traces::recoveries.eq(claim.recoveries));
    let waits = (
        traces::status.eq(TraceStatus::Waiting.name()),
        traces::waiting.eq(reason.name()),
        traces::owner.eq(None::<&str>),
        traces::updated_at.eq(Now),
    );
    let until = delay.map(|delay| traces::waits_until.eq(FromNow::seconds(delay.as_secs_f64()).nullable()));
    let channel = channel_id.map(|id| traces::channel_id.eq(id));
    let rows = on!(conn, c => diesel::update(owned).set((waits, until, channel)).execute(c).await)?;
    if rows > 0 {
        attempts::put_back(conn, id).await?;
    }
    Ok(rows > 0)
}
