//! The ends of cancelled work.

use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::id::new_ordered_id;
use svc_model::{CANCELLED_WORK, ErrorGroup, FailureFacts};
use uuid::Uuid;

use super::model::{CancelFailure, CancelledEnd, CancelledRun};
use crate::clock::Now;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::traces::change::TraceWrite;
use crate::repo::traces::end::split_input;
use crate::repo::traces::{TraceEnd, TraceStatus, attempts};
use crate::schema::{trace_dlq, traces};

/// Ends rows that no node runs: that of work, and that of its attempt.
pub(super) async fn end_now(conn: &mut Conn, ids: &[String]) -> Result<(), StoreError> {
    let ended = (
        traces::status.eq(TraceStatus::Cancelled.name()),
        traces::waiting.eq(None::<&str>),
        traces::waits_until.eq(None::<NaiveDateTime>),
        traces::awaited_channel.eq(None::<&str>),
        traces::next_retry_at.eq(None::<NaiveDateTime>),
        traces::completed_at.eq(Now.nullable()),
        traces::updated_at.eq(Now),
    );
    on!(conn, c => diesel::update(traces::table.filter(traces::id.eq_any(ids))).set(ended).execute(c).await)?;
    Ok(())
}

/// Keeps the end of a first attempt that no node runs, because a retry of its dead letter makes another one.
pub(super) async fn keep_end(conn: &mut Conn, id: &str) -> Result<(), StoreError> {
    match Uuid::try_parse(id) {
        Ok(id) => attempts::record_failure(conn, &TraceEnd::cancelled(id, None), None, None).await,
        Err(_) => Ok(()),
    }
}

/// Writes the end of a run that its node dropped, and that of its work.
pub(super) async fn end_run(conn: &mut Conn, run: CancelledRun) -> Result<CancelledEnd, StoreError> {
    let CancelledRun { end, in_flight_json, max_retries, report } = run;
    if !TraceWrite::Finish(end.clone()).apply(conn).await? {
        return Ok(CancelledEnd::default());
    }
    let id = end.id.to_string();
    let (work, reports): (Option<String>, Option<bool>) = on!(conn, c => {
        traces::table.find(&id).select((traces::attempt_of, traces::cancel_reports)).first(c).await
    })?;
    let reports = reports == Some(true);
    if work.is_some() || reports {
        attempts::record_failure(conn, &end, work.as_deref(), None).await?;
    }
    if let Some(in_flight) = in_flight_json {
        record_in_flight(conn, std::iter::once(id.clone()).chain(work).collect(), in_flight).await?;
    }
    if !reports {
        return Ok(CancelledEnd { is_news: true, is_reported: false });
    }
    let is_reported = report.is_some();
    leave_failure(conn, &id, &CancelFailure { max_retries, report }).await?;
    Ok(CancelledEnd { is_news: true, is_reported })
}

/// Names the calls that had left in the rows of a run and its work.
pub(in crate::repo) async fn record_in_flight(
    conn: &mut Conn,
    ids: Vec<String>,
    in_flight_json: String,
) -> Result<(), StoreError> {
    let named = (traces::in_flight_json.eq(in_flight_json), traces::updated_at.eq(Now));
    on!(conn, c => diesel::update(traces::table.filter(traces::id.eq_any(ids))).set(named).execute(c).await)?;
    Ok(())
}

/// Writes the dead letter of a run that was cancelled, without a retry left, and the report of its failure.
pub(super) async fn leave_failure(
    conn: &mut Conn,
    run: &str,
    failure: &CancelFailure,
) -> Result<(), StoreError> {
    let (channel, input, work): (String, Option<String>, Option<String>) = on!(conn, c => {
        traces::table
            .find(run)
            .select((traces::channel, traces::input_json, traces::attempt_of))
            .first(c)
            .await
    })?;
    let facts = FailureFacts { channel: &channel, message: CANCELLED_WORK, ..FailureFacts::default() };
    let group = Arc::new(ErrorGroup::new(facts));
    TraceWrite::Group(Arc::clone(&group)).apply(conn).await?;
    let (payload, metadata) = split_input(input.as_deref());
    let letter = (
        trace_dlq::id.eq(new_ordered_id().to_string()),
        trace_dlq::trace_id.eq(run),
        trace_dlq::channel.eq(channel),
        trace_dlq::payload_json.eq(payload.to_string()),
        trace_dlq::metadata_json.eq(metadata.to_string()),
        trace_dlq::error_message.eq(CANCELLED_WORK),
        trace_dlq::retry_count.eq(failure.max_retries),
        trace_dlq::max_retries.eq(failure.max_retries),
        trace_dlq::next_retry_at.eq(Now),
        trace_dlq::attempt_of.eq(work),
        trace_dlq::error_group.eq(group.id.clone()),
    );
    on!(conn, c => diesel::insert_into(trace_dlq::table).values(letter).execute(c).await)?;
    if let Some(report) = &failure.report {
        TraceWrite::Insert(report.clone().into()).apply(conn).await?;
    }
    Ok(())
}
