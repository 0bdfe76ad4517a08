//! The ends of traces off the hot path: a failure with its dead letter, and deletion.

use std::sync::Arc;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use serde_json::{Map, Value};
use svc_model::id::new_ordered_id;
use svc_model::{ErrorGroup, FailureFacts};
use uuid::Uuid;

use crate::clock::{self, FromNow};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::traces::change::TraceWrite;
use crate::repo::traces::unfinished::UNFINISHED;
use crate::repo::traces::{TraceEnd, TraceFailure, TraceMode, TraceStatus, attempts};
use crate::schema::{trace_dlq, traces};

/// Condition on accepted work whose retry nothing is left to make: neither its dead letter nor an attempt that
/// runs. A node of the release before ends an attempt without its work.
const FORGOTTEN: &str = "((traces.status = 'retrying' OR (traces.status = 'running' AND traces.attempt > 1 \
         AND traces.attempt_of IS NULL)) \
     AND NOT EXISTS (SELECT 1 FROM trace_dlq l WHERE l.attempt_of = traces.id OR l.trace_id = traces.id) \
     AND NOT EXISTS (SELECT 1 FROM traces a WHERE a.attempt_of = traces.id \
     AND a.status IN ('pending', 'running', 'scheduled', 'waiting')))";

/// Writes the end, and the dead letter if the trace had not ended before.
pub(super) async fn fail(conn: &mut Conn, mut failure: TraceFailure) -> Result<bool, StoreError> {
    let retry = failure.retry();
    let error_group = find_group(conn, &failure).await?;
    let end = take_end(&mut failure, error_group.clone());
    if !TraceWrite::Finish(end.clone()).apply(conn).await? {
        return Ok(false);
    }
    let TraceFailure { id, error_message, retry_count, max_retries, delay, report, .. } = failure;
    let id = id.to_string();
    let (channel, input, work): (String, Option<String>, Option<String>) = on!(conn, c => {
        traces::table
            .find(&id)
            .select((traces::channel, traces::input_json, traces::attempt_of))
            .first(c)
            .await
    })?;
    attempts::record_failure(conn, &end, work.as_deref(), retry).await?;
    let (payload, metadata) = split_input(input.as_deref());
    let letter = (
        trace_dlq::id.eq(new_ordered_id().to_string()),
        trace_dlq::trace_id.eq(id),
        trace_dlq::channel.eq(channel),
        trace_dlq::payload_json.eq(payload.to_string()),
        trace_dlq::metadata_json.eq(metadata.to_string()),
        trace_dlq::error_message.eq(error_message),
        trace_dlq::retry_count.eq(retry_count),
        trace_dlq::max_retries.eq(max_retries),
        trace_dlq::next_retry_at.eq(FromNow::seconds(delay.as_secs_f64())),
        trace_dlq::attempt_of.eq(work),
        trace_dlq::error_group.eq(error_group.map(|group| group.id.clone())),
    );
    on!(conn, c => diesel::insert_into(trace_dlq::table).values(letter).execute(c).await)?;
    if let Some(report) = report {
        TraceWrite::Insert(report.into()).apply(conn).await?;
    }
    Ok(true)
}

/// Takes the end of the run out of its failure.
fn take_end(failure: &mut TraceFailure, error_group: Option<Arc<ErrorGroup>>) -> TraceEnd {
    TraceEnd {
        id: failure.id,
        status: TraceStatus::Failed,
        result_json: failure.result_json.take(),
        error_message: Some(failure.error_message.clone()),
        error_code: failure.error_code,
        error_group,
        duration_ms: failure.duration_ms,
        task_trace_json: failure.task_trace_json.take(),
        workflow: failure.workflow.take(),
        ownership: failure.ownership.take(),
    }
}

/// Returns the group of a failure. One that its channel and its message alone make, of a run that did not come to its
/// workflow, is stored with it.
async fn find_group(conn: &mut Conn, failure: &TraceFailure) -> Result<Option<Arc<ErrorGroup>>, StoreError> {
    if failure.error_group.is_some() {
        return Ok(failure.error_group.clone());
    }
    let channel: Option<String> = on!(conn, c => {
        traces::table.find(failure.id.to_string()).select(traces::channel).first(c).await.optional()
    })?;
    let Some(channel) = channel else { return Ok(None) };
    let group = Arc::new(ErrorGroup::new(FailureFacts {
        channel: &channel,
        code: failure.error_code,
        message: &failure.error_message,
        ..FailureFacts::default()
    }));
    TraceWrite::Group(Arc::clone(&group)).apply(conn).await?;
    Ok(Some(group))
}

/// Returns the payload and the metadata of a stored input. Any other text is all payload.
pub(super) fn split_input(input: Option<&str>) -> (Value, Value) {
    let none = || Value::Object(Map::new());
    let Some(input) = input else { return (Value::Null, none()) };
    match serde_json::from_str(input) {
        Ok(Value::Object(mut input)) => {
            (input.remove("data").unwrap_or_default(), input.remove("metadata").unwrap_or_else(none))
        }
        Ok(other) => (other, none()),
        Err(_) => (Value::String(input.to_owned()), none()),
    }
}

/// Deletes a trace that has not ended.
pub(in crate::repo) async fn forget_unfinished(conn: &mut Conn, id: Uuid) -> Result<(), StoreError> {
    let open = traces::table.find(id.to_string()).filter(traces::status.eq_any(UNFINISHED));
    on!(conn, c => diesel::delete(open).execute(c).await)?;
    Ok(())
}

/// Deletes at most `chunk` rows, the oldest first, and returns their number.
pub(super) async fn delete_expired(conn: &mut Conn, hours: u64, chunk: i64) -> Result<u64, StoreError> {
    let old = traces::created_at.lt(clock::hours_ago(conn, hours).await?);
    let very_old = traces::created_at.lt(clock::hours_ago(conn, hours.saturating_mul(2)).await?);
    let ends: Vec<&str> =
        TraceStatus::ALL.into_iter().filter(|status| status.is_end()).map(TraceStatus::name).collect();
    let ended = traces::status.eq_any(ends);
    let left = traces::mode.ne(TraceMode::Async.name()).or(sql::<Bool>(FORGOTTEN));
    let ids: Vec<String> = on!(conn, c => {
        traces::table
            .select(traces::id)
            .filter(old)
            .filter(ended.or(very_old.and(left)))
            .order((traces::created_at.asc(), traces::id.asc()))
            .limit(chunk)
            .load(c)
            .await
    })?;
    let deleted = on!(conn, c => {
        diesel::delete(traces::table.filter(traces::id.eq_any(ids))).execute(c).await
    })?;
    Ok(u64::try_from(deleted).unwrap_or(u64::MAX))
}
