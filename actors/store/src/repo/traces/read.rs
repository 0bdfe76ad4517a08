//! Reads of single traces.

use chrono::NaiveDateTime;
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::pg::{Pg, PgValue};
use diesel::prelude::*;
use diesel::sql_types;
use diesel::sqlite::Sqlite;
use diesel_async::RunQueryDsl;
use svc_model::Timestamp;
use uuid::Uuid;

use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::column_list;
use crate::repo::traces::model::FirstAttempt;
use crate::repo::traces::{TraceAccess, TraceAttempt, TraceRecord, TraceRow, TraceSource, TraceStatus};
use crate::schema::traces;

/// A timestamp that may be malformed: SQLite stores any text. A malformed one must not fail the read of other
/// rows.
#[derive(Clone, Copy, Debug, FromSqlRow)]
pub(in crate::repo) struct LenientTimestamp(pub(in crate::repo) Option<NaiveDateTime>);

impl LenientTimestamp {
    pub(in crate::repo) fn into_timestamp(self) -> Option<Timestamp> {
        self.0.map(Timestamp::from_naive)
    }
}

impl FromSql<sql_types::Timestamp, Sqlite> for LenientTimestamp {
    fn from_sql(value: <Sqlite as diesel::backend::Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        Ok(Self(FromSql::<sql_types::Timestamp, Sqlite>::from_sql(value).ok()))
    }
}

impl FromSql<sql_types::Timestamp, Pg> for LenientTimestamp {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        Ok(Self(FromSql::<sql_types::Timestamp, Pg>::from_sql(value).ok()))
    }
}

/// Attempts that a read of their work lists at most, the newest.
const LISTED_ATTEMPTS: i64 = 100;

column_list! {
    /// The columns of a list, in the order of [`Columns`].
    pub(super) const COLUMNS: ListColumns = traces {
        id,
        channel,
        channel_id,
        workflow_id,
        workflow_version,
        mode,
        status,
        request_id,
        error_code,
        error_group,
        error_message,
        duration_ms,
        started_at,
        completed_at,
        created_at,
        updated_at,
        attempt,
        attempt_of,
        next_retry_at,
        deliver_at,
        rerun_of,
    }
}

/// A row of a list.
#[derive(Queryable)]
pub(super) struct Columns {
    pub(super) id: String,
    channel: String,
    channel_id: Option<String>,
    workflow_id: Option<String>,
    workflow_version: Option<i64>,
    mode: String,
    status: String,
    request_id: Option<String>,
    error_code: Option<String>,
    error_group: Option<String>,
    error_message: Option<String>,
    duration_ms: Option<f64>,
    started_at: Option<LenientTimestamp>,
    completed_at: Option<LenientTimestamp>,
    pub(super) created_at: LenientTimestamp,
    updated_at: LenientTimestamp,
    attempt: i64,
    attempt_of: Option<String>,
    next_retry_at: Option<LenientTimestamp>,
    deliver_at: Option<LenientTimestamp>,
    rerun_of: Option<String>,
}

impl Columns {
    /// Returns the row, unless its own times are unreadable.
    pub(super) fn into_row(self) -> Option<TraceRow> {
        Some(TraceRow {
            id: self.id,
            channel: self.channel,
            channel_id: self.channel_id,
            workflow_id: self.workflow_id,
            workflow_version: self.workflow_version,
            mode: self.mode,
            status: self.status,
            request_id: self.request_id,
            error_code: self.error_code,
            error_group: self.error_group,
            error_message: self.error_message,
            duration_ms: self.duration_ms,
            started_at: self.started_at.and_then(LenientTimestamp::into_timestamp),
            completed_at: self.completed_at.and_then(LenientTimestamp::into_timestamp),
            created_at: self.created_at.into_timestamp()?,
            updated_at: self.updated_at.into_timestamp()?,
            attempt: self.attempt,
            attempt_of: self.attempt_of,
            next_retry_at: self.next_retry_at.and_then(LenientTimestamp::into_timestamp),
            deliver_at: self.deliver_at.and_then(LenientTimestamp::into_timestamp),
            rerun_of: self.rerun_of,
        })
    }
}

pub(super) async fn access(conn: &mut Conn, id: &str) -> Result<Option<TraceAccess>, StoreError> {
    let token_hash: Option<Option<String>> = on!(conn, c => {
        traces::table.find(id).select(traces::access_token_hash).first(c).await.optional()
    })?;
    Ok(token_hash.map(|token_hash| TraceAccess { token_hash }))
}

/// Reruns that a read of a trace lists at most, the oldest.
const LISTED_RERUNS: i64 = 100;

type Carried = (Option<String>, Option<String>, Option<String>, Option<String>);

type CancelColumns = (Option<LenientTimestamp>, Option<String>, Option<String>);

