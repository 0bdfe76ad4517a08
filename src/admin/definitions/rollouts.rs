//! The traffic of the two active versions of a workflow, and rollouts that move it by themselves.

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use serde_json::{Map, Value, json};
use svc_api::{
    ActiveShare, CanaryStatus, GateTerms, NodeShadows, ShadowDifference, ShadowSample, ShadowStatus,
    WorkflowResource, WorkflowRollout,
};
use svc_channels::{DifferingRun, ShadowCounts, ShadowFinding};
use svc_model::gate::{CANARY_KEYS, CanaryPlan, CanaryState, CompareCounts};
use svc_model::{AuditAction, EntityKind, FieldError, ServiceError, Workflow};
use svc_store::{CanaryRollout, RolloutOrder};

use super::admin_entity::AdminEntity;
use super::canary_plan::{find_plan_issue, parse_canary, with_detail};
use super::entities::not_found;
use super::status::{ReloadTiming, parse_percentage, parse_reload_timing, serving_mutation};
use crate::admin::mutation_request::{MutationRequest, dry_run_response_with};
use crate::admin::request_body::{read_flag, require_known_keys};
use crate::admin::response::{data_response, with_warnings};
use crate::http::{AdminAccess, AdminCaller, Error, JsonBody};
use crate::state::AppState;

/// `GET /workflows/{id}/rollout`.
pub(crate) async fn show_rollout(
    state: Data<AppState>,
    caller: AdminCaller,
    id: Path<String>,
) -> Result<HttpResponse, Error> {
    let workflows = state.store.workflows();
    let latest = workflows.latest(&id).await?.ok_or_else(|| not_found::<Workflow>(&id))?;
    let active = workflows.active_of(std::slice::from_ref(&latest.workflow_id)).await?;
    let canary = state.store.canary_rollouts().get(&latest.workflow_id).await?;
    let shadows = match &canary {
        Some(rollout) => find_shadows(&state, rollout, caller.principal.access()).await?,
        None => None,
    };
    let share = |workflow: Workflow| ActiveShare {
        version: workflow.version,
        rollout_percentage: workflow.rollout_percentage,
    };
    Ok(data_response(WorkflowRollout {
        workflow_id: latest.workflow_id,
        versions: active.into_iter().map(share).collect(),
        canary: canary.map(|rollout| to_status(rollout, shadows)),
    }))
}

/// Returns the shadow runs of a rollout; `None` for one without any. Only a full key sees what runs answered.
async fn find_shadows(
    state: &AppState,
    rollout: &CanaryRollout,
    access: AdminAccess,
) -> Result<Option<ShadowStatus>, Error> {
    if !rollout.plan.shadow && rollout.plan.gate.compare.is_none() {
        return Ok(None);
    }
    let mut compared = CompareCounts::default();
    let steps = state.store.canary_rollouts().outcomes(rollout).await?;
    steps.iter().for_each(|step| compared.add(step.compared));
    let counts = state.metrics.channels().shadow_counts(&rollout.id);
    let node = counts.map(|counts| to_node_shadows(counts, access));
    Ok(Some(ShadowStatus { runs: compared.runs, different: compared.different, node }))
}

fn to_node_shadows(counts: ShadowCounts, access: AdminAccess) -> NodeShadows {
    let named = |counts: Vec<(&'static str, u64)>| {
        counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
    };
    let samples = match access {
        AdminAccess::Full => counts.samples.into_iter().map(to_sample).collect(),
        AdminAccess::ReadOnly => Vec::new(),
    };
    NodeShadows {
        runs: counts.runs,
        kinds: named(counts.kinds),
        dropped: named(counts.dropped),
        unanswered: counts.unanswered,
        samples,
    }
}

fn to_sample(run: DifferingRun) -> ShadowSample {
    let to_difference = |finding: ShadowFinding| ShadowDifference {
        kind: finding.kind.to_owned(),
        subject: finding.subject,
        lines: finding.lines,
    };
    ShadowSample {
        message_id: run.message_id,
        run_key: run.run_key,
        ended_at: run.ended_at,
        differences: run.findings.into_iter().map(to_difference).collect(),
    }
}

