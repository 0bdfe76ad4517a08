//! The table of backtests.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::{Map, Value};
use svc_model::Timestamp;

use super::model::{NewBacktest, StoredBacktest};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::json::to_json;
use crate::repo::operator_runs::run_table;
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

run_table!(backtests: BacktestColumns => StoredBacktest);

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
