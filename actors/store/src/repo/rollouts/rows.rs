//! The tables of rollouts and their outcomes.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::Value;
use svc_model::gate::{CanaryPlan, CanaryState, CompareCounts, OutcomeCounts, StepOutcomes};
use svc_model::id::new_ordered_id;
use svc_model::{EntityKind, LifecycleStatus, ServiceError, Timestamp};

use super::{CanaryReport, CanaryRollout, ShadowReport};
use crate::clock::{self, Now};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::definitions::queries;
use crate::schema::{canary_outcomes, canary_rollouts, shadow_outcomes};

/// The reason of the end of a rollout by another change.
const CHANGED: &str = "another change of the traffic ended it";

/// A row, in the order of the columns.
#[derive(Queryable)]
struct Row {
    workflow_id: String,
    rollout_id: String,
    canary_version: i64,
    stable_version: i64,
    plan: String,
    state: String,
    reason: Option<String>,
    step: i64,
    looks: i64,
    figures: Option<String>,
    step_since: NaiveDateTime,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
}

impl Row {
    /// Returns the rollout at an instant; `None` if a newer program wrote what this one cannot read.
    fn open(self, now: NaiveDateTime) -> Option<CanaryRollout> {
        let plan: Value = serde_json::from_str(&self.plan).ok()?;
        Some(CanaryRollout {
            plan: CanaryPlan::parse(plan.as_object()?, None).ok()??,
            state: CanaryState::parse(&self.state)?,
            workflow_id: self.workflow_id,
            id: self.rollout_id,
            canary_version: self.canary_version,
            stable_version: self.stable_version,
            reason: self.reason,
            step: usize::try_from(self.step).ok()?,
            looks: u32::try_from(self.looks).ok()?,
            figures: self.figures.and_then(|text| serde_json::from_str(&text).ok()),
            age: (now - self.step_since).to_std().unwrap_or_default(),
            step_since: Timestamp::from_naive(self.step_since),
            created_at: Timestamp::from_naive(self.created_at),
            updated_at: Timestamp::from_naive(self.updated_at),
        })
    }
}

