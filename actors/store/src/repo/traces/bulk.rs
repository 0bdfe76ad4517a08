//! Bulk changes of traces for PostgreSQL: every column is one array parameter, so that a statement has the
//! same text for any number of rows and is prepared once.

use std::collections::HashSet;

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Array, BigInt, Bool, Double, Nullable, Text, Timestamp};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use svc_model::WorkflowVersion;

use crate::error::StoreError;
use crate::repo::error_groups::GroupRows;
use crate::repo::traces::{NewTrace, Ownership, TraceEnd, TraceWrite};

/// Applies the changes like [`TraceWrite::apply_all`](super::TraceWrite::apply_all).
pub(super) async fn apply(
    changes: &[TraceWrite],
    c: &mut AsyncPgConnection,
) -> Result<Vec<bool>, StoreError> {
    let (mut inserts, mut starts, mut ends) = (Inserts::default(), Starts::default(), Ends::default());
    let mut groups = GroupRows::default();
    for change in changes {
        match change {
            TraceWrite::Insert(trace) => inserts.push(trace),
            TraceWrite::Start(id, workflow, claim) => {
                starts.push(*id, workflow.as_ref(), claim.as_ref(), false);
            }
            TraceWrite::Recover(id, claim) => starts.push(*id, None, Some(claim), true),
            TraceWrite::Finish(end) => ends.push(end),
            TraceWrite::Group(group) => groups.push(group),
        }
    }
    // First: a transaction that waits for the rows of another's new groups holds no other row yet.
    groups.store(c).await?;
    if !inserts.ids.is_empty() {
        inserts.execute(c).await?;
    }
    let mut started: HashSet<String> = HashSet::new();
    if !starts.ids.is_empty() {
        started = starts.load::<String>(c).await?.into_iter().collect();
    }
    let mut ended: HashSet<String> = HashSet::new();
    if !ends.ids.is_empty() {
        ended = ends.load::<String>(c).await?.into_iter().collect();
    }
    // Each row is changed once: of two requests for the same change, the first one gets the success.
    let outcomes = changes.iter().map(|change| match change {
        TraceWrite::Insert(_) | TraceWrite::Group(_) => true,
        TraceWrite::Start(id, ..) | TraceWrite::Recover(id, _) => started.remove(&id.to_string()),
        TraceWrite::Finish(end) => ended.remove(&end.id.to_string()),
    });
    Ok(outcomes.collect())
}

/// Rows to insert, by column.
#[derive(Default)]
struct Inserts<'a> {
    ids: Vec<String>,
    channels: Vec<&'a str>,
    channel_ids: Vec<Option<&'a str>>,
    modes: Vec<&'static str>,
    statuses: Vec<&'static str>,
    inputs: Vec<Option<&'a str>>,
    results: Vec<Option<&'a str>>,
    errors: Vec<Option<&'a str>>,
    durations: Vec<Option<f64>>,
    started: Vec<Option<chrono::NaiveDateTime>>,
    completed: Vec<Option<chrono::NaiveDateTime>>,
    task_traces: Vec<Option<&'a str>>,
    tokens: Vec<Option<&'a str>>,
    owners: Vec<Option<&'a str>>,
    workflows: Vec<Option<&'a str>>,
    requests: Vec<Option<&'a str>>,
    error_codes: Vec<Option<&'a str>>,
    error_groups: Vec<Option<&'a str>>,
    workflow_versions: Vec<Option<i64>>,
}

impl<'a> Inserts<'a> {
    fn push(&mut self, trace: &'a NewTrace) {
        self.ids.push(trace.id.to_string());
        self.channels.push(&trace.channel);
        self.channel_ids.push(trace.channel_id.as_deref());
        self.modes.push(trace.mode.name());
        self.statuses.push(trace.status.name());
        self.inputs.push(trace.input_json.as_deref());
        self.results.push(trace.result_json.as_deref());
        self.errors.push(trace.error_message.as_deref());
        self.durations.push(trace.duration_ms);
        self.started.push(trace.started_at);
        self.completed.push(trace.completed_at);
        self.task_traces.push(trace.task_trace_json.as_deref());
        self.tokens.push(trace.access_token_hash.as_deref());
        self.owners.push(trace.owner.as_deref());
        self.workflows.push(trace.workflow.as_ref().map(|workflow| &*workflow.id));
        self.requests.push(trace.request_id.as_deref());
        self.error_codes.push(trace.error_code);
        self.error_groups.push(trace.error_group.as_ref().map(|group| &*group.id));
        self.workflow_versions.push(trace.workflow.as_ref().map(|workflow| workflow.version));
    }
}

