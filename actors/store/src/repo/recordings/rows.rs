//! The rows of recordings.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::{Page, Timestamp};

use super::model::{NewRunRecording, RecordingFilter, RecordingRow, StoredRunRecording};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::RowKey;
use crate::repo::keyset::KeysetCondition;
use crate::schema::run_recordings;

/// A row without its content.
#[derive(Queryable, Selectable)]
#[diesel(table_name = run_recordings)]
struct StoredRow {
    id: String,
    run_id: String,
    run_key: String,
    channel: String,
    workflow_id: Option<String>,
    workflow_version: Option<i64>,
    source: String,
    outcome: String,
    bytes: i64,
    created_at: NaiveDateTime,
}

impl From<StoredRow> for RecordingRow {
    fn from(row: StoredRow) -> Self {
        Self {
            id: row.id,
            run_id: row.run_id,
            run_key: row.run_key,
            channel: row.channel,
            workflow_id: row.workflow_id,
            workflow_version: row.workflow_version,
            source: row.source,
            outcome: row.outcome,
            bytes: row.bytes,
            created_at: Timestamp::from_naive(row.created_at),
        }
    }
}

fn row_columns() -> <StoredRow as Selectable<diesel::sqlite::Sqlite>>::SelectExpression {
    <StoredRow as Selectable<diesel::sqlite::Sqlite>>::construct_selection()
}

/// Adds the conditions of a filter to a boxed query or deletion.
macro_rules! filtered {
    ($query:expr, $filter:expr) => {{
        let mut query = $query;
        if let Some(channel) = &$filter.channel {
            query = query.filter(run_recordings::channel.eq(channel.as_str()));
        }
        if let Some(run_key) = &$filter.run_key {
            query = query.filter(run_recordings::run_key.eq(run_key.as_str()));
        }
        if let Some(workflow) = &$filter.workflow {
            query = query.filter(run_recordings::workflow_id.eq(workflow.as_str()));
        }
        if let Some(version) = $filter.version {
            query = query.filter(run_recordings::workflow_version.eq(version));
        }
        if let Some(outcome) = &$filter.outcome {
            query = query.filter(run_recordings::outcome.eq(outcome.as_str()));
        }
        if let Some(since) = $filter.since {
            query = query.filter(run_recordings::created_at.ge(since.naive()));
        }
        if let Some(until) = $filter.until {
            query = query.filter(run_recordings::created_at.lt(until.naive()));
        }
        query
    }};
}

/// Writes a recording, unless it is stored already.
pub(super) async fn insert(conn: &mut Conn, new: &NewRunRecording) -> Result<(), StoreError> {
    let workflow = new.workflow.as_ref();
    let row = (
        run_recordings::id.eq(new.id.as_str()),
        run_recordings::run_id.eq(new.run_id.as_str()),
        run_recordings::run_key.eq(new.run_key.as_str()),
        run_recordings::channel_id.eq(&*new.channel_id),
        run_recordings::channel.eq(&*new.channel),
        run_recordings::workflow_id.eq(workflow.map(|workflow| &*workflow.id)),
        run_recordings::workflow_version.eq(workflow.map(|workflow| workflow.version)),
        run_recordings::source.eq(new.source),
        run_recordings::outcome.eq(new.outcome),
        run_recordings::recording_json.eq(new.recording.as_str()),
        run_recordings::bytes.eq(i64::try_from(new.recording.len()).unwrap_or(i64::MAX)),
    );
    let insert = diesel::insert_into(run_recordings::table).values(row).on_conflict_do_nothing();
    on!(conn, c => insert.execute(c).await)?;
    Ok(())
}

/// Returns the number of recordings of a channel since an instant.
pub(super) async fn count_since(
    conn: &mut Conn,
    channel_id: &str,
    since: NaiveDateTime,
) -> Result<u64, StoreError> {
    let of_channel = run_recordings::table
        .filter(run_recordings::channel_id.eq(channel_id))
        .filter(run_recordings::created_at.ge(since))
        .count();
    let count: i64 = on!(conn, c => of_channel.get_result(c).await)?;
    Ok(count.unsigned_abs())
}

/// Returns a page of the rows that match, the newest first, and the number of all of them.
pub(super) async fn list(
    conn: &mut Conn,
    filter: &RecordingFilter,
    page: Page,
) -> Result<(Vec<RecordingRow>, i64), StoreError> {
    let rows: Vec<StoredRow> = on!(conn, c: Db => {
        let rows = run_recordings::table.select(row_columns()).into_boxed::<Db>();
        let rows = filtered!(rows, filter)
            .order((run_recordings::created_at.desc(), run_recordings::id.desc()))
            .limit(page.limit)
            .offset(page.offset);
        rows.load(c).await
    })?;
    let total: i64 = on!(conn, c: Db => {
        let rows = run_recordings::table.select(diesel::dsl::count_star()).into_boxed::<Db>();
        filtered!(rows, filter).get_result(c).await
    })?;
    Ok((rows.into_iter().map(RecordingRow::from).collect(), total))
}

/// Returns the next recordings that match, with their content, the newest first.
pub(super) async fn read_next(
    conn: &mut Conn,
    filter: &RecordingFilter,
    position: Option<RowKey>,
    limit: i64,
) -> Result<Vec<StoredRunRecording>, StoreError> {
    let rows: Vec<(StoredRow, String)> = on!(conn, c: Db => {
        let rows = run_recordings::table
            .select((row_columns(), run_recordings::recording_json))
            .into_boxed::<Db>();
        let mut rows = filtered!(rows, filter);
        if let Some(position) = position {
            rows = rows.filter(KeysetCondition::newest_first(position));
        }
        rows.order((run_recordings::created_at.desc(), run_recordings::id.desc())).limit(limit).load(c).await
    })?;
    Ok(rows.into_iter().map(|(row, recording)| StoredRunRecording { row: row.into(), recording }).collect())
}

/// Returns a recording with its content.
pub(super) async fn find(conn: &mut Conn, id: &str) -> Result<Option<StoredRunRecording>, StoreError> {
    let by_id = run_recordings::table.find(id).select((row_columns(), run_recordings::recording_json));
    let found: Option<(StoredRow, String)> = on!(conn, c => by_id.first(c).await.optional())?;
    Ok(found.map(|(row, recording)| StoredRunRecording { row: row.into(), recording }))
}

/// Deletes the rows that match.
pub(super) async fn delete(conn: &mut Conn, filter: &RecordingFilter) -> Result<u64, StoreError> {
    let deleted = on!(conn, c: Db => {
        let rows = filtered!(diesel::delete(run_recordings::table).into_boxed::<Db>(), filter);
        rows.execute(c).await
    })?;
    Ok(u64::try_from(deleted).unwrap_or(u64::MAX))
}

/// Deletes the oldest rows before an instant, `chunk` at most.
pub(super) async fn delete_expired(
    conn: &mut Conn,
    before: NaiveDateTime,
    chunk: i64,
) -> Result<u64, StoreError> {
    let oldest = run_recordings::table
        .select(run_recordings::id)
        .filter(run_recordings::created_at.lt(before))
        .order(run_recordings::created_at)
        .limit(chunk);
    let ids: Vec<String> = on!(conn, c => oldest.load(c).await)?;
    let expired = run_recordings::table.filter(run_recordings::id.eq_any(ids));
    let deleted = on!(conn, c => diesel::delete(expired).execute(c).await)?;
    Ok(u64::try_from(deleted).unwrap_or(u64::MAX))
}
