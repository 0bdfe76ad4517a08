//! Attempts at accepted work.
//!
//! The row whose id the submitter knows is the work and the trace of its first attempt. Its status, its result and its
//! number of attempts are those of the newest attempt. Later attempts have rows of their own, which name the work.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::WorkflowVersion;
use uuid::Uuid;

use crate::clock::{FromNow, Now};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::traces::change::TraceWrite;
use crate::repo::traces::model::FirstAttempt;
use crate::repo::traces::read::LenientTimestamp;
use crate::repo::traces::{Ownership, TraceEnd, TraceStatus};
use crate::schema::traces;

/// Marks a later attempt as running, and its work with it. Returns whether the attempt was pending.
pub(super) async fn start(
    conn: &mut Conn,
    id: Uuid,
    workflow: Option<WorkflowVersion>,
    ownership: Option<Ownership>,
) -> Result<bool, StoreError> {
    let running = TraceStatus::Running.name();
    let owner = ownership.as_ref().map(|claim| claim.owner.to_string());
    let is_news = TraceWrite::Start(id, workflow.clone(), ownership).apply(conn).await?;
    // An attempt that another node left was marked when it was begun again. The write locks its row, so that its
    // end is not written in between.
    let open = traces::table.find(id.to_string()).filter(traces::status.eq(running));
    let begun = on!(conn, c => diesel::update(open).set(traces::updated_at.eq(Now)).execute(c).await)?;
    if begun > 0
        && let Some(work) = work_of(conn, id).await?
    {
        let waiting = traces::table
            .find(work)
            .filter(traces::status.eq_any([TraceStatus::Retrying.name(), TraceStatus::Running.name()]));
        // A node of the release before takes over whatever runs for a node without a lease.
        let owner = owner.map(|owner| traces::owner.eq(owner));
        let workflow_id = workflow.as_ref().map(|workflow| traces::workflow_id.eq(workflow.id.to_string()));
        let version = workflow.as_ref().map(|workflow| traces::workflow_version.eq(workflow.version));
        let marked = (traces::status.eq(running), traces::updated_at.eq(Now), owner, workflow_id, version);
        on!(conn, c => diesel::update(waiting).set(marked).execute(c).await)?;
    }
    Ok(is_news)
}

/// Writes the end of a later attempt, and the same end of its work. Returns whether the attempt had not ended before.
pub(super) async fn finish(conn: &mut Conn, end: TraceEnd) -> Result<bool, StoreError> {
    if !TraceWrite::Finish(end.clone()).apply(conn).await? {
        return Ok(false);
    }
    if let Some(work) = work_of(conn, end.id).await? {
        end_work(conn, &work, &end).await?;
    }
    Ok(true)
}

/// Writes the failure of an attempt, which is in its own row already, to the row of its work. With a `retry`, the work
/// continues after that delay.
pub(super) async fn record_failure(
    conn: &mut Conn,
    end: &TraceEnd,
    work: Option<&str>,
    retry: Option<Duration>,
) -> Result<(), StoreError> {
    let id = end.id.to_string();
    match work {
        Some(work) => end_work(conn, work, end).await?,
        None => keep_first_attempt(conn, &id, end).await?,
    }
    if let Some(delay) = retry {
        wait_for_retry(conn, work.unwrap_or(&id), delay).await?;
    }
    Ok(())
}

/// Begins the next attempt at the work, with the row of that id. Work without a row has lost its history: the attempt is
/// work of its own.
pub(in crate::repo) async fn begin(conn: &mut Conn, work: &str, id: Uuid) -> Result<(), StoreError> {
    let before: Option<(i64, Option<String>)> = on!(conn, c => {
        traces::table.find(work).select((traces::attempt, traces::request_id)).first(c).await.optional()
    })?;
    let Some((before, request_id)) = before else { return Ok(()) };
    let number = before.saturating_add(1);
    let attempt =
        (traces::attempt_of.eq(work), traces::attempt.eq(number), traces::request_id.eq(request_id));
    on!(conn, c => {
        diesel::update(traces::table.find(id.to_string())).set(attempt).execute(c).await
    })?;
    let waits = (
        traces::attempt.eq(number),
        traces::status.eq(TraceStatus::Retrying.name()),
        traces::next_retry_at.eq(None::<chrono::NaiveDateTime>),
        traces::completed_at.eq(None::<chrono::NaiveDateTime>),
        traces::updated_at.eq(Now),
    );
    on!(conn, c => diesel::update(traces::table.find(work)).set(waits).execute(c).await)?;
    Ok(())
}