type Texts = Array<Text>;
type MaybeTexts = Array<Nullable<Text>>;
type MaybeNumbers = Array<Nullable<BigInt>>;

impl QueryFragment<Pg> for Inserts<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(
            "INSERT INTO traces (id, channel, channel_id, mode, status, input_json, result_json, error_message, \
             duration_ms, started_at, completed_at, task_trace_json, access_token_hash, owner, workflow_id, \
             request_id, error_code, error_group, workflow_version) SELECT * FROM unnest(",
        );
        out.push_bind_param::<Texts, _>(&self.ids)?;
        out.push_sql(", ");
        out.push_bind_param::<Texts, _>(&self.channels)?;
        out.push_sql(", ");
        out.push_bind_param::<MaybeTexts, _>(&self.channel_ids)?;
        out.push_sql(", ");
        out.push_bind_param::<Texts, _>(&self.modes)?;
        out.push_sql(", ");
        out.push_bind_param::<Texts, _>(&self.statuses)?;
        for texts in [&self.inputs, &self.results, &self.errors] {
            out.push_sql(", ");
            out.push_bind_param::<MaybeTexts, _>(texts)?;
        }
        out.push_sql(", ");
        out.push_bind_param::<Array<Nullable<Double>>, _>(&self.durations)?;
        for times in [&self.started, &self.completed] {
            out.push_sql(", ");
            out.push_bind_param::<Array<Nullable<Timestamp>>, _>(times)?;
        }
        for texts in [
            &self.task_traces,
            &self.tokens,
            &self.owners,
            &self.workflows,
            &self.requests,
            &self.error_codes,
            &self.error_groups,
        ] {
            out.push_sql(", ");
            out.push_bind_param::<MaybeTexts, _>(texts)?;
        }
        out.push_sql(", ");
        out.push_bind_param::<MaybeNumbers, _>(&self.workflow_versions)?;
        out.push_sql(")");
        Ok(())
    }
}

impl QueryId for Inserts<'_> {
    type QueryId = Inserts<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

/// Starts to write, by column. A recovery carries the incremented number, which makes it idempotent.
#[derive(Default)]
struct Starts<'a> {
    ids: Vec<String>,
    owners: Vec<Option<&'a str>>,
    recoveries: Vec<Option<i64>>,
    raises: Vec<bool>,
    workflows: Vec<Option<&'a str>>,
    workflow_versions: Vec<Option<i64>>,
}

impl<'a> Starts<'a> {
    fn push(
        &mut self,
        id: uuid::Uuid,
        workflow: Option<&'a WorkflowVersion>,
        claim: Option<&'a Ownership>,
        is_recovery: bool,
    ) {
        self.ids.push(id.to_string());
        self.owners.push(claim.map(|claim| &*claim.owner));
        self.recoveries.push(claim.map(|claim| claim.recoveries));
        self.raises.push(is_recovery);
        self.workflows.push(workflow.map(|workflow| &*workflow.id));
        self.workflow_versions.push(workflow.map(|workflow| workflow.version));
    }
}

impl QueryFragment<Pg> for Starts<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(
            "UPDATE traces SET status = 'running', \
             recoveries = CASE WHEN s.raises THEN s.recoveries ELSE traces.recoveries END, \
             workflow_id = coalesce(s.workflow, traces.workflow_id), \
             workflow_version = coalesce(s.workflow_version, traces.workflow_version), \
             started_at = (clock_timestamp() AT TIME ZONE 'utc'), \
             updated_at = (clock_timestamp() AT TIME ZONE 'utc') FROM unnest(",
        );
        out.push_bind_param::<Texts, _>(&self.ids)?;
        out.push_sql(", ");
        out.push_bind_param::<MaybeTexts, _>(&self.owners)?;
        out.push_sql(", ");
        out.push_bind_param::<MaybeNumbers, _>(&self.recoveries)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<Bool>, _>(&self.raises)?;
        out.push_sql(", ");
        out.push_bind_param::<MaybeTexts, _>(&self.workflows)?;
        out.push_sql(", ");
        out.push_bind_param::<MaybeNumbers, _>(&self.workflow_versions)?;
        out.push_sql(
            ") AS s (id, owner, recoveries, raises, workflow, workflow_version) \
             WHERE traces.id = s.id AND CASE WHEN s.raises \
             THEN traces.status IN ('pending', 'running') AND traces.owner = s.owner \
             AND traces.recoveries <= s.recoveries \
             ELSE traces.status = 'pending' AND coalesce(traces.owner, '') = coalesce(s.owner, traces.owner, '') \
             AND traces.recoveries = coalesce(s.recoveries, traces.recoveries) END RETURNING traces.id",
        );
        Ok(())
    }
}

