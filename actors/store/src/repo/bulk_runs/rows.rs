//! The table of runs.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::{Map, Value};
use svc_model::Timestamp;

use super::model::{BulkError, BulkRun, NewBulkRun};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::json::to_json;
use crate::repo::operator_runs::run_table;
use crate::schema::bulk_runs;

/// A row without the instants of a backfill.
#[derive(Queryable, Selectable)]
#[diesel(table_name = bulk_runs)]
struct StoredBulkRun {
    id: String,
    kind: String,
    action: String,
    filter_json: String,
    rate_per_second: i64,
    state: String,
    matched: i64,
    done: i64,
    failed: i64,
    skipped: i64,
    errors_json: String,
    reason: Option<String>,
    position: Option<String>,
    holder: Option<String>,
    started_by: String,
    started_at: NaiveDateTime,
    ended_at: Option<NaiveDateTime>,
}

impl From<StoredBulkRun> for BulkRun {
    fn from(row: StoredBulkRun) -> Self {
        let filter: Option<Map<String, Value>> = serde_json::from_str(&row.filter_json).ok();
        let errors: Option<Vec<BulkError>> = serde_json::from_str(&row.errors_json).ok();
        Self {
            id: row.id,
            kind: row.kind,
            action: row.action,
            filter: filter.unwrap_or_else(unreadable_filter),
            rate_per_second: row.rate_per_second,
            state: row.state,
            matched: row.matched,
            done: row.done,
            failed: row.failed,
            skipped: row.skipped,
            errors: errors.unwrap_or_default(),
            reason: row.reason,
            position: row.position,
            holder: row.holder,
            started_by: row.started_by,
            started_at: Timestamp::from_naive(row.started_at),
            ended_at: row.ended_at.map(Timestamp::from_naive),
        }
    }
}

run_table!(bulk_runs: StoredBulkRun => BulkRun);

/// Returns a filter with a word that no list has, so that no node acts by it. An empty one would select every row.
fn unreadable_filter() -> Map<String, Value> {
    Map::from_iter([("unreadable".to_owned(), Value::Bool(true))])
}

pub(super) async fn insert(conn: &mut Conn, id: &str, run: &NewBulkRun) -> Result<(), StoreError> {
    let instants = run.instants.as_ref().map(to_json).transpose()?;
    let row = (
        bulk_runs::id.eq(id),
        bulk_runs::kind.eq(run.kind.name()),
        bulk_runs::action.eq(run.action.name()),
        bulk_runs::filter_json.eq(to_json(&run.filter)?),
        bulk_runs::instants_json.eq(instants),
        bulk_runs::rate_per_second.eq(i64::from(run.rate_per_second)),
        bulk_runs::matched.eq(run.matched),
        bulk_runs::started_by.eq(run.started_by.as_str()),
    );
    on!(conn, c => diesel::insert_into(bulk_runs::table).values(row).execute(c).await)?;
    Ok(())
}

/// Writes the progress of a locked run.
pub(super) async fn save(conn: &mut Conn, run: &BulkRun) -> Result<(), StoreError> {
    let progress = (
        bulk_runs::state.eq(run.state.as_str()),
        bulk_runs::matched.eq(run.matched),
        bulk_runs::done.eq(run.done),
        bulk_runs::failed.eq(run.failed),
        bulk_runs::skipped.eq(run.skipped),
        bulk_runs::errors_json.eq(to_json(&run.errors)?),
        bulk_runs::reason.eq(run.reason.as_deref()),
        bulk_runs::position.eq(run.position.as_deref()),
        bulk_runs::ended_at.eq(run.ended_at.map(Timestamp::naive)),
    );
    on!(conn, c => diesel::update(bulk_runs::table.find(&run.id)).set(progress).execute(c).await)?;
    Ok(())
}

/// Returns the instants of a backfill.
pub(super) async fn get_instants(conn: &mut Conn, id: &str) -> Result<Vec<NaiveDateTime>, StoreError> {
    let text = bulk_runs::table.find(id).select(bulk_runs::instants_json);
    let text: Option<Option<String>> = on!(conn, c => text.first(c).await.optional())?;
    let text = text.flatten().unwrap_or_else(|| "[]".to_owned());
    serde_json::from_str(&text).map_err(|error| StoreError::Database(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_filter_is_not_an_empty_one() {
        let stored = |filter: &str| StoredBulkRun {
            id: "r".to_owned(),
            kind: "dead_letters".to_owned(),
            action: "purge".to_owned(),
            filter_json: filter.to_owned(),
            rate_per_second: 1,
            state: "running".to_owned(),
            matched: 0,
            done: 0,
            failed: 0,
            skipped: 0,
            errors_json: "[]".to_owned(),
            reason: None,
            position: None,
            holder: None,
            started_by: "ops".to_owned(),
            started_at: NaiveDateTime::default(),
            ended_at: None,
        };
        assert!(BulkRun::from(stored("{}")).filter.is_empty());
        for broken in ["", "{", "[]"] {
            assert!(BulkRun::from(stored(broken)).filter.contains_key("unreadable"), "{broken}");
        }
    }
}