/// Converts a count or an index for a column.
pub(super) fn to_column(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

fn from_column(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// Returns the last rollout of a workflow.
pub(super) async fn find(
    conn: &mut Conn,
    workflow: &str,
    now: NaiveDateTime,
) -> Result<Option<CanaryRollout>, StoreError> {
    let row = canary_rollouts::table.find(workflow);
    let row: Option<Row> = on!(conn, c => row.first(c).await.optional())?;
    Ok(row.and_then(|row| row.open(now)))
}

pub(super) async fn list_open(conn: &mut Conn) -> Result<Vec<CanaryRollout>, StoreError> {
    let now = clock::now(conn).await?;
    let open = [CanaryState::Watching.name(), CanaryState::Paused.name()];
    let rows = canary_rollouts::table
        .filter(canary_rollouts::state.eq_any(open))
        .order(canary_rollouts::workflow_id.asc());
    let rows: Vec<Row> = on!(conn, c => rows.load(c).await)?;
    Ok(rows.into_iter().filter_map(|row| row.open(now)).collect())
}

/// Begins a rollout with the two versions that are active, in place of the one before.
pub(in crate::repo) async fn begin(
    conn: &mut Conn,
    workflow: &str,
    plan: &CanaryPlan,
) -> Result<(), StoreError> {
    let states = queries::states(conn, EntityKind::Workflow, workflow).await?;
    let mut active = states.iter().filter(|state| state.status == LifecycleStatus::Active);
    let (Some(canary), Some(stable), None) = (active.next(), active.next(), active.next()) else {
        let message = format!(
            "the steps or the shadow of workflow '{workflow}' need an older active version to compare with; \
             activate this one without them"
        );
        return Err(ServiceError::validation(message).into());
    };
    forget(conn, workflow).await?;
    let row = (
        canary_rollouts::workflow_id.eq(workflow),
        canary_rollouts::rollout_id.eq(new_ordered_id().to_string()),
        canary_rollouts::canary_version.eq(canary.version),
        canary_rollouts::stable_version.eq(stable.version),
        canary_rollouts::plan.eq(plan.to_json().to_string()),
        canary_rollouts::state.eq(CanaryState::Watching.name()),
        canary_rollouts::step_since.eq(Now),
        canary_rollouts::created_at.eq(Now),
        canary_rollouts::updated_at.eq(Now),
    );
    let insert = diesel::insert_into(canary_rollouts::table).values(row);
    on!(conn, c => insert.execute(c).await)?;
    Ok(())
}

/// Ends the rollout of a workflow if it is open: something else changes the traffic.
pub(in crate::repo) async fn end_open(conn: &mut Conn, workflow: &str) -> Result<(), StoreError> {
    let open = [CanaryState::Watching.name(), CanaryState::Paused.name()];
    let row = canary_rollouts::table.find(workflow).filter(canary_rollouts::state.eq_any(open));
    let change = (
        canary_rollouts::state.eq(CanaryState::Aborted.name()),
        canary_rollouts::reason.eq(Some(CHANGED)),
        canary_rollouts::updated_at.eq(Now),
    );
    on!(conn, c => diesel::update(row).set(change).execute(c).await)?;
    Ok(())
}

/// Deletes the rollout of a workflow and its outcomes.
pub(in crate::repo) async fn forget(conn: &mut Conn, workflow: &str) -> Result<(), StoreError> {
    let ids = canary_rollouts::table.find(workflow).select(canary_rollouts::rollout_id);
    let ids: Vec<String> = on!(conn, c => ids.load(c).await)?;
    for id in &ids {
        let outcomes = diesel::delete(canary_outcomes::table.filter(canary_outcomes::rollout_id.eq(id)));
        on!(conn, c => outcomes.execute(c).await)?;
        let shadows = diesel::delete(shadow_outcomes::table.filter(shadow_outcomes::rollout_id.eq(id)));
        on!(conn, c => shadows.execute(c).await)?;
    }
    let row = diesel::delete(canary_rollouts::table.find(workflow));
    on!(conn, c => row.execute(c).await)?;
    Ok(())
}

/// Writes the state of a rollout and the reason of it.
pub(super) async fn set_state(
    conn: &mut Conn,
    workflow: &str,
    state: CanaryState,
    reason: Option<&str>,
) -> Result<(), StoreError> {
    let change = (
        canary_rollouts::state.eq(state.name()),
        canary_rollouts::reason.eq(reason),
        canary_rollouts::updated_at.eq(Now),
    );
    let row = canary_rollouts::table.find(workflow);
    on!(conn, c => diesel::update(row).set(change).execute(c).await)?;
    Ok(())
}

/// Begins a step anew, or the next one.
pub(super) async fn set_step(
    conn: &mut Conn,
    workflow: &str,
    step: usize,
    looks: u32,
) -> Result<(), StoreError> {
    let change = (
        canary_rollouts::step.eq(to_column(step)),
        canary_rollouts::looks.eq(i64::from(looks)),
        canary_rollouts::step_since.eq(Now),
    );
    let row = canary_rollouts::table.find(workflow);
    on!(conn, c => diesel::update(row).set(change).execute(c).await)?;
    Ok(())
}

/// Writes the figures of a decision.
pub(super) async fn set_figures(conn: &mut Conn, workflow: &str, figures: &Value) -> Result<(), StoreError> {
    let change = canary_rollouts::figures.eq(Some(figures.to_string()));
    let row = canary_rollouts::table.find(workflow);
    on!(conn, c => diesel::update(row).set(change).execute(c).await)?;
    Ok(())
}

pub(super) async fn record_look(
    conn: &mut Conn,
    rollout: &CanaryRollout,
    looks: u32,
    figures: &Value,
) -> Result<(), StoreError> {
    let row = canary_rollouts::table
        .find(&rollout.workflow_id)
        .filter(canary_rollouts::rollout_id.eq(&rollout.id))
        .filter(canary_rollouts::state.eq(CanaryState::Watching.name()))
        .filter(canary_rollouts::step.eq(to_column(rollout.step)));
    let change = (
        canary_rollouts::looks.eq(i64::from(looks)),
        canary_rollouts::figures.eq(Some(figures.to_string())),
        canary_rollouts::updated_at.eq(Now),
    );
    on!(conn, c => diesel::update(row).set(change).execute(c).await)?;
    Ok(())
}

pub(super) async fn write_report(conn: &mut Conn, report: &CanaryReport) -> Result<(), StoreError> {
    let counts = (
        canary_outcomes::runs.eq(to_column(report.counts.runs)),
        canary_outcomes::errors.eq(to_column(report.counts.errors)),
        canary_outcomes::durations.eq(report.counts.durations_text()),
    );
    let place = (
        canary_outcomes::rollout_id.eq(report.rollout_id.as_str()),
        canary_outcomes::step.eq(to_column(report.step)),
        canary_outcomes::version.eq(report.version),
        canary_outcomes::reporter.eq(report.reporter.as_str()),
    );
    let upsert = diesel::insert_into(canary_outcomes::table)
        .values((place, counts.clone()))
        .on_conflict((
            canary_outcomes::rollout_id,
            canary_outcomes::step,
            canary_outcomes::version,
            canary_outcomes::reporter,
        ))
        .do_update()
        .set(counts);
    on!(conn, c => upsert.execute(c).await)?;
    Ok(())
}

pub(super) async fn write_shadow_report(conn: &mut Conn, report: &ShadowReport) -> Result<(), StoreError> {
    let counts = (
        shadow_outcomes::runs.eq(to_column(report.counts.runs)),
        shadow_outcomes::different.eq(to_column(report.counts.different)),
    );
    let place = (
        shadow_outcomes::rollout_id.eq(report.rollout_id.as_str()),
        shadow_outcomes::step.eq(to_column(report.step)),
        shadow_outcomes::reporter.eq(report.reporter.as_str()),
    );
    let upsert = diesel::insert_into(shadow_outcomes::table)
        .values((place, counts))
        .on_conflict((shadow_outcomes::rollout_id, shadow_outcomes::step, shadow_outcomes::reporter))
        .do_update()
        .set(counts);
    on!(conn, c => upsert.execute(c).await)?;
    Ok(())
}

pub(super) async fn outcomes(
    conn: &mut Conn,
    rollout: &CanaryRollout,
) -> Result<Vec<StepOutcomes>, StoreError> {
    let rows = canary_outcomes::table.filter(canary_outcomes::rollout_id.eq(&rollout.id)).select((
        canary_outcomes::step,
        canary_outcomes::version,
        canary_outcomes::runs,
        canary_outcomes::errors,
        canary_outcomes::durations,
    ));
    let rows: Vec<(i64, i64, i64, i64, String)> = on!(conn, c => rows.load(c).await)?;
    let mut steps = vec![StepOutcomes::default(); rollout.step + 1];
    for (step, version, runs, errors, durations) in rows {
        let Some(step) = usize::try_from(step).ok().and_then(|step| steps.get_mut(step)) else { continue };
        let counts = OutcomeCounts {
            runs: from_column(runs),
            errors: from_column(errors),
            durations: OutcomeCounts::read_durations(&durations),
        };
        if version == rollout.canary_version {
            step.canary.add(&counts);
        } else if version == rollout.stable_version {
            step.stable.add(&counts);
        }
    }
    let rows = shadow_outcomes::table.filter(shadow_outcomes::rollout_id.eq(&rollout.id)).select((
        shadow_outcomes::step,
        shadow_outcomes::runs,
        shadow_outcomes::different,
    ));
    let rows: Vec<(i64, i64, i64)> = on!(conn, c => rows.load(c).await)?;
    for (step, runs, different) in rows {
        let Some(step) = usize::try_from(step).ok().and_then(|step| steps.get_mut(step)) else { continue };
        step.compared.add(CompareCounts { runs: from_column(runs), different: from_column(different) });
    }
    Ok(steps)
}
