//! The table of the failures by which channels pause themselves.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::clock;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::schema::channel_failures;

/// Adds a failure of now, unless it is on record, and returns the number of failures within the last `within_secs`, this
/// one included. Older ones are deleted.
pub(super) async fn add(
    conn: &mut Conn,
    channel_id: &str,
    failure: &str,
    within_secs: u64,
) -> Result<u64, StoreError> {
    let now = clock::now(conn).await?;
    let row = (
        channel_failures::id.eq(failure),
        channel_failures::channel_id.eq(channel_id),
        channel_failures::failed_at.eq(now),
    );
    let insert = diesel::insert_into(channel_failures::table)
        .values(row)
        .on_conflict(channel_failures::id)
        .do_nothing();
    on!(conn, c => insert.execute(c).await)?;
    let oldest = clock::before_now(conn, Duration::from_secs(within_secs)).await?;
    let old = channel_failures::table
        .filter(channel_failures::channel_id.eq(channel_id))
        .filter(channel_failures::failed_at.lt(oldest));
    on!(conn, c => diesel::delete(old).execute(c).await)?;
    let rest = channel_failures::table.filter(channel_failures::channel_id.eq(channel_id)).count();
    let count: i64 = on!(conn, c => rest.get_result(c).await)?;
    Ok(u64::try_from(count).unwrap_or_default())
}

/// Deletes the failures of a channel.
pub(super) async fn clear(conn: &mut Conn, channel_id: &str) -> Result<(), StoreError> {
    let rows = channel_failures::table.filter(channel_failures::channel_id.eq(channel_id));
    on!(conn, c => diesel::delete(rows).execute(c).await)?;
    Ok(())
}
