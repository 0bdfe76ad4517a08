//! Orders to run a trace again.

use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel::sqlite::Sqlite;
use diesel_async::RunQueryDsl;
use serde_json::{Map, Value, json};
use svc_model::{EntityKind, FieldError, LifecycleStatus, ServiceError, Timestamp, WorkflowVersion};
use uuid::Uuid;

use super::model::{AcceptedRerun, RERUN, RerunOrder, RerunVersion};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::traces::change::TraceWrite;
use crate::repo::traces::{DueTime, NewTrace, TraceMode, TraceStatus, WaitReason, WaitTerms};
use crate::schema::{cron_occurrences, definitions, trace_dlq, traces};

/// The columns of a trace that a rerun needs.
#[derive(Queryable, Selectable)]
#[diesel(table_name = traces)]
struct FormerRun {
    id: String,
    channel: String,
    channel_id: Option<String>,
    mode: String,
    status: String,
    input_json: Option<String>,
    workflow_id: Option<String>,
    workflow_version: Option<i64>,
    attempt_of: Option<String>,
    queue_channel: Option<String>,
    queue_key: Option<String>,
    run_key: Option<String>,
}

/// Accepts the rerun of a trace.
///
/// # Errors
/// [`StoreError::Refused`]: 404 for an unknown trace, 400 for an unknown version, 409 for a trace that has not ended, has
/// a dead letter that waits, or has no stored input.
pub(in crate::repo) async fn rerun_trace(
    conn: &mut Conn,
    order: &RerunOrder,
) -> Result<AcceptedRerun, StoreError> {
    let former = load_work(conn, &order.id).await?;
    if !TraceStatus::parse(&former.status).is_some_and(TraceStatus::is_end) {
        let status = TraceStatus::to_public(former.status);
        return Err(conflict(format!("a trace that is {status} cannot be run again")));
    }
    let letters = trace_dlq::table
        .filter(trace_dlq::trace_id.eq(&former.id).or(trace_dlq::attempt_of.eq(&former.id)))
        .count();
    let letters: i64 = on!(conn, c => letters.get_result(c).await)?;
    if letters > 0 {
        return Err(conflict("the trace has a dead letter that waits: requeue or purge that one".to_owned()));
    }
    let version = match order.version {
        RerunVersion::Current => None,
        RerunVersion::Same => Some(former.version()?),
        RerunVersion::Number(number) => Some(WorkflowVersion { version: number, ..former.version()? }),
    };
    if let Some(version) = &version {
        find_version(conn, version).await?;
    }
    let trigger = load_trigger(conn, &former).await?;
    let input = write_input(&former, order, version.as_ref(), trigger)?;
    // Without a share it waits like work of a channel that was paused and is no longer: it may begin now.
    let share = former.queue_channel.and(former.queue_key);
    let (reason, due) = match share {
        Some(_) => (WaitReason::Share, None),
        None => (WaitReason::Paused, Some(DueTime::After(Duration::ZERO))),
    };
    let trace = NewTrace {
        channel_id: former.channel_id.as_deref().map(Into::into),
        input_json: Some(input),
        wait: Some(Box::new(WaitTerms { reason, due, share })),
        ..NewTrace::new(order.rerun, former.channel.as_str().into(), TraceMode::Async, TraceStatus::Waiting)
    };
    TraceWrite::Insert(trace.into()).apply(conn).await?;
    let link = traces::rerun_of.eq(&former.id);
    let row = traces::table.find(order.rerun.to_string());
    on!(conn, c => diesel::update(row).set(link).execute(c).await)?;
    Ok(AcceptedRerun { trace_id: order.rerun, channel_id: former.channel_id, reason })
}

impl FormerRun {
    /// Returns the columns, for a query on either database.
    fn columns() -> <Self as Selectable<Sqlite>>::SelectExpression {
        <Self as Selectable<Sqlite>>::construct_selection()
    }

    /// Returns the version of the workflow that ran.
    fn version(&self) -> Result<WorkflowVersion, StoreError> {
        match (&self.workflow_id, self.workflow_version) {
            (Some(id), Some(version)) => Ok(WorkflowVersion { id: id.as_str().into(), version }),
            _ => Err(conflict(
                "the trace names no version of its workflow: run it again with the version 'current'"
                    .to_owned(),
            )),
        }
    }
}

/// Loads a trace, or the work that it is a later attempt at.
async fn load_work(conn: &mut Conn, id: &str) -> Result<FormerRun, StoreError> {
    let row = load(conn, id).await?;
    match &row.attempt_of {
        Some(work) => load(conn, &work.clone()).await,
        None => Ok(row),
    }
}

