//! Actions on the letters of a page of a bulk run.

use std::collections::HashSet;
use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::dsl::{not, sql};
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;

use crate::clock::{self, Now};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::bulk_runs::RowResults;
use crate::repo::traces::attempts;
use crate::schema::trace_dlq;

/// Condition on a letter whose work waits for its retry, or has no row any more.
const IS_PROMISED: &str = "NOT EXISTS (SELECT 1 FROM traces w WHERE w.status <> 'retrying' \
     AND w.id = COALESCE(trace_dlq.attempt_of, trace_dlq.trace_id))";

/// Condition on a letter whose work waits for its retry.
const IS_RETRYING: &str = "EXISTS (SELECT 1 FROM traces w WHERE w.status = 'retrying' \
     AND w.id = COALESCE(trace_dlq.attempt_of, trace_dlq.trace_id))";

/// Returns those of the letters whose work waits for its retry.
pub(super) async fn find_retrying(conn: &mut Conn, ids: &[String]) -> Result<HashSet<String>, StoreError> {
    let retrying = trace_dlq::table
        .filter(trace_dlq::id.eq_any(ids))
        .filter(sql::<Bool>(IS_RETRYING))
        .select(trace_dlq::id);
    let retrying: Vec<String> = on!(conn, c => retrying.load(c).await)?;
    Ok(retrying.into_iter().collect())
}

/// Makes letters due at once, with all their retries again. Skips those that are gone or changed after `since`, and those
/// that are due like that already.
pub(in crate::repo) async fn requeue_each(
    conn: &mut Conn,
    ids: &[String],
    since: NaiveDateTime,
) -> Result<RowResults, StoreError> {
    let now = clock::now(conn).await?;
    let is_due = trace_dlq::retry_count
        .eq(0)
        .and(trace_dlq::retry_count.lt(trace_dlq::max_retries))
        .and(trace_dlq::next_retry_at.le(now))
        .and(sql::<Bool>(IS_PROMISED));
    let unchanged = trace_dlq::table
        .filter(trace_dlq::id.eq_any(ids))
        .filter(trace_dlq::updated_at.le(since))
        .filter(not(is_due))
        .order(trace_dlq::id.asc())
        .select((trace_dlq::id, trace_dlq::trace_id, trace_dlq::attempt_of));
    let letters: Vec<(String, String, Option<String>)> = match conn {
        Conn::Sqlite(c) => unchanged.load(c).await?,
        Conn::Postgres(c) => unchanged.for_update().load(&mut **c).await?,
    };
    let afresh = (
        trace_dlq::retry_count.eq(0),
        trace_dlq::next_retry_at.eq(Now),
        trace_dlq::claimed_by.eq(None::<&str>),
        trace_dlq::claimed_until.eq(None::<NaiveDateTime>),
        trace_dlq::awaited_channel.eq(None::<&str>),
    );
    let changed: Vec<&str> = letters.iter().map(|(id, ..)| id.as_str()).collect();
    on!(conn, c => {
        diesel::update(trace_dlq::table.filter(trace_dlq::id.eq_any(changed))).set(afresh).execute(c).await
    })?;
    let works: Vec<&str> = letters.iter().map(|(_, trace, work)| work.as_deref().unwrap_or(trace)).collect();
    attempts::wait_for_retries(conn, &works, Duration::ZERO).await?;
    Ok(RowResults { done: letters.len(), skipped: ids.len() - letters.len(), ..RowResults::default() })
}

/// Deletes letters. Skips those that are gone or changed after `since`, and those that a node retries now.
pub(in crate::repo) async fn purge_each(
    conn: &mut Conn,
    ids: &[String],
    since: NaiveDateTime,
) -> Result<RowResults, StoreError> {
    let now = clock::now(conn).await?;
    let unclaimed = trace_dlq::claimed_until.is_null().or(trace_dlq::claimed_until.lt(now));
    let unchanged = trace_dlq::table
        .filter(trace_dlq::id.eq_any(ids))
        .filter(trace_dlq::updated_at.le(since))
        .filter(unclaimed)
        .order(trace_dlq::id.asc())
        .select((trace_dlq::id, trace_dlq::trace_id, trace_dlq::attempt_of));
    let letters: Vec<(String, String, Option<String>)> = match conn {
        Conn::Sqlite(c) => unchanged.load(c).await?,
        Conn::Postgres(c) => unchanged.for_update().load(&mut **c).await?,
    };
    let deleted: Vec<&str> = letters.iter().map(|(id, ..)| id.as_str()).collect();
    on!(conn, c => {
        diesel::delete(trace_dlq::table.filter(trace_dlq::id.eq_any(deleted))).execute(c).await
    })?;
    let works: Vec<&str> = letters.iter().map(|(_, trace, work)| work.as_deref().unwrap_or(trace)).collect();
    attempts::give_up_each(conn, &works).await?;
    Ok(RowResults { done: letters.len(), skipped: ids.len() - letters.len(), ..RowResults::default() })
}