/// Has the work wait for its next attempt, due after `delay`.
pub(in crate::repo) async fn wait_for_retry(
    conn: &mut Conn,
    work: &str,
    delay: Duration,
) -> Result<(), StoreError> {
    let waits = (
        traces::status.eq(TraceStatus::Retrying.name()),
        traces::next_retry_at.eq(FromNow::seconds(delay.as_secs_f64()).nullable()),
        traces::completed_at.eq(None::<chrono::NaiveDateTime>),
        traces::updated_at.eq(Now),
    );
    on!(conn, c => diesel::update(traces::table.find(work)).set(waits).execute(c).await)?;
    Ok(())
}

/// Has works wait for their next attempts like [`wait_for_retry`].
pub(in crate::repo) async fn wait_for_retries(
    conn: &mut Conn,
    works: &[&str],
    delay: Duration,
) -> Result<(), StoreError> {
    let waits = (
        traces::status.eq(TraceStatus::Retrying.name()),
        traces::next_retry_at.eq(FromNow::seconds(delay.as_secs_f64()).nullable()),
        traces::completed_at.eq(None::<chrono::NaiveDateTime>),
        traces::updated_at.eq(Now),
    );
    on!(conn, c => {
        diesel::update(traces::table.filter(traces::id.eq_any(works.to_vec()))).set(waits).execute(c).await
    })?;
    Ok(())
}

/// Ends works that wait for a retry which will not come, as failed. Their errors stay.
pub(in crate::repo) async fn give_up_each(conn: &mut Conn, works: &[&str]) -> Result<(), StoreError> {
    let waiting = traces::table
        .filter(traces::id.eq_any(works.to_vec()))
        .filter(traces::status.eq(TraceStatus::Retrying.name()));
    let ended = (
        traces::status.eq(TraceStatus::Failed.name()),
        traces::next_retry_at.eq(None::<chrono::NaiveDateTime>),
        traces::completed_at.eq(Now.nullable()),
        traces::updated_at.eq(Now),
    );
    on!(conn, c => diesel::update(waiting).set(ended).execute(c).await)?;
    Ok(())
}

/// Has the work of a later attempt wait again that was marked as running and did not run to its end.
pub(super) async fn put_back(conn: &mut Conn, id: Uuid) -> Result<(), StoreError> {
    let Some(work) = work_of(conn, id).await? else { return Ok(()) };
    let marked = traces::table.find(work).filter(traces::status.eq(TraceStatus::Running.name()));
    let waits = (traces::status.eq(TraceStatus::Retrying.name()), traces::updated_at.eq(Now));
    on!(conn, c => diesel::update(marked).set(waits).execute(c).await)?;
    Ok(())
}

/// Returns the id of the work that a later attempt belongs to.
async fn work_of(conn: &mut Conn, id: Uuid) -> Result<Option<String>, StoreError> {
    let work: Option<Option<String>> = on!(conn, c => {
        traces::table.find(id.to_string()).select(traces::attempt_of).first(c).await.optional()
    })?;
    Ok(work.flatten())
}

/// Gives the work the end of its newest attempt. Its steps stay those of the first.
async fn end_work(conn: &mut Conn, work: &str, end: &TraceEnd) -> Result<(), StoreError> {
    let workflow = end.workflow.as_ref();
    let workflow_id = workflow.map(|workflow| traces::workflow_id.eq(workflow.id.to_string()));
    let version = workflow.map(|workflow| traces::workflow_version.eq(workflow.version));
    let ended = (
        traces::status.eq(end.status.name()),
        traces::result_json.eq(end.result_json.as_deref()),
        traces::error_message.eq(end.error_message.as_deref()),
        traces::error_code.eq(end.error_code),
        traces::error_group.eq(end.error_group.as_ref().map(|group| &*group.id)),
        traces::duration_ms.eq(end.duration_ms),
        workflow_id,
        version,
        traces::next_retry_at.eq(None::<chrono::NaiveDateTime>),
        traces::completed_at.eq(Now.nullable()),
        traces::updated_at.eq(Now),
    );
    on!(conn, c => diesel::update(traces::table.find(work)).set(ended).execute(c).await)?;
    Ok(())
}

/// Keeps the end of the first attempt in addition to that of the newest.
async fn keep_first_attempt(conn: &mut Conn, id: &str, end: &TraceEnd) -> Result<(), StoreError> {
    let (started, completed): (Option<LenientTimestamp>, Option<LenientTimestamp>) = on!(conn, c => {
        traces::table.find(id).select((traces::started_at, traces::completed_at)).first(c).await
    })?;
    let first = FirstAttempt {
        status: Some(end.status.name().to_owned()),
        error_message: end.error_message.clone(),
        duration_ms: end.duration_ms,
        started_at: started.and_then(LenientTimestamp::into_timestamp),
        completed_at: completed.and_then(LenientTimestamp::into_timestamp),
    };
    let text = serde_json::to_string(&first).map_err(|error| StoreError::Database(error.to_string()))?;
    let kept = traces::first_attempt_json.eq(text);
    on!(conn, c => diesel::update(traces::table.find(id)).set(kept).execute(c).await)?;
    Ok(())
}
