//! Claims of accepted work that waits: it has no owner until a node takes it.

use std::collections::HashMap;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Text};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::model::QueueShares;
use crate::clock::{self, Now};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::traces::unfinished::{UNFINISHED, UnfinishedColumns, to_unfinished_run, unfinished_columns};
use crate::repo::traces::{TraceStatus, UnfinishedRun};
use crate::schema::{queue_turns, traces};

/// The statuses of a row that waits.
pub(super) const WAITING: [&str; 2] = [TraceStatus::Scheduled.name(), TraceStatus::Waiting.name()];

/// Condition of the rows that take a share, with that of their index as text: with bound values, the planner could not
/// know that the index holds them all. Work in a later attempt takes the share of that attempt, whose row is another one.
pub(super) const TAKES_SHARE: &str = "traces.queue_channel IS NOT NULL \
     AND traces.status IN ('pending', 'running') AND (traces.attempt = 1 OR traces.attempt_of IS NOT NULL)";

/// Makes `node` the owner of those of the rows that still wait and are due; of rows that take `shares`, as many as the
/// shares allow, in the order of `ids`. Returns the rows that belong to `node` now, in that order. Idempotent.
pub(super) async fn claim(
    conn: &mut Conn,
    node: &str,
    ids: &[Uuid],
    shares: Option<&QueueShares>,
) -> Result<Vec<UnfinishedRun>, StoreError> {
    let texts: Vec<String> = ids.iter().map(Uuid::to_string).collect();
    let free = match shares {
        Some(shares) => admit(conn, &texts, shares).await?,
        None => lock(conn, &texts).await?.into_keys().collect(),
    };
    let taken = (
        traces::status.eq(TraceStatus::Pending.name()),
        traces::owner.eq(node),
        traces::waiting.eq(None::<&str>),
        traces::waits_until.eq(None::<chrono::NaiveDateTime>),
        traces::updated_at.eq(Now),
    );
    if !free.is_empty() {
        on!(conn, c => {
            diesel::update(traces::table.filter(traces::id.eq_any(free))).set(taken).execute(c).await
        })?;
    }
    let mut rows = load(conn, node, &texts).await?;
    let place: HashMap<Uuid, usize> = ids.iter().enumerate().map(|(place, id)| (*id, place)).collect();
    rows.sort_by_key(|row| place.get(&row.id).copied());
    Ok(rows)
}

/// Locks those of the rows that wait and are due. Returns each with its key. Rows that another node is taking are skipped.
async fn lock(conn: &mut Conn, ids: &[String]) -> Result<HashMap<String, String>, StoreError> {
    let now = clock::now(conn).await?;
    let due = traces::table
        .select((traces::id, traces::queue_key))
        .filter(traces::id.eq_any(ids))
        .filter(traces::status.eq_any(WAITING))
        .filter(traces::awaited_channel.is_null())
        .filter(traces::waits_until.is_null().or(traces::waits_until.assume_not_null().le(now)));
    let rows: Vec<(String, Option<String>)> = match conn {
        Conn::Sqlite(c) => due.load(c).await?,
        Conn::Postgres(c) => due.for_update().skip_locked().load(&mut **c).await?,
    };
    Ok(rows.into_iter().map(|(id, key)| (id, key.unwrap_or_default())).collect())
}

/// Locks the rows for which the channel has a share left. None while another node takes work of the channel.
async fn admit(conn: &mut Conn, ids: &[String], shares: &QueueShares) -> Result<Vec<String>, StoreError> {
    if !lock_shares(conn, &shares.channel_id).await? {
        return Ok(Vec::new());
    }
    // Read after the lock, under which nobody else takes a share.
    let mut used = used_shares(conn, &shares.channel_id).await?;
    let mut total: u64 = used.values().sum();
    let rows = lock(conn, ids).await?;
    let (mut admitted, mut last) = (Vec::new(), None);
    for id in ids {
        let Some(key) = rows.get(id) else { continue };
        if shares.total.is_some_and(|most| total >= most) {
            break;
        }
        let of_key = used.entry(key.clone()).or_default();
        if !key.is_empty() && shares.per_key.is_some_and(|most| *of_key >= most) {
            continue;
        }
        (*of_key, total, last) = (*of_key + 1, total + 1, Some(key));
        admitted.push(id.clone());
    }
    if let Some(last) = last {
        record_turn(conn, &shares.channel_id, last).await?;
    }
    Ok(admitted)
}

/// Keeps the other nodes from taking shares of the channel until the transaction ends. Returns `false` if another node
/// does. A file has a single writer, which this is.
async fn lock_shares(conn: &mut Conn, channel: &str) -> Result<bool, StoreError> {
    /// Namespace of these advisory locks. Any fixed number works.
    const SPACE: i64 = 0x7175_6575;
    let Conn::Postgres(c) = conn else { return Ok(true) };
    let locked = sql::<Bool>("pg_try_advisory_xact_lock(hashtextextended(")
        .bind::<Text, _>(channel.to_owned())
        .sql(", ")
        .bind::<BigInt, _>(SPACE)
        .sql("))");
    Ok(diesel::select(locked).get_result(&mut **c).await?)
}

/// Returns the work of each key that was taken and has not ended, whatever node took it: that of a dead node keeps its
/// share until the node that takes it over has ended it.
pub(super) async fn used_shares(conn: &mut Conn, channel: &str) -> Result<HashMap<String, u64>, StoreError> {
    let rows: Vec<(Option<String>, i64)> = on!(conn, c => {
        traces::table
            .filter(sql::<Bool>(TAKES_SHARE))
            .filter(traces::queue_channel.eq(channel))
            .group_by(traces::queue_key)
            .select((traces::queue_key, diesel::dsl::count_star()))
            .load(c)
            .await
    })?;
    Ok(rows.into_iter().map(|(key, rows)| (key.unwrap_or_default(), rows.unsigned_abs())).collect())
}

/// Records the key that had the last turn.
async fn record_turn(conn: &mut Conn, channel: &str, key: &str) -> Result<(), StoreError> {
    let turn = diesel::insert_into(queue_turns::table)
        .values((queue_turns::channel_id.eq(channel), queue_turns::last_key.eq(key)))
        .on_conflict(queue_turns::channel_id)
        .do_update()
        .set(queue_turns::last_key.eq(key));
    on!(conn, c => turn.execute(c).await)?;
    Ok(())
}

/// Loads those of the rows that belong to `node` and have not ended.
async fn load(conn: &mut Conn, node: &str, ids: &[String]) -> Result<Vec<UnfinishedRun>, StoreError> {
    let rows: Vec<UnfinishedColumns> = on!(conn, c => {
        traces::table
            .select(unfinished_columns!())
            .filter(traces::id.eq_any(ids))
            .filter(traces::owner.eq(node))
            .filter(traces::status.eq_any(UNFINISHED))
            .load(c)
            .await
    })?;
    let run = |columns: UnfinishedColumns| {
        let created_at = columns.4.0.unwrap_or_default();
        to_unfinished_run(columns, created_at)
    };
    Ok(rows.into_iter().filter_map(run).collect())
}
