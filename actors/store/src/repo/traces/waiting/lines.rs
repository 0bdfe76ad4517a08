//! The lines of the work that waits for a share of its channel: one for each key, which take turns.

use std::collections::HashSet;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::claim::used_shares;
use super::model::QueueShares;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::schema::{queue_turns, traces};

/// Condition of the index of the lines, as text.
pub(super) const IN_LINE: &str =
    "traces.waiting = 'share' AND traces.waits_until IS NULL AND traces.status = 'waiting'";

/// Returns the work of a channel whose turn it is: at most `room` rows, one of each key in turn, from the key after the
/// one that had the last turn. It reads only; the claim checks the shares.
pub(super) async fn next_turns(
    conn: &mut Conn,
    shares: &QueueShares,
    room: usize,
) -> Result<Vec<Uuid>, StoreError> {
    let used = used_shares(conn, &shares.channel_id).await?;
    let left = |most: Option<u64>, used: u64| {
        let most = usize::try_from(most.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        most.saturating_sub(usize::try_from(used).unwrap_or(usize::MAX))
    };
    let room = room.min(left(shares.total, used.values().sum()));
    let of_key = |key: &String| match key.is_empty() {
        true => usize::MAX,
        false => left(shares.per_key, used.get(key).copied().unwrap_or_default()),
    };
    let keys = waiting_keys(conn, &shares.channel_id, room, |key| of_key(key) > 0).await?;
    let Some(each) = room.checked_div(keys.len()) else { return Ok(Vec::new()) };
    let mut lines = Vec::with_capacity(keys.len());
    for key in &keys {
        let most = of_key(key).min(each.saturating_add(1));
        lines.push(oldest(conn, &shares.channel_id, key, most).await?.into_iter());
    }
    let mut turns = Vec::new();
    while turns.len() < room {
        let before = turns.len();
        turns.extend(lines.iter_mut().filter_map(Iterator::next).take(room - before));
        if turns.len() == before {
            break;
        }
    }
    Ok(turns)
}

/// Returns at most `most` keys that wait and have a share left, the one whose turn is next first.
async fn waiting_keys(
    conn: &mut Conn,
    channel: &str,
    most: usize,
    has_share: impl Fn(&String) -> bool,
) -> Result<Vec<String>, StoreError> {
    let last: Option<String> = on!(conn, c => {
        queue_turns::table.find(channel).select(queue_turns::last_key).first(c).await.optional()
    })?;
    let (mut keys, mut seen, mut has_wrapped) = (Vec::new(), HashSet::new(), last.is_none());
    let mut after = last;
    // The order of keys is that of the database. The end is a key that comes again, or none after the beginning.
    while keys.len() < most {
        match next_key(conn, channel, after.as_deref()).await? {
            None if has_wrapped => break,
            None => (after, has_wrapped) = (None, true),
            Some(key) if !seen.insert(key.clone()) => break,
            Some(key) => {
                after = Some(key.clone());
                if has_share(&key) {
                    keys.push(key);
                }
            }
        }
    }
    Ok(keys)
}

/// Returns the first key that waits, after the given one.
async fn next_key(conn: &mut Conn, channel: &str, after: Option<&str>) -> Result<Option<String>, StoreError> {
    Ok(on!(conn, c: Db => {
        let mut query = traces::table
            .select(traces::queue_key.assume_not_null())
            .filter(sql::<Bool>(IN_LINE))
            .filter(traces::queue_channel.eq(channel))
            .into_boxed::<Db>();
        query = match after {
            Some(after) => query.filter(traces::queue_key.gt(after)),
            None => query.filter(traces::queue_key.is_not_null()),
        };
        query.order(traces::queue_key.asc()).first::<String>(c).await.optional()
    })?)
}

/// Returns the oldest work of a key that waits.
async fn oldest(conn: &mut Conn, channel: &str, key: &str, most: usize) -> Result<Vec<Uuid>, StoreError> {
    let ids: Vec<String> = on!(conn, c => {
        traces::table
            .select(traces::id)
            .filter(sql::<Bool>(IN_LINE))
            .filter(traces::queue_channel.eq(channel))
            .filter(traces::queue_key.eq(key))
            .order((traces::created_at.asc(), traces::id.asc()))
            .limit(i64::try_from(most).unwrap_or(i64::MAX))
            .load(c)
            .await
    })?;
    Ok(ids.iter().filter_map(|id| Uuid::try_parse(id).ok()).collect())
}
