//! Work that rests until a paused channel is resumed: retries of it, and runs that called it.
//!
//! Each row names the channel. The transaction that ends the pause frees the rows, so that no resume is missed, whatever
//! the nodes learn of it and when.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::EntityKind;

use crate::clock::Now;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::schema::{channel_pauses, cron_occurrences, definitions, trace_dlq, traces};

/// Returns whether a channel is paused. If it is, its pause cannot end before the transaction does: a row that is written
/// meanwhile as resting is freed by the resume.
pub(in crate::repo) async fn hold_pause(conn: &mut Conn, channel_id: &str) -> Result<bool, StoreError> {
    let pause = channel_pauses::table.find(channel_id).select(channel_pauses::channel_id);
    let held: Option<String> = match conn {
        // A file has a single writer, which this is.
        Conn::Sqlite(c) => pause.first(c).await.optional()?,
        Conn::Postgres(c) => pause.for_share().first(&mut **c).await.optional()?,
    };
    Ok(held.is_some())
}

/// Returns the name of a channel.
pub(in crate::repo) async fn find_channel_name(
    conn: &mut Conn,
    channel_id: &str,
) -> Result<Option<String>, StoreError> {
    let latest = definitions::table
        .filter(definitions::kind.eq(EntityKind::Channel.name()))
        .filter(definitions::id.eq(channel_id))
        .filter(definitions::is_latest)
        .select(definitions::name);
    Ok(on!(conn, c => latest.first(c).await.optional())?)
}

/// Frees what waits for the resume of a channel. The caller has deleted its pause before.
pub(super) async fn free(conn: &mut Conn, channel_id: &str) -> Result<(), StoreError> {
    let none = None::<&str>;
    let letters = trace_dlq::table.filter(trace_dlq::awaited_channel.eq(channel_id));
    let freed = trace_dlq::awaited_channel.eq(none);
    on!(conn, c => diesel::update(letters).set(freed).execute(c).await)?;
    let occurrences = cron_occurrences::table.filter(cron_occurrences::awaited_channel.eq(channel_id));
    let freed = cron_occurrences::awaited_channel.eq(none);
    on!(conn, c => diesel::update(occurrences).set(freed).execute(c).await)?;
    // Without an instant, the work is claimed like work of a channel that was paused and is no longer.
    let work = traces::table.filter(traces::awaited_channel.eq(channel_id));
    let freed = (traces::awaited_channel.eq(none), traces::updated_at.eq(Now));
    on!(conn, c => diesel::update(work).set(freed).execute(c).await)?;
    Ok(())
}
