//! The table of dead letters.

use std::collections::BTreeMap;
use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde::Serialize;
use svc_model::{ServiceError, Timestamp};

use crate::clock::{self, Now};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::filters::AnyOf;
use crate::repo::keyset::{self, CursorKind};
use crate::repo::traces::{LenientTimestamp, attempts};
use crate::repo::{RowKey, column_list};
use crate::schema::{trace_dlq, traces};

/// A filter on dead letters, and their order. All given conditions must hold, each with any of its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadLetterFilter {
    /// Name of the channel.
    pub channel: Option<AnyOf>,
    /// Tags, of which the channel has one.
    pub tag: Option<AnyOf>,
    /// Selects letters without a retry left (true), or with one (false).
    pub exhausted: Option<bool>,
    /// Id of the workflow of the failure.
    pub workflow: Option<AnyOf>,
    /// Versions of the workflow that failed; any if there are none.
    pub versions: Vec<i64>,
    /// Task whose error the failure is.
    pub task: Option<AnyOf>,
    pub error_code: Option<AnyOf>,
    /// Group of the failure.
    pub error_group: Option<AnyOf>,
    /// Id of the trace of the failed run, or of its work.
    pub trace_id: Option<AnyOf>,
    pub run_key: Option<AnyOf>,
    /// Earliest instant of the failure, inclusive.
    pub since: Option<Timestamp>,
    /// Latest instant of the failure, exclusive.
    pub until: Option<Timestamp>,
    /// True to list the oldest first.
    pub oldest_first: bool,
    /// The cursor of the previous page.
    pub cursor: Option<String>,
    /// True to count the letters with and without a retry left.
    pub include_counts: bool,
    /// True to leave out the number of all rows.
    pub without_total: bool,
}

impl DeadLetterFilter {
    pub(super) const fn cursor_kind(&self) -> CursorKind {
        if self.oldest_first { CursorKind::DeadLettersOldestFirst } else { CursorKind::DeadLetters }
    }

    /// Returns the key after which the page begins.
    ///
    /// # Errors
    /// 400 for the cursor of another list.
    pub(super) fn after(&self) -> Result<Option<RowKey>, ServiceError> {
        self.cursor.as_ref().map(|cursor| keyset::decode(self.cursor_kind(), cursor)).transpose()
    }
}

/// A page of dead letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetterPage {
    pub rows: Vec<DeadLetterRow>,
    /// Number of matching rows on all pages, unless it is left out.
    pub total: Option<i64>,
    /// Number of letters with a retry left (`retrying`) and without (`exhausted`) among the newest, if requested.
    pub counts: Option<BTreeMap<String, i64>>,
    /// Cursor of the next page; `None` on the last one.
    pub next_cursor: Option<String>,
    /// The instant up to which rows were read, for a page that is not full although more may match.
    pub scanned_until: Option<Timestamp>,
}

/// A dead letter without its payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeadLetterRow {
    pub id: String,
    /// Trace of the failed run.
    pub trace_id: String,
    /// Id of the work, if the run was a later attempt at it.
    pub attempt_of: Option<String>,
    /// Name of the channel.
    pub channel: String,
    /// Reason of the failure.
    pub error_message: String,
    /// Group of the failure.
    pub error_group: Option<String>,
    /// Retries so far.
    pub retry_count: i64,
    /// Maximum number of retries.
    pub max_retries: i64,
    /// Instant at which the next retry is due.
    pub next_retry_at: Timestamp,
    /// Instant of the failure.
    pub created_at: Timestamp,
    /// Instant of the last write of the letter.
    pub updated_at: Timestamp,
}

/// A dead letter with its payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeadLetter {
    /// The fields that lists show.
    #[serde(flatten)]
    pub row: DeadLetterRow,
    /// The payload, as JSON.
    pub payload_json: String,
    /// The metadata of the request, as JSON.
    pub metadata_json: String,
}

/// A letter that is claimed for a retry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedLetter {
    pub id: String,
    /// Trace of the failed run.
    pub trace_id: String,
    /// Id of the work, if the run was a later attempt at it.
    pub attempt_of: Option<String>,
    /// Name of the channel.
    pub channel: String,
    /// The payload, as JSON.
    pub payload_json: String,
    /// The metadata of the request, as JSON.
    pub metadata_json: String,
    /// Retries so far.
    pub retry_count: i64,
    /// Maximum number of retries.
    pub max_retries: i64,
    /// The share that its work takes while it runs; `None` if its channel had no shares when it was accepted.
    pub share: Option<LetterShare>,
}

/// The share of a channel that the work of a dead letter takes while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetterShare {
    pub channel_id: String,
    /// The key that has the share; empty for one of the channel alone.
    pub key: String,
}

impl ClaimedLetter {
    /// Returns the id of the work that the run was an attempt at.
    pub fn work(&self) -> &str {
        self.attempt_of.as_deref().unwrap_or(&self.trace_id)
    }
}

column_list! {
    pub(super) const COLUMNS: ListColumns = trace_dlq {
        id,
        trace_id,
        attempt_of,
        channel,
        error_message,
        error_group,
        retry_count,
        max_retries,
        next_retry_at,
        created_at,
        updated_at,
    }
}

#[derive(Queryable)]
pub(super) struct LetterColumns {
    id: String,
    trace_id: String,
    attempt_of: Option<String>,
    channel: String,
    error_message: String,
    error_group: Option<String>,
    retry_count: i64,
    max_retries: i64,
    next_retry_at: LenientTimestamp,
    created_at: LenientTimestamp,
    updated_at: LenientTimestamp,
}