fn to_status(rollout: CanaryRollout, shadows: Option<ShadowStatus>) -> CanaryStatus {
    let CanaryPlan { shadow, steps, interval_secs, gate, on_rollback } = rollout.plan;
    CanaryStatus {
        id: rollout.id,
        canary_version: rollout.canary_version,
        stable_version: rollout.stable_version,
        shadow,
        shadows,
        state: rollout.state.name().to_owned(),
        reason: rollout.reason,
        step: u64::try_from(rollout.step).unwrap_or(u64::MAX),
        steps,
        interval_secs,
        gate: GateTerms {
            min_runs: Some(gate.min_runs),
            max_wait_secs: Some(gate.max_wait_secs),
            max_error_ratio_delta: Some(gate.max_error_ratio_delta),
            max_p99_ratio: Some(gate.max_p99_ratio),
            compare: gate.compare.map(|compare| compare.share),
            max_difference_ratio: gate.compare.map(|compare| compare.max_difference_ratio),
            confidence: Some(gate.confidence),
        },
        on_rollback,
        figures: rollout.figures,
        step_since: rollout.step_since,
        created_at: rollout.created_at,
        updated_at: rollout.updated_at,
    }
}

/// `PATCH /workflows/{id}/rollout`.
pub(crate) async fn rollout(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
    body: JsonBody,
) -> Result<HttpResponse, Error> {
    let reload = parse_reload_timing(&change.query)?;
    let order = parse_order(&body.0)?;
    let mutation = serving_mutation::<Workflow>(&change, reload, AuditAction::UpdateRollout, &id);
    let (mutation, warning) = match &order {
        RolloutOrder::Begin { plan, .. } => {
            (with_detail(mutation, "canary", plan.to_json()), find_plan_issue(&state, plan))
        }
        RolloutOrder::Steer(state) => (with_detail(mutation, "state", state.name().into()), None),
        RolloutOrder::Share { .. } => (mutation, None),
    };
    let warnings = warning.into_iter().collect();
    let local = state.begin_change(&mutation);
    let outcome = state.store.workflows().order_rollout(&id, order, mutation).await;
    if change.is_dry_run() {
        return dry_run_response_with(outcome.map_err(Into::into), warnings);
    }
    let workflow = outcome?;
    state.metrics.record_audit_event(AuditAction::UpdateRollout, EntityKind::Workflow);
    if reload == ReloadTiming::Now {
        state.reload_after_change(Workflow::reload_scope(&id), local).await;
    }
    Ok(HttpResponse::Ok().json(with_warnings(WorkflowResource::from(workflow), warnings)))
}

/// Reads `{"rollout_percentage": integer}`, `{"steps": […], …}` or `{"state": …}`, each but the last with `override`.
fn parse_order(body: &Value) -> Result<RolloutOrder, ServiceError> {
    let mut known = vec!["rollout_percentage", "override", "state"];
    known.extend(CANARY_KEYS);
    let members = require_known_keys(body, &known)?;
    let overrides = read_flag(members, "override", false)?;
    let percentage = parse_percentage(body)?;
    let plan = parse_canary(body, percentage)?;
    match (parse_state(members)?, plan, percentage) {
        (Some(_), Some(_), _) | (Some(_), _, Some(_)) => {
            let message = "send it alone: it steers a rollout that moves by itself";
            Err(FieldError::invalid("body.state", message).into())
        }
        (Some(state), None, None) => Ok(RolloutOrder::Steer(state)),
        (None, Some(plan), _) => Ok(RolloutOrder::Begin { plan, overrides }),
        (None, None, Some(percentage)) => Ok(RolloutOrder::Share { percentage, overrides }),
        (None, None, None) => Err(FieldError::required("body.rollout_percentage").into()),
    }
}

fn parse_state(members: &Map<String, Value>) -> Result<Option<CanaryState>, ServiceError> {
    match members.get("state") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) => {
            let state = CanaryState::parse(name).filter(|state| *state != CanaryState::RolledBack);
            let refused = || FieldError::invalid("body.state", CanaryState::ORDERS).with_got(json!(name));
            state.map(Some).ok_or_else(|| refused().into())
        }
        Some(other) => Err(FieldError::type_mismatch("body.state", "string", other).into()),
    }
}
