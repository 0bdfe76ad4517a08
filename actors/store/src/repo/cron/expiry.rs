//! Deletion of old rows.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_ledger::OccurrenceStatus;

use crate::clock;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::group::SingleCall;
use crate::schema::{cron_occurrences, cron_singletons};

/// Deletes at most `chunk` ended rows, the oldest first; the answer is their number. Also deletes the slots whose leases
/// expired as long ago, and at least one hour: their key has not been used since.
pub(super) struct ExpireRequest {
    pub(super) hours: u64,
    pub(super) chunk: i64,
}

impl SingleCall for ExpireRequest {
    type Answer = u64;

    async fn run(&self, conn: &mut Conn) -> Result<u64, StoreError> {
        let before = clock::hours_ago(conn, self.hours).await?;
        let ended: Vec<&str> = OccurrenceStatus::ALL
            .into_iter()
            .filter(|status| status.is_terminal())
            .map(OccurrenceStatus::name)
            .collect();
        let old = cron_occurrences::table
            .select(cron_occurrences::id)
            .filter(cron_occurrences::created_at.lt(before))
            .filter(cron_occurrences::status.eq_any(&ended))
            .order((cron_occurrences::created_at.asc(), cron_occurrences::id.asc()))
            .limit(self.chunk);
        // A locked row is being retried.
        let ids: Vec<String> = match conn {
            Conn::Sqlite(c) => old.load(c).await?,
            Conn::Postgres(c) => old.for_update().skip_locked().load(&mut **c).await?,
        };
        let deleted = on!(conn, c => {
            diesel::delete(cron_occurrences::table.filter(cron_occurrences::id.eq_any(ids))).execute(c).await
        })?;
        let unwanted = clock::hours_ago(conn, self.hours.max(1)).await?;
        let free = cron_singletons::table.filter(cron_singletons::lease_until.lt(unwanted));
        on!(conn, c => diesel::delete(free).execute(c).await)?;
        Ok(u64::try_from(deleted).unwrap_or(u64::MAX))
    }
}
