//! The plan of a rollout that moves by itself, in the body of a request.

use serde_json::{Value, json};
use svc_model::gate::CanaryPlan;
use svc_model::{Issue, ServiceError};
use svc_store::Mutation;

use super::channels::find_target_issue;
use crate::state::AppState;

/// Reads the plan of a request. `percentage` is the share that the request names. The channel of `on_rollback` may be
/// activated later: a package activates its workflows first.
///
/// # Errors
/// 400 for a plan that cannot be.
pub(super) fn parse_canary(
    body: &Value,
    percentage: Option<i64>,
) -> Result<Option<CanaryPlan>, ServiceError> {
    let Some(members) = body.as_object() else { return Ok(None) };
    Ok(CanaryPlan::parse(members, percentage)?)
}

/// Returns the reason that keeps the channel of `on_rollback` from taking a report, if it were sent now.
pub(super) fn find_plan_issue(state: &AppState, plan: &CanaryPlan) -> Option<Issue> {
    let snapshot = state.serving.registry.snapshot();
    find_target_issue(&snapshot, plan.on_rollback.as_deref()?, "body.on_rollback")
}

/// Adds a fact to the audit row of a change.
pub(super) fn with_detail(mut mutation: Mutation, key: &str, value: Value) -> Mutation {
    mutation.audit.add_details(json!({ key: value }));
    mutation
}