pub(super) async fn get(conn: &mut Conn, id: &str) -> Result<Option<TraceRecord>, StoreError> {
    let carried = (
        traces::result_json,
        traces::task_trace_json,
        traces::first_attempt_json,
        traces::distributed_trace_id,
    );
    let cancel = (traces::cancel_requested_at, traces::cancelled_by, traces::in_flight_json);
    let row: Option<(Columns, Carried, CancelColumns)> = on!(conn, c => {
        traces::table.find(id).select((COLUMNS, carried, cancel)).first(c).await.optional()
    })?;
    let Some((columns, carried, cancel)) = row else { return Ok(None) };
    let (result_json, task_trace_json, first, distributed_trace_id) = carried;
    let (cancel_requested_at, cancelled_by, in_flight_json) = cancel;
    let row = columns
        .into_row()
        .ok_or_else(|| StoreError::Database(format!("trace '{id}' has no readable time")))?;
    let attempts = list_attempts(conn, &row, first.as_deref()).await?;
    let cancel_requested_at = cancel_requested_at.and_then(LenientTimestamp::into_timestamp);
    let reruns = list_reruns(conn, &row.id).await?;
    Ok(Some(TraceRecord {
        row,
        result_json,
        task_trace_json,
        distributed_trace_id,
        cancel_requested_at,
        cancelled_by,
        in_flight_json,
        reruns,
        attempts,
    }))
}

/// Lists the traces that run a trace again, the oldest first.
async fn list_reruns(conn: &mut Conn, id: &str) -> Result<Vec<String>, StoreError> {
    let reruns = traces::table
        .filter(traces::rerun_of.eq(id))
        .order((traces::created_at.asc(), traces::id.asc()))
        .limit(LISTED_RERUNS)
        .select(traces::id);
    Ok(on!(conn, c => reruns.load(c).await)?)
}

/// Returns the columns of a trace from which a report of its failure is made.
pub(super) async fn source(conn: &mut Conn, id: &str) -> Result<Option<TraceSource>, StoreError> {
    let row: Option<(String, Option<String>, String, Option<String>)> = on!(conn, c => {
        traces::table
            .find(id)
            .select((traces::id, traces::channel_id, traces::channel, traces::input_json))
            .first(c)
            .await
            .optional()
    })?;
    Ok(row.map(|(id, channel_id, channel, input_json)| TraceSource { id, channel_id, channel, input_json }))
}

pub(super) async fn exists(conn: &mut Conn, id: Uuid) -> Result<bool, StoreError> {
    let query = diesel::select(diesel::dsl::exists(traces::table.find(id.to_string())));
    Ok(on!(conn, c => query.get_result(c).await)?)
}

type AttemptColumns =
    (String, i64, String, Option<String>, Option<f64>, Option<LenientTimestamp>, Option<LenientTimestamp>);

/// Returns the first attempt at the work of a row. The row shows a later one if the first attempt is stored by itself.
fn first_attempt(row: &TraceRow, stored: Option<FirstAttempt>) -> TraceAttempt {
    match stored {
        Some(first) => TraceAttempt {
            attempt: 1,
            trace_id: row.id.clone(),
            status: first.status.unwrap_or_else(|| TraceStatus::Failed.name().to_owned()),
            error_message: first.error_message,
            duration_ms: first.duration_ms,
            started_at: first.started_at,
            completed_at: first.completed_at,
        },
        None => TraceAttempt {
            attempt: 1,
            trace_id: row.id.clone(),
            status: row.status.clone(),
            error_message: row.error_message.clone(),
            duration_ms: row.duration_ms,
            started_at: row.started_at,
            completed_at: row.completed_at,
        },
    }
}

/// Lists the attempts at the work of a row, the first one first; none for the row of a later attempt.
async fn list_attempts(
    conn: &mut Conn,
    row: &TraceRow,
    first: Option<&str>,
) -> Result<Vec<TraceAttempt>, StoreError> {
    if row.attempt_of.is_some() {
        return Ok(Vec::new());
    }
    let first: Option<FirstAttempt> = first.and_then(|text| serde_json::from_str(text).ok());
    let mut attempts = vec![first_attempt(row, first)];
    if row.attempt < 2 {
        return Ok(attempts);
    }
    let mut later: Vec<AttemptColumns> = on!(conn, c => {
        traces::table
            .filter(traces::attempt_of.eq(&row.id))
            .order(traces::attempt.desc())
            .limit(LISTED_ATTEMPTS)
            .select((
                traces::id,
                traces::attempt,
                traces::status,
                traces::error_message,
                traces::duration_ms,
                traces::started_at,
                traces::completed_at,
            ))
            .load(c)
            .await
    })?;
    later.reverse();
    attempts.extend(later.into_iter().map(|columns| {
        let (trace_id, attempt, status, error_message, duration_ms, started_at, completed_at) = columns;
        TraceAttempt {
            attempt,
            trace_id,
            status,
            error_message,
            duration_ms,
            started_at: started_at.and_then(LenientTimestamp::into_timestamp),
            completed_at: completed_at.and_then(LenientTimestamp::into_timestamp),
        }
    }));
    Ok(attempts)
}