impl QueryId for Starts<'_> {
    type QueryId = Starts<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl Query for Starts<'_> {
    type SqlType = Text;
}

/// Ends to write, by column. Of two ends of one trace under one claim, the first one counts.
#[derive(Default)]
struct Ends<'a> {
    seen: HashSet<(uuid::Uuid, Option<&'a Ownership>)>,
    ids: Vec<String>,
    statuses: Vec<&'static str>,
    results: Vec<Option<&'a str>>,
    errors: Vec<Option<&'a str>>,
    error_codes: Vec<Option<&'a str>>,
    error_groups: Vec<Option<&'a str>>,
    durations: Vec<Option<f64>>,
    task_traces: Vec<Option<&'a str>>,
    owners: Vec<Option<&'a str>>,
    recoveries: Vec<Option<i64>>,
    workflows: Vec<Option<&'a str>>,
    workflow_versions: Vec<Option<i64>>,
}

impl<'a> Ends<'a> {
    fn push(&mut self, end: &'a TraceEnd) {
        if !self.seen.insert((end.id, end.ownership.as_ref())) {
            return;
        }
        self.ids.push(end.id.to_string());
        self.statuses.push(end.status.name());
        self.results.push(end.result_json.as_deref());
        self.errors.push(end.error_message.as_deref());
        self.error_codes.push(end.error_code);
        self.error_groups.push(end.error_group.as_ref().map(|group| &*group.id));
        self.durations.push(end.duration_ms);
        self.task_traces.push(end.task_trace_json.as_deref());
        self.owners.push(end.ownership.as_ref().map(|claim| &*claim.owner));
        self.recoveries.push(end.ownership.as_ref().map(|claim| claim.recoveries));
        self.workflows.push(end.workflow.as_ref().map(|workflow| &*workflow.id));
        self.workflow_versions.push(end.workflow.as_ref().map(|workflow| workflow.version));
    }
}

impl QueryFragment<Pg> for Ends<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(
            "UPDATE traces SET status = e.status, result_json = e.result, error_message = e.error, \
             error_code = e.error_code, error_group = e.error_group, duration_ms = e.duration, task_trace_json = e.task_trace, \
             workflow_id = coalesce(e.workflow, traces.workflow_id), \
             workflow_version = coalesce(e.workflow_version, traces.workflow_version), \
             started_at = coalesce(started_at, (clock_timestamp() AT TIME ZONE 'utc') \
             - make_interval(secs => coalesce(e.duration, 0) / 1000.0)), \
             completed_at = (clock_timestamp() AT TIME ZONE 'utc'), \
             updated_at = (clock_timestamp() AT TIME ZONE 'utc') FROM unnest(",
        );
        out.push_bind_param::<Texts, _>(&self.ids)?;
        out.push_sql(", ");
        out.push_bind_param::<Texts, _>(&self.statuses)?;
        for texts in [&self.results, &self.errors, &self.error_codes, &self.error_groups] {
            out.push_sql(", ");
            out.push_bind_param::<MaybeTexts, _>(texts)?;
        }
        out.push_sql(", ");
        out.push_bind_param::<Array<Nullable<Double>>, _>(&self.durations)?;
        out.push_sql(", ");
        for texts in [&self.task_traces, &self.owners, &self.workflows] {
            out.push_bind_param::<MaybeTexts, _>(texts)?;
            out.push_sql(", ");
        }
        out.push_bind_param::<MaybeNumbers, _>(&self.workflow_versions)?;
        out.push_sql(", ");
        out.push_bind_param::<MaybeNumbers, _>(&self.recoveries)?;
        out.push_sql(
            ") AS e (id, status, result, error, error_code, error_group, duration, task_trace, owner, workflow, \
             workflow_version, recoveries) \
             WHERE traces.id = e.id AND traces.status IN ('pending', 'running') \
             AND coalesce(traces.owner, '') = coalesce(e.owner, traces.owner, '') \
             AND traces.recoveries = coalesce(e.recoveries, traces.recoveries) RETURNING traces.id",
        );
        Ok(())
    }
}

impl QueryId for Ends<'_> {
    type QueryId = Ends<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl Query for Ends<'_> {
    type SqlType = Text;
}
