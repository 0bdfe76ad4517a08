//! The table of pauses.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::{ChannelPause, Timestamp};

use super::{NewPause, awaiting, failures};
use crate::clock;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::IDS_PER_QUERY;
use crate::schema::channel_pauses;

/// A row, in the order of the columns.
#[derive(Queryable)]
struct Row {
    channel_id: String,
    paused_since: NaiveDateTime,
    paused_until: Option<NaiveDateTime>,
    paused_by: String,
    reason: String,
}

impl From<Row> for (String, ChannelPause) {
    fn from(row: Row) -> Self {
        let pause = ChannelPause {
            since: Timestamp::from_naive(row.paused_since),
            until: row.paused_until.map(Timestamp::from_naive),
            by: row.paused_by,
            reason: row.reason,
        };
        (row.channel_id, pause)
    }
}

pub(super) async fn list(conn: &mut Conn) -> Result<Vec<(String, ChannelPause)>, StoreError> {
    let rows = channel_pauses::table.order(channel_pauses::channel_id.asc());
    let rows: Vec<Row> = on!(conn, c => rows.load(c).await)?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// Returns the pauses of some channels, in the order of `ids`, which are sorted.
pub(in crate::repo) async fn find(
    conn: &mut Conn,
    ids: &[String],
) -> Result<Vec<(String, ChannelPause)>, StoreError> {
    let mut pauses = Vec::new();
    for ids in ids.chunks(IDS_PER_QUERY) {
        let rows = channel_pauses::table
            .filter(channel_pauses::channel_id.eq_any(ids))
            .order(channel_pauses::channel_id.asc());
        let rows: Vec<Row> = on!(conn, c => rows.load(c).await)?;
        pauses.extend(rows.into_iter().map(<(String, ChannelPause)>::from));
    }
    Ok(pauses)
}

/// Returns the pauses whose end has come.
pub(super) async fn find_due(conn: &mut Conn) -> Result<Vec<(String, ChannelPause)>, StoreError> {
    let now = clock::now(conn).await?;
    let rows = channel_pauses::table
        .filter(channel_pauses::paused_until.le(now))
        .order(channel_pauses::channel_id.asc());
    let rows: Vec<Row> = on!(conn, c => rows.load(c).await)?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// Writes the pause of a channel. One that is paused keeps its begin.
pub(super) async fn write(
    conn: &mut Conn,
    id: &str,
    pause: &NewPause,
    now: NaiveDateTime,
) -> Result<(), StoreError> {
    let content = (
        channel_pauses::paused_until.eq(pause.until.map(Timestamp::naive)),
        channel_pauses::paused_by.eq(pause.by.as_str()),
        channel_pauses::reason.eq(pause.reason.as_str()),
    );
    let begin = (channel_pauses::channel_id.eq(id), channel_pauses::paused_since.eq(now));
    let upsert = diesel::insert_into(channel_pauses::table)
        .values((begin, content))
        .on_conflict(channel_pauses::channel_id)
        .do_update()
        .set(content);
    on!(conn, c => upsert.execute(c).await)?;
    Ok(())
}

/// Deletes the pause of a channel and the failures that were counted for the next one, and frees what waits for its resume.
pub(in crate::repo) async fn forget(conn: &mut Conn, id: &str) -> Result<(), StoreError> {
    let delete = diesel::delete(channel_pauses::table.find(id));
    on!(conn, c => delete.execute(c).await)?;
    awaiting::free(conn, id).await?;
    failures::clear(conn, id).await
}
