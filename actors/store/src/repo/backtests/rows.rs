//! The table of backtests.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::{Map, Value};
use svc_model::{Page, Timestamp};

use super::model::{BacktestState, NewBacktest, StoredBacktest};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::schema::backtests;

/// A row without its lease.
#[derive(Queryable, Selectable)]
#[diesel(table_name = backtests)]
struct BacktestColumns {
    id: String,
    kind: String,
    definition: String,
    version: i64,
    terms_json: String,
    run_limit: i64,
    state: String,
    done: i64,
    position: Option<String>,
    report_json: Option<String>,
    reason: Option<String>,
    holder: Option<String>,
    started_by: String,
    started_at: NaiveDateTime,
    ended_at: Option<NaiveDateTime>,
}

impl From<BacktestColumns> for StoredBacktest {
    fn from(row: BacktestColumns) -> Self {
        let terms: Option<Map<String, Value>> = serde_json::from_str(&row.terms_json).ok();
        Self {
            id: row.id,
            kind: row.kind,
            definition: row.definition,
            version: row.version,
            terms: terms.unwrap_or_default(),
            limit: row.run_limit,
            state: row.state,
            done: row.done,
            position: row.position,
            report: row.report_json.and_then(|text| serde_json::from_str(&text).ok()),
            reason: row.reason,
            holder: row.holder,
            started_by: row.started_by,
            started_at: Timestamp::from_naive(row.started_at),
            ended_at: row.ended_at.map(Timestamp::from_naive),
        }
    }
}

/// The states of backtests that have not ended.
pub(super) const OPEN: [&str; 3] =
    [BacktestState::Pending.name(), BacktestState::Running.name(), BacktestState::Aborting.name()];

fn columns() -> <BacktestColumns as Selectable<diesel::sqlite::Sqlite>>::SelectExpression {
    <BacktestColumns as Selectable<diesel::sqlite::Sqlite>>::construct_selection()
}

pub(super) async fn get(conn: &mut Conn, id: &str) -> Result<Option<StoredBacktest>, StoreError> {
    let row = backtests::table.find(id).select(columns());
    let row: Option<BacktestColumns> = on!(conn, c => row.first(c).await.optional())?;
    Ok(row.map(Into::into))
}

/// Reads a backtest and locks it.
pub(super) async fn lock(conn: &mut Conn, id: &str) -> Result<Option<StoredBacktest>, StoreError> {
    let Conn::Postgres(c) = conn else { return get(conn, id).await };
    let row = backtests::table.find(id).select(columns()).for_update();
    let row: Option<BacktestColumns> = row.first(&mut **c).await.optional()?;
    Ok(row.map(Into::into))
}

/// Returns a page of the backtests, the newest first, and the number of all.
pub(super) async fn list(conn: &mut Conn, page: Page) -> Result<(Vec<StoredBacktest>, i64), StoreError> {
    let rows = backtests::table
        .select(columns())
        .order((backtests::started_at.desc(), backtests::id.desc()))
        .limit(page.limit)
        .offset(page.offset);
    let rows: Vec<BacktestColumns> = on!(conn, c => rows.load(c).await)?;
    let total: i64 = on!(conn, c => backtests::table.count().get_result(c).await)?;
    Ok((rows.into_iter().map(Into::into).collect(), total))
}

/// Returns the ids of the backtests that have not ended, the oldest first.
pub(super) async fn list_open(conn: &mut Conn) -> Result<Vec<String>, StoreError> {
    let open = backtests::table
        .filter(backtests::state.eq_any(OPEN))
        .order((backtests::started_at.asc(), backtests::id.asc()))
        .select(backtests::id);
    Ok(on!(conn, c => open.load(c).await)?)
}

pub(super) async fn insert(conn: &mut Conn, id: &str, new: &NewBacktest) -> Result<(), StoreError> {
    let row = (
        backtests::id.eq(id),
        backtests::kind.eq(new.kind.name()),
        backtests::definition.eq(new.definition.as_str()),
        backtests::version.eq(new.version),
        backtests::terms_json.eq(to_json(&new.terms)?),
        backtests::run_limit.eq(new.limit),
        backtests::started_by.eq(new.started_by.as_str()),
    );
    on!(conn, c => diesel::insert_into(backtests::table).values(row).execute(c).await)?;
    Ok(())
}

/// Writes the progress of a locked backtest.
pub(super) async fn save(conn: &mut Conn, backtest: &StoredBacktest) -> Result<(), StoreError> {
    let report = backtest.report.as_ref().map(to_json).transpose()?;
    let progress = (
        backtests::state.eq(backtest.state.as_str()),
        backtests::done.eq(backtest.done),
        backtests::position.eq(backtest.position.as_deref()),
        backtests::report_json.eq(report),
        backtests::reason.eq(backtest.reason.as_deref()),
        backtests::ended_at.eq(backtest.ended_at.map(Timestamp::naive)),
    );
    on!(conn, c => diesel::update(backtests::table.find(&backtest.id)).set(progress).execute(c).await)?;
    Ok(())
}

pub(super) async fn delete_expired(
    conn: &mut Conn,
    before: NaiveDateTime,
    chunk: i64,
) -> Result<u64, StoreError> {
    let ended = backtests::table
        .filter(backtests::ended_at.lt(before))
        .order(backtests::started_at.asc())
        .limit(chunk)
        .select(backtests::id);
    let ids: Vec<String> = on!(conn, c => ended.load(c).await)?;
    let deleted = on!(conn, c => {
        diesel::delete(backtests::table.filter(backtests::id.eq_any(ids))).execute(c).await
    })?;
    Ok(u64::try_from(deleted).unwrap_or(u64::MAX))
}

fn to_json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Database(error.to_string()))
}