async fn load(conn: &mut Conn, id: &str) -> Result<FormerRun, StoreError> {
    let row = traces::table.find(id).select(FormerRun::columns());
    let row: Option<FormerRun> = on!(conn, c => row.first(c).await.optional())?;
    row.ok_or_else(|| ServiceError::not_found(format!("trace '{id}' does not exist")).into())
}

/// Returns the facts of the instant that a scheduled run was for, as long as its occurrence is kept.
async fn load_trigger(conn: &mut Conn, former: &FormerRun) -> Result<Option<Value>, StoreError> {
    let is_scheduled = former.mode == TraceMode::Cron.name();
    let Some(id) = former.run_key.as_deref().filter(|_| is_scheduled) else { return Ok(None) };
    let row = cron_occurrences::table
        .find(id)
        .select((cron_occurrences::trigger_kind, cron_occurrences::scheduled_for));
    let row: Option<(String, NaiveDateTime)> = on!(conn, c => row.first(c).await.optional())?;
    Ok(row.map(|(kind, instant)| {
        let scheduled_for = Timestamp::from_naive(instant).to_string();
        json!({ "type": kind, "occurrence_id": id, "scheduled_for": scheduled_for })
    }))
}

/// Returns the input of a rerun: that of the former run, with a run key of its own, and with the facts of the rerun.
fn write_input(
    former: &FormerRun,
    order: &RerunOrder,
    version: Option<&WorkflowVersion>,
    trigger: Option<Value>,
) -> Result<String, StoreError> {
    let Some(text) = &former.input_json else {
        return Err(conflict(format!(
            "the input of this {} run was not kept: a channel keeps it with 'tracing.keep_input'",
            former.mode
        )));
    };
    let parsed =
        serde_json::from_str(text).map_err(|_| conflict("the stored input cannot be read".to_owned()))?;
    let mut input = match parsed {
        // The input of a schedule is its payload alone.
        Value::Object(input) if former.mode != TraceMode::Cron.name() => input,
        payload => {
            let metadata = json!({ "channel": former.channel });
            Map::from_iter([("data".to_owned(), payload), ("metadata".to_owned(), metadata)])
        }
    };
    for of_former_run in ["retry", "trace_headers"] {
        input.remove(of_former_run);
    }
    if let Some(payload) = &order.payload {
        input.insert("data".to_owned(), payload.clone());
    }
    let metadata = input.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(metadata) = metadata {
        metadata.insert("run".to_owned(), json!({ "key": order.rerun.to_string() }));
        metadata.extend(trigger.map(|trigger| ("trigger".to_owned(), trigger)));
        let pinned =
            version.map(|version| json!({ "workflow_id": &*version.id, "version": version.version }));
        metadata.insert(RERUN.to_owned(), json!({ "of": former.id, "workflow": pinned }));
    }
    Ok(Value::Object(input).to_string())
}

/// Checks that a version of a workflow exists and was activated once.
///
/// # Errors
/// [`StoreError::Refused`]: 400 if there is none.
pub(in crate::repo) async fn find_version(
    conn: &mut Conn,
    version: &WorkflowVersion,
) -> Result<(), StoreError> {
    let row = definitions::table
        .find((EntityKind::Workflow.name(), &*version.id, version.version))
        .select(definitions::status);
    let status: Option<Option<String>> = on!(conn, c => row.first(c).await.optional())?;
    match status.flatten() {
        Some(status) if status != LifecycleStatus::Draft.name() => Ok(()),
        _ => {
            let reason = format!("workflow '{}' has no version {} that ran", version.id, version.version);
            Err(ServiceError::from(FieldError::invalid("body.version", reason)).into())
        }
    }
}

/// Returns the version of the workflow that ran for a trace, if the trace names it.
pub(in crate::repo) async fn last_version(
    conn: &mut Conn,
    trace: Uuid,
) -> Result<Option<WorkflowVersion>, StoreError> {
    let row = traces::table.find(trace.to_string()).select((traces::workflow_id, traces::workflow_version));
    let row: Option<(Option<String>, Option<i64>)> = on!(conn, c => row.first(c).await.optional())?;
    Ok(row.and_then(|(id, version)| Some(WorkflowVersion { id: id?.into(), version: version? })))
}

fn conflict(reason: String) -> StoreError {
    ServiceError::conflict(reason).into()
}
