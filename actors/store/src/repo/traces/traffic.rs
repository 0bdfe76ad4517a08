//! The runs of a channel since an instant, from parts of the index of statuses: as much is read however many rows the
//! other channels have.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;
use svc_model::Timestamp;

use crate::config::Backend;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::filters::ComposedQuery;
use crate::repo::traces::merged::MergedRows;
use crate::repo::traces::{TraceMode, TraceStatus};
use crate::schema::traces;

/// The highest count of one status and mode. It means as many runs or more.
const MOST_COUNTED: i64 = 20_000;
/// The newest runs whose durations are compared.
const MOST_MEASURED: i64 = 500;
/// The share of the runs, in percent, that took no longer than the percentile.
const PERCENTILE: usize = 95;

/// The statuses of runs that ended.
const ENDS: [TraceStatus; 3] = [TraceStatus::Completed, TraceStatus::Failed, TraceStatus::Cancelled];

/// The runs of a channel that began since an instant and have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunTotals {
    /// Number of runs.
    pub runs: i64,
    /// Number of those that failed.
    pub failed: i64,
    /// True if there are more runs than are counted.
    pub is_capped: bool,
    /// The 95th percentile of the durations of the newest runs, in milliseconds; `None` without runs.
    pub p95_ms: Option<f64>,
}

/// Counts the runs of a channel, and measures the newest ones.
pub(super) async fn measure(
    conn: &mut Conn,
    channel: &str,
    since: Timestamp,
) -> Result<RunTotals, StoreError> {
    let statement = count_ends(channel, since, conn.backend());
    let counted: Vec<(String, i64)> = on!(conn, c => statement.load(c).await)?;
    let mut totals = RunTotals::default();
    for (status, count) in counted {
        totals.runs = totals.runs.saturating_add(count);
        if status == TraceStatus::Failed.name() {
            totals.failed = totals.failed.saturating_add(count);
        }
        totals.is_capped |= count >= MOST_COUNTED;
    }
    if totals.runs > 0 {
        totals.p95_ms = percentile(newest_durations(conn, channel, since).await?);
    }
    Ok(totals)
}

/// Returns the statement that counts the runs of each status and mode, all of it from the index. Later attempts count, as
/// the runs that they are.
fn count_ends(channel: &str, since: Timestamp, backend: Backend) -> ComposedQuery<(Text, BigInt)> {
    // The index of failed rows looks as good to SQLite, and has no channel.
    let index = match backend {
        Backend::Sqlite => " INDEXED BY traces_status",
        Backend::Postgres => "",
    };
    let mut statement = ComposedQuery::new("");
    let mut link = "";
    for status in ENDS.map(TraceStatus::name) {
        for mode in TraceMode::ALL.map(TraceMode::name) {
            statement.push(format!(
                "{link}SELECT '{status}', count(*) FROM (SELECT 1 FROM traces{index} \
                 WHERE status = '{status}' AND mode = '{mode}' AND channel = "
            ));
            statement.push_text(channel.to_owned());
            statement.push(" AND created_at >= ");
            statement.push_time(since.naive());
            statement.push(format!(" LIMIT {MOST_COUNTED}) counted"));
            link = " UNION ALL ";
        }
    }
    statement
}

/// Returns the durations of the newest runs that came to an end by themselves.
async fn newest_durations(conn: &mut Conn, channel: &str, since: Timestamp) -> Result<Vec<f64>, StoreError> {
    let ended = [TraceStatus::Completed, TraceStatus::Failed];
    let Some(mut newest) = MergedRows::of_channels(&[channel.to_owned()], &ended, &TraceMode::ALL) else {
        return Ok(Vec::new());
    };
    newest.attempts = true;
    newest.since = Some(since);
    newest.limit = MOST_MEASURED;
    let ids: Vec<String> = newest.find(conn).await?.into_iter().map(|(id, _)| id).collect();
    let rows = traces::table.filter(traces::id.eq_any(ids)).select(traces::duration_ms);
    let durations: Vec<Option<f64>> = on!(conn, c => rows.load(c).await)?;
    Ok(durations.into_iter().flatten().collect())
}

/// Returns the least duration that the share of the runs does not exceed.
fn percentile(mut durations: Vec<f64>) -> Option<f64> {
    durations.sort_by(f64::total_cmp);
    let place = durations.len().saturating_mul(PERCENTILE).div_ceil(100);
    durations.get(place.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentile_is_duration_of_a_run() {
        for (count, expected) in
            [(0_u32, None), (1, Some(1.0)), (19, Some(19.0)), (20, Some(19.0)), (100, Some(95.0))]
        {
            let durations = (1..=count).rev().map(f64::from).collect();
            assert_eq!(percentile(durations), expected, "{count}");
        }
    }
}