impl LetterColumns {
    /// Returns the row, unless its times are unreadable.
    pub(super) fn into_row(self) -> Option<DeadLetterRow> {
        Some(DeadLetterRow {
            id: self.id,
            trace_id: self.trace_id,
            attempt_of: self.attempt_of,
            channel: self.channel,
            error_message: self.error_message,
            error_group: self.error_group,
            retry_count: self.retry_count,
            max_retries: self.max_retries,
            next_retry_at: self.next_retry_at.into_timestamp()?,
            created_at: self.created_at.into_timestamp()?,
            updated_at: self.updated_at.into_timestamp()?,
        })
    }
}

pub(super) async fn get(conn: &mut Conn, id: &str) -> Result<Option<DeadLetter>, StoreError> {
    let carried = (trace_dlq::payload_json, trace_dlq::metadata_json);
    let row: Option<(LetterColumns, (String, String))> = on!(conn, c => {
        trace_dlq::table.find(id).select((COLUMNS, carried)).first(c).await.optional()
    })?;
    let Some((columns, (payload_json, metadata_json))) = row else { return Ok(None) };
    let row = columns
        .into_row()
        .ok_or_else(|| StoreError::Database(format!("dead letter '{id}' has no readable time")))?;
    Ok(Some(DeadLetter { row, payload_json, metadata_json }))
}

pub(super) async fn depth(conn: &mut Conn) -> Result<i64, StoreError> {
    Ok(on!(conn, c => trace_dlq::table.count().get_result(c).await)?)
}

pub(super) async fn count_exhausted(conn: &mut Conn) -> Result<i64, StoreError> {
    let exhausted = trace_dlq::table.filter(trace_dlq::retry_count.ge(trace_dlq::max_retries));
    Ok(on!(conn, c => exhausted.count().get_result(c).await)?)
}

pub(super) async fn requeue(conn: &mut Conn, id: &str) -> Result<(), StoreError> {
    let afresh = (
        trace_dlq::retry_count.eq(0),
        trace_dlq::next_retry_at.eq(Now),
        trace_dlq::claimed_by.eq(None::<&str>),
        trace_dlq::claimed_until.eq(None::<chrono::NaiveDateTime>),
        trace_dlq::awaited_channel.eq(None::<&str>),
    );
    on!(conn, c => diesel::update(trace_dlq::table.find(id)).set(afresh).execute(c).await)?;
    wait_for_retry(conn, id, Duration::ZERO).await?;
    forget_cancel(conn, id).await
}

/// Removes the order to cancel from the work of a letter: the work begins again.
async fn forget_cancel(conn: &mut Conn, id: &str) -> Result<(), StoreError> {
    let letter: Option<(String, Option<String>)> = on!(conn, c => {
        trace_dlq::table
            .find(id)
            .select((trace_dlq::trace_id, trace_dlq::attempt_of))
            .first(c)
            .await
            .optional()
    })?;
    let Some((trace, work)) = letter else { return Ok(()) };
    let row = traces::table.find(work.unwrap_or(trace)).filter(traces::cancel_requested_at.is_not_null());
    let none = (
        traces::cancel_requested_at.eq(None::<chrono::NaiveDateTime>),
        traces::cancelled_by.eq(None::<&str>),
        traces::cancel_reports.eq(None::<bool>),
    );
    on!(conn, c => diesel::update(row).set(none).execute(c).await)?;
    Ok(())
}

/// Has the work of a letter wait for its next attempt, due after `delay`.
pub(super) async fn wait_for_retry(conn: &mut Conn, id: &str, delay: Duration) -> Result<(), StoreError> {
    let letter: Option<(String, Option<String>)> = on!(conn, c => {
        trace_dlq::table
            .find(id)
            .select((trace_dlq::trace_id, trace_dlq::attempt_of))
            .first(c)
            .await
            .optional()
    })?;
    match letter {
        Some((trace, work)) => attempts::wait_for_retry(conn, work.as_deref().unwrap_or(&trace), delay).await,
        None => Ok(()),
    }
}

pub(super) async fn purge(conn: &mut Conn, older_than_hours: u64) -> Result<u64, StoreError> {
    let before = clock::hours_ago(conn, older_than_hours).await?;
    let exhausted = trace_dlq::table
        .filter(trace_dlq::retry_count.ge(trace_dlq::max_retries))
        .filter(trace_dlq::created_at.lt(before));
    let purged = on!(conn, c => diesel::delete(exhausted).execute(c).await)?;
    Ok(u64::try_from(purged).unwrap_or(u64::MAX))
}

pub(super) async fn delete_expired(conn: &mut Conn, hours: u64, chunk: i64) -> Result<u64, StoreError> {
    let before = clock::hours_ago(conn, hours).await?;
    let expired = trace_dlq::table
        .filter(trace_dlq::retry_count.ge(trace_dlq::max_retries))
        .filter(trace_dlq::created_at.lt(before))
        .select(trace_dlq::id)
        .limit(chunk);
    let ids: Vec<String> = on!(conn, c => expired.load(c).await)?;
    let deleted = on!(conn, c => {
        diesel::delete(trace_dlq::table.filter(trace_dlq::id.eq_any(ids))).execute(c).await
    })?;
    Ok(u64::try_from(deleted).unwrap_or(u64::MAX))
}
