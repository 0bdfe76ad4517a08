//! Bulk changes of traces for PostgreSQL.

use std::collections::HashSet;

use chrono::NaiveDateTime;
use diesel::query_builder::Query;
use diesel::sql_types::{Array, Bool, Double, Nullable, Text};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use svc_model::WorkflowVersion;
use uuid::Uuid;

use crate::bulk_statement::{MaybeInstants, MaybeNumbers, MaybeTexts, Texts, bulk_statement};
use crate::error::StoreError;
use crate::repo::error_groups::GroupRows;
use crate::repo::traces::open::InsertedTrace;
use crate::repo::traces::{NewTrace, Ownership, TraceEnd, TraceWrite, WaitReason, WaitTerms};

/// Applies the changes like [`TraceWrite::apply_all`](super::TraceWrite::apply_all).
pub(super) async fn apply(
    changes: &[TraceWrite],
    c: &mut AsyncPgConnection,
) -> Result<Vec<bool>, StoreError> {
    let (mut inserts, mut starts, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    let (mut waits, mut ended_claims) = (Vec::new(), HashSet::new());
    let mut groups = GroupRows::default();
    for change in changes {
        match change {
            TraceWrite::Insert(_) | TraceWrite::InsertOpen(_) => inserts.extend(change.inserted_row()),
            TraceWrite::Start(id, workflow, claim) => {
                let (workflow, claim) = (workflow.as_ref(), claim.as_ref());
                starts.push(StartRow { id: *id, workflow, claim, is_recovery: false });
            }
            TraceWrite::Recover(id, claim) => {
                starts.push(StartRow { id: *id, workflow: None, claim: Some(claim), is_recovery: true });
            }
            TraceWrite::Finish(end) => {
                // Of two ends of one trace under one claim, the first one counts.
                if ended_claims.insert((end.id, end.ownership.as_ref())) {
                    ends.push(end);
                }
            }
            TraceWrite::Group(group) => groups.push(group),
        }
    }
    // First: a transaction that waits for the new groups of another one holds no other row yet.
    groups.store(c).await?;
    let (plain, others): (Vec<_>, Vec<_>) = inserts.into_iter().partition(|row| row.is_plain());
    if !plain.is_empty() {
        PlainInserts::new(&plain).execute(c).await?;
    }
    if !others.is_empty() {
        Inserts::new(&others).execute(c).await?;
    }
    let rows = plain.iter().chain(&others).map(|inserted| inserted.row());
    waits.extend(rows.filter_map(|trace| Some(WaitRow { trace, terms: trace.wait.as_deref()? })));
    if !waits.is_empty() {
        Waits::new(&waits).execute(c).await?;
    }
    let mut started: HashSet<String> = HashSet::new();
    if !starts.is_empty() {
        started = Starts::new(&starts).load::<String>(c).await?.into_iter().collect();
    }
    let mut ended: HashSet<String> = HashSet::new();
    if !ends.is_empty() {
        ended = Ends::new(&ends).load::<String>(c).await?.into_iter().collect();
    }
    // Each row is changed once: of two requests for the same change, the first one gets the success.
    let outcomes = changes.iter().map(|change| match change {
        TraceWrite::Insert(_) | TraceWrite::InsertOpen(_) | TraceWrite::Group(_) => true,
        TraceWrite::Start(id, ..) | TraceWrite::Recover(id, _) => started.remove(&id.to_string()),
        TraceWrite::Finish(end) => ended.remove(&end.id.to_string()),
    });
    Ok(outcomes.collect())
}

bulk_statement! {
    /// Traces to insert whose columns of failures, of accepted work and of exported spans are null.
    PlainInserts(trace: InsertedTrace<'a>),
    "INSERT INTO traces (id, channel, channel_id, mode, status, input_json, result_json, duration_ms, started_at, \
     completed_at, task_trace_json, workflow_id, request_id, run_key, workflow_version) SELECT * FROM unnest(",
    ")",
    ids: Texts = String => trace.row().id.to_string(),
    channels: Texts = &'a str => &*trace.row().channel,
    channel_ids: MaybeTexts = Option<&'a str> => trace.row().channel_id.as_deref(),
    modes: Texts = &'a str => trace.row().mode.name(),
    statuses: Texts = &'a str => trace.status().name(),
    inputs: MaybeTexts = Option<&'a str> => trace.row().input_json.as_deref(),
    results: MaybeTexts = Option<&'a str> => trace.result_json(),
    durations: Array<Nullable<Double>> = Option<f64> => trace.duration_ms(),
    started: MaybeInstants = Option<NaiveDateTime> => trace.started_at(),
    completed: MaybeInstants = Option<NaiveDateTime> => trace.completed_at(),
    task_traces: MaybeTexts = Option<&'a str> => trace.task_trace_json(),
    workflows: MaybeTexts = Option<&'a str> => trace.workflow().map(|workflow| &*workflow.id),
    requests: MaybeTexts = Option<&'a str> => trace.row().request_id.as_deref(),
    run_keys: MaybeTexts = Option<&'a str> => trace.row().run_key.as_deref(),
    workflow_versions: MaybeNumbers = Option<i64> => trace.workflow().map(|workflow| workflow.version),
}

bulk_statement! {
    /// Traces to insert.
    Inserts(trace: InsertedTrace<'a>),
    "INSERT INTO traces (id, channel, channel_id, mode, status, input_json, result_json, error_message, \
     duration_ms, started_at, completed_at, task_trace_json, access_token_hash, owner, workflow_id, \
     request_id, run_key, error_code, error_group, distributed_trace_id, workflow_version) SELECT * FROM unnest(",
    ")",
    ids: Texts = String => trace.row().id.to_string(),
    channels: Texts = &'a str => &*trace.row().channel,
    channel_ids: MaybeTexts = Option<&'a str> => trace.row().channel_id.as_deref(),
    modes: Texts = &'a str => trace.row().mode.name(),
    statuses: Texts = &'a str => trace.status().name(),
    inputs: MaybeTexts = Option<&'a str> => trace.row().input_json.as_deref(),
    results: MaybeTexts = Option<&'a str> => trace.result_json(),
    errors: MaybeTexts = Option<&'a str> => trace.row().error_message.as_deref(),
    durations: Array<Nullable<Double>> = Option<f64> => trace.duration_ms(),
    started: MaybeInstants = Option<NaiveDateTime> => trace.started_at(),
    completed: MaybeInstants = Option<NaiveDateTime> => trace.completed_at(),
    task_traces: MaybeTexts = Option<&'a str> => trace.task_trace_json(),
    tokens: MaybeTexts = Option<&'a str> => trace.row().access_token_hash.as_deref(),
    owners: MaybeTexts = Option<&'a str> => trace.row().owner.as_deref(),
    workflows: MaybeTexts = Option<&'a str> => trace.workflow().map(|workflow| &*workflow.id),
    requests: MaybeTexts = Option<&'a str> => trace.row().request_id.as_deref(),
    run_keys: MaybeTexts = Option<&'a str> => trace.row().run_key.as_deref(),
    error_codes: MaybeTexts = Option<&'a str> => trace.row().error_code,
    error_groups: MaybeTexts = Option<&'a str> => trace.row().error_group.as_ref().map(|group| &*group.id),
    distributed_traces: MaybeTexts = Option<&'a str> => trace.row().distributed_trace_id.as_deref(),
    workflow_versions: MaybeNumbers = Option<i64> => trace.workflow().map(|workflow| workflow.version),
}

/// A row that waits, with its terms.
struct WaitRow<'t> {
    trace: &'t NewTrace,
    terms: &'t WaitTerms,
}

// The clock is read once for each row, so that both instants of a row are the same.
bulk_statement! {
    /// Terms of waiting rows to write.
    Waits(wait: WaitRow<'a>),
    "UPDATE traces SET waiting = w.reason, waits_until = w.due, \
     deliver_at = CASE WHEN w.is_chosen THEN w.due END, queue_channel = w.channel, queue_key = w.key \
     FROM (SELECT id, reason, is_chosen, channel, key, coalesce(instant, \
     (clock_timestamp() AT TIME ZONE 'utc') + make_interval(secs => delay)) AS due FROM unnest(",
    ") AS u (id, reason, instant, delay, is_chosen, channel, key)) AS w WHERE traces.id = w.id",
    ids: Texts = String => wait.trace.id.to_string(),
    reasons: Texts = &'a str => wait.terms.reason.name(),
    instants: MaybeInstants = Option<NaiveDateTime> => wait.terms.instant(),
    delays: Array<Nullable<Double>> = Option<f64> => wait.terms.delay(),
    are_chosen: Array<Bool> = bool => wait.terms.reason == WaitReason::Scheduled,
    channels: MaybeTexts = Option<&'a str> => wait.trace.channel_id.as_deref().filter(|_| wait.terms.share.is_some()),
    keys: MaybeTexts = Option<&'a str> => wait.terms.share.as_deref(),
}

/// A start to write. A recovery carries the incremented number, which makes it idempotent.
struct StartRow<'t> {
    id: Uuid,
    workflow: Option<&'t WorkflowVersion>,
    claim: Option<&'t Ownership>,
    is_recovery: bool,
}

bulk_statement! {
    /// Starts to write.
    Starts(start: StartRow<'a>),
    "UPDATE traces SET status = 'running', \
     recoveries = CASE WHEN s.raises THEN s.recoveries ELSE traces.recoveries END, \
     workflow_id = coalesce(s.workflow, traces.workflow_id), \
     workflow_version = coalesce(s.workflow_version, traces.workflow_version), \
     started_at = (clock_timestamp() AT TIME ZONE 'utc'), \
     updated_at = (clock_timestamp() AT TIME ZONE 'utc') FROM unnest(",
    ") AS s (id, owner, recoveries, raises, workflow, workflow_version) \
     WHERE traces.id = s.id AND CASE WHEN s.raises \
     THEN traces.status IN ('pending', 'running') AND traces.owner = s.owner \
     AND traces.recoveries <= s.recoveries \
     ELSE traces.status = 'pending' AND coalesce(traces.owner, '') = coalesce(s.owner, traces.owner, '') \
     AND traces.recoveries = coalesce(s.recoveries, traces.recoveries) END RETURNING traces.id",
    ids: Texts = String => start.id.to_string(),
    owners: MaybeTexts = Option<&'a str> => start.claim.map(|claim| &*claim.owner),
    recoveries: MaybeNumbers = Option<i64> => start.claim.map(|claim| claim.recoveries),
    raises: Array<Bool> = bool => start.is_recovery,
    workflows: MaybeTexts = Option<&'a str> => start.workflow.map(|workflow| &*workflow.id),
    workflow_versions: MaybeNumbers = Option<i64> => start.workflow.map(|workflow| workflow.version),
}

impl Query for Starts<'_> {
    type SqlType = Text;
}

bulk_statement! {
    /// Ends to write.
    Ends(end: &'a TraceEnd),
    "UPDATE traces SET status = e.status, result_json = e.result, error_message = e.error, \
     error_code = e.error_code, error_group = e.error_group, duration_ms = e.duration, task_trace_json = e.task_trace, \
     workflow_id = coalesce(e.workflow, traces.workflow_id), \
     workflow_version = coalesce(e.workflow_version, traces.workflow_version), \
     started_at = coalesce(started_at, (clock_timestamp() AT TIME ZONE 'utc') \
     - make_interval(secs => coalesce(e.duration, 0) / 1000.0)), \
     completed_at = (clock_timestamp() AT TIME ZONE 'utc'), \
     updated_at = (clock_timestamp() AT TIME ZONE 'utc') FROM unnest(",
    ") AS e (id, status, result, error, error_code, error_group, duration, task_trace, owner, workflow, \
     workflow_version, recoveries) \
     WHERE traces.id = e.id AND traces.status IN ('pending', 'running') \
     AND coalesce(traces.owner, '') = coalesce(e.owner, traces.owner, '') \
     AND traces.recoveries = coalesce(e.recoveries, traces.recoveries) RETURNING traces.id",
    ids: Texts = String => end.id.to_string(),
    statuses: Texts = &'a str => end.status.name(),
    results: MaybeTexts = Option<&'a str> => end.result_json.as_deref(),
    errors: MaybeTexts = Option<&'a str> => end.error_message.as_deref(),
    error_codes: MaybeTexts = Option<&'a str> => end.error_code,
    error_groups: MaybeTexts = Option<&'a str> => end.error_group.as_ref().map(|group| &*group.id),
    durations: Array<Nullable<Double>> = Option<f64> => end.duration_ms,
    task_traces: MaybeTexts = Option<&'a str> => end.task_trace_json.as_deref(),
    owners: MaybeTexts = Option<&'a str> => end.ownership.as_ref().map(|claim| &*claim.owner),
    workflows: MaybeTexts = Option<&'a str> => end.workflow.as_ref().map(|workflow| &*workflow.id),
    workflow_versions: MaybeNumbers = Option<i64> => end.workflow.as_ref().map(|workflow| workflow.version),
    recoveries: MaybeNumbers = Option<i64> => end.ownership.as_ref().map(|claim| claim.recoveries),
}

impl Query for Ends<'_> {
    type SqlType = Text;
}
