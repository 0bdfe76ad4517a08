//! Actions on the occurrences of a page of a bulk run.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::rows::{self, LoadedOccurrence, columns};
use crate::clock;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::bulk_runs::RowResults;
use crate::schema::cron_occurrences;

/// Makes another attempt at occurrences possible. Skips those that are gone or changed after `since`, and those whose
/// status allows no retry.
pub(in crate::repo) async fn retry_each(
    conn: &mut Conn,
    ids: &[String],
    since: NaiveDateTime,
) -> Result<RowResults, StoreError> {
    let mut retried = Vec::new();
    for loaded in lock_unchanged(conn, ids, since).await? {
        if let Some((mut row, _)) = loaded.split()
            && row.retry().is_ok()
        {
            retried.push(row);
        }
    }
    let now = clock::now(conn).await?;
    rows::save_all(conn, &retried, now).await?;
    // As by a retry of one row: the order to cancel was for the former attempts, and the current version runs.
    let begun_anew = (
        cron_occurrences::cancel_requested_at.eq(None::<NaiveDateTime>),
        cron_occurrences::cancelled_by.eq(None::<&str>),
        cron_occurrences::cancel_reports.eq(None::<bool>),
        cron_occurrences::workflow_version.eq(None::<i64>),
        cron_occurrences::awaited_channel.eq(None::<&str>),
    );
    let changed: Vec<String> = retried.iter().map(|row| row.id.to_string()).collect();
    on!(conn, c => {
        diesel::update(cron_occurrences::table.filter(cron_occurrences::id.eq_any(changed)))
            .set(begun_anew)
            .execute(c)
            .await
    })?;
    Ok(RowResults { done: retried.len(), skipped: ids.len() - retried.len(), ..RowResults::default() })
}

/// Locks the rows that have not changed since an instant.
async fn lock_unchanged(
    conn: &mut Conn,
    ids: &[String],
    since: NaiveDateTime,
) -> Result<Vec<LoadedOccurrence>, StoreError> {
    let unchanged = cron_occurrences::table
        .filter(cron_occurrences::id.eq_any(ids))
        .filter(cron_occurrences::updated_at.le(since))
        .order(cron_occurrences::id.asc())
        .select(columns::<LoadedOccurrence>());
    Ok(match conn {
        Conn::Sqlite(c) => unchanged.load(c).await?,
        Conn::Postgres(c) => unchanged.for_update().load(&mut **c).await?,
    })
}
