//! The table of runs.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::{Map, Value};
use svc_model::{Page, Timestamp};

use super::model::{BulkError, BulkRun, BulkState, NewBulkRun};
use crate::conn::{Conn, on};
use crate::error::StoreError;
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
            filter: filter.unwrap_or_default(),
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

/// The states of runs that have not ended.
pub(super) const OPEN: [&str; 2] = [BulkState::Running.name(), BulkState::Aborting.name()];

fn columns() -> <StoredBulkRun as Selectable<diesel::sqlite::Sqlite>>::SelectExpression {
    <StoredBulkRun as Selectable<diesel::sqlite::Sqlite>>::construct_selection()
}

pub(super) async fn get(conn: &mut Conn, id: &str) -> Result<Option<BulkRun>, StoreError> {
    let row = bulk_runs::table.find(id).select(columns());
    let row: Option<StoredBulkRun> = on!(conn, c => row.first(c).await.optional())?;
    Ok(row.map(Into::into))
}

/// Reads a run and locks it.
pub(super) async fn lock(conn: &mut Conn, id: &str) -> Result<Option<BulkRun>, StoreError> {
    let Conn::Postgres(c) = conn else { return get(conn, id).await };
    let row = bulk_runs::table.find(id).select(columns()).for_update();
    let row: Option<StoredBulkRun> = row.first(&mut **c).await.optional()?;
    Ok(row.map(Into::into))
}

/// Returns a page of the runs, the newest first, and the number of all.
pub(super) async fn list(conn: &mut Conn, page: Page) -> Result<(Vec<BulkRun>, i64), StoreError> {
    let rows = bulk_runs::table
        .select(columns())
        .order((bulk_runs::started_at.desc(), bulk_runs::id.desc()))
        .limit(page.limit)
        .offset(page.offset);
    let rows: Vec<StoredBulkRun> = on!(conn, c => rows.load(c).await)?;
    let total: i64 = on!(conn, c => bulk_runs::table.count().get_result(c).await)?;
    Ok((rows.into_iter().map(Into::into).collect(), total))
}

/// Returns the ids of the runs that have not ended, the oldest first.
pub(super) async fn list_open(conn: &mut Conn) -> Result<Vec<String>, StoreError> {
    let open = bulk_runs::table
        .filter(bulk_runs::state.eq_any(OPEN))
        .order((bulk_runs::started_at.asc(), bulk_runs::id.asc()))
        .select(bulk_runs::id);
    Ok(on!(conn, c => open.load(c).await)?)
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

pub(super) async fn delete_expired(
    conn: &mut Conn,
    before: NaiveDateTime,
    chunk: i64,
) -> Result<u64, StoreError> {
    let ended = bulk_runs::table
        .filter(bulk_runs::ended_at.lt(before))
        .order(bulk_runs::started_at.asc())
        .limit(chunk)
        .select(bulk_runs::id);
    let ids: Vec<String> = on!(conn, c => ended.load(c).await)?;
    let deleted = on!(conn, c => {
        diesel::delete(bulk_runs::table.filter(bulk_runs::id.eq_any(ids))).execute(c).await
    })?;
    Ok(u64::try_from(deleted).unwrap_or(u64::MAX))
}

fn to_json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Database(error.to_string()))
}
