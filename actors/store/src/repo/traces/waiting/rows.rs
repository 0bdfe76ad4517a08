//! Reads of the accepted work that waits, and its changes from one reason to another.

use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::claim::WAITING;
use super::model::{RenewedWait, WaitReason, WaitingCount, WaitingCounts, WaitingWork};
use crate::clock::{self, FromNow, Now};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::channel_pauses::hold_pause;
use crate::repo::traces::read::LenientTimestamp;
use crate::repo::traces::unfinished::UNFINISHED;
use crate::repo::traces::{Ownership, TraceStatus, attempts};
use crate::schema::{trace_dlq, traces};

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

/// Returns the oldest rows of a channel that wait because it was paused, without those that its resume frees by itself.
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
        .filter(traces::awaited_channel.is_null())
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
    let resting: Vec<(Option<String>, i64)> = on!(conn, c => {
        traces::table
            .filter(traces::awaited_channel.is_not_null())
            .group_by(traces::channel_id)
            .select((traces::channel_id, diesel::dsl::count_star()))
            .load(c)
            .await
    })?;
    let retrying = traces::table.filter(traces::status.eq(TraceStatus::Retrying.name())).count();
    let retrying: i64 = on!(conn, c => retrying.get_result(c).await)?;
    let resting_retries = trace_dlq::table.filter(trace_dlq::awaited_channel.is_not_null()).count();
    let resting_retries: i64 = on!(conn, c => resting_retries.get_result(c).await)?;
    let count = |(reason, channel_id, rows): (Option<String>, Option<String>, i64)| {
        let (reason, rows) = (WaitReason::parse(reason.as_deref()?)?, rows.unsigned_abs());
        Some(WaitingCount { reason, channel_id, rows, rests: false })
    };
    let mut waiting: Vec<_> = waiting.into_iter().filter_map(count).collect();
    for (channel_id, rows) in resting {
        split_resting(&mut waiting, channel_id, rows.unsigned_abs());
    }
    let retrying = retrying.unsigned_abs();
    let resting_retries = resting_retries.unsigned_abs().min(retrying);
    Ok(WaitingCounts { waiting, retrying, resting_retries })
}

/// Counts the rows of a channel apart that rest until a paused one is resumed.
fn split_resting(counts: &mut Vec<WaitingCount>, channel_id: Option<String>, rows: u64) {
    let reason = WaitReason::Paused;
    let of_channel = |count: &&mut WaitingCount| count.reason == reason && count.channel_id == channel_id;
    // None if they were freed between the two reads.
    let Some(all) = counts.iter_mut().find(of_channel) else { return };
    let rows = rows.min(all.rows);
    all.rows -= rows;
    counts.push(WaitingCount { reason, channel_id, rows, rests: true });
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

/// Gives back a run that did not begin, or did not come to its end: it waits again and has no owner. It is of the channel
/// with this id, if one is given. Returns whether it had not ended and still had the claim.
pub(super) async fn put_back(
    conn: &mut Conn,
    id: Uuid,
    claim: &Ownership,
    wait: &RenewedWait,
    channel_id: Option<&str>,
) -> Result<bool, StoreError> {
    let awaited = match &wait.awaited_channel {
        Some(channel) if hold_pause(conn, channel).await? => Some(&**channel),
        _ => None,
    };
    let owned = traces::table
        .find(id.to_string())
        .filter(traces::status.eq_any(UNFINISHED))
        .filter(traces::owner.eq(&*claim.owner))
        .filter(traces::recoveries.eq(claim.recoveries));
    let waits = (
        traces::status.eq(TraceStatus::Waiting.name()),
        traces::waiting.eq(wait.reason.name()),
        traces::awaited_channel.eq(awaited),
        traces::owner.eq(None::<&str>),
        traces::updated_at.eq(Now),
    );
    let delay = wait.delay.filter(|_| awaited.is_none());
    let until = delay.map(|delay| traces::waits_until.eq(FromNow::seconds(delay.as_secs_f64()).nullable()));
    let channel = channel_id.map(|id| traces::channel_id.eq(id));
    let rows = on!(conn, c => diesel::update(owned).set((waits, until, channel)).execute(c).await)?;
    if rows > 0 {
        attempts::put_back(conn, id).await?;
    }
    Ok(rows > 0)
}
