//! Changes of status and rollout, which select the serving versions.

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use serde_json::Value;
use svc_api::ValidationResult;
use svc_model::gate::{CANARY_KEYS, CanaryPlan};
use svc_model::lifecycle::Rollout;
use svc_model::{AuditAction, EntityKind, FieldError, Issue, LifecycleStatus, ServiceError};
use svc_store::{Mutation, StoreError};

use super::admin_entity::AdminEntity;
use super::canary_plan::{find_plan_issue, parse_canary, with_detail};
use super::entities::{list_users, list_warnings};
use crate::admin::mutation_request::{
    MutationRequest, dry_run_response_with, parse_version, refusal_to_validation,
};
use crate::admin::query::QueryParameters;
use crate::admin::request_body::{read_flag, require_known_keys};
use crate::admin::response::{data_response, with_warnings};
use crate::http::{Error, JsonBody, OptionalJsonBody};
use crate::state::AppState;

/// The time at which a committed change is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReloadTiming {
    /// Before the response.
    Now,
    /// After the next reload of the engine.
    Defer,
}

pub(crate) fn parse_reload_timing(query: &QueryParameters) -> Result<ReloadTiming, ServiceError> {
    query.one_of("reload", &[("now", ReloadTiming::Now), ("defer", ReloadTiming::Defer)])
}

/// `PATCH /{kind}/{id}/status`.
pub(crate) async fn change_status<V: AdminEntity>(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
    body: JsonBody,
) -> Result<HttpResponse, Error> {
    let reload = parse_reload_timing(&change.query)?;
    let (target, rollout) = parse_target(&body.0)?;
    let canary = parse_plan::<V>(&body.0, target, rollout)?;
    let rollout = match &canary {
        Some(plan) => Some(Rollout { percentage: plan.first_percentage(), ..parse_replacement(&body.0) }),
        None => rollout,
    };
    let needs_latest =
        target == LifecycleStatus::Active && (V::REQUIREMENTS_DEPEND_ON_CONTENT || change.is_dry_run());
    let latest = if needs_latest { V::repository(&state).latest(&id).await? } else { None };
    let requirements = V::activation_requirements(&state, latest.as_ref().map(V::content));
    let mut warnings = list_advisories::<V>(&state, target, &requirements, &id).await;
    warnings.extend(canary.as_ref().and_then(|plan| find_plan_issue(&state, plan)));
    if change.is_dry_run() {
        let precondition = change.precondition().clone();
        let report =
            V::repository(&state).check_status(&id, target, rollout, requirements, precondition).await;
        let mut report = match report {
            Ok(report) => report,
            Err(error) => refusal_to_validation::<()>(Err(error.into()))?,
        };
        report.warnings.extend(warnings);
        // An error says already what is missing.
        if let Some(latest) = latest.filter(|_| report.errors.is_empty()) {
            report.warnings.extend(list_warnings::<V>(&state, &latest).await);
        }
        return Ok(data_response(ValidationResult::from(report)));
    }
    let action = match target {
        LifecycleStatus::Active => AuditAction::StatusActive,
        _ => AuditAction::StatusArchived,
    };
    let mut mutation = serving_mutation::<V>(&change, reload, action, &id);
    if let Some(plan) = &canary {
        mutation = with_detail(mutation, "canary", plan.to_json());
    }
    let local = state.begin_change(&mutation);
    let stored = V::repository(&state);
    let entity = stored.set_status_with(&id, target, rollout, requirements, canary, mutation).await?;
    state.metrics.record_audit_event(action, V::KIND);
    if reload == ReloadTiming::Now {
        state.reload_after_change(V::reload_scope(&id), local).await;
    }
    if target == LifecycleStatus::Active {
        // The check of the requirements has found what it needs.
        warnings.extend(V::content_warnings(&state, entity.content()));
        let loaded = V::load_warnings(&state, &id).into_iter();
        let news: Vec<_> = loaded.filter(|warning| !warnings.contains(warning)).collect();
        warnings.extend(news);
    }
    Ok(HttpResponse::Ok().json(with_warnings(V::Resource::from(entity), warnings)))
}

/// Returns the warnings of a change to a status that are known before it.
async fn list_advisories<V: AdminEntity>(
    state: &AppState,
    target: LifecycleStatus,
    requirements: &V::Requirements,
    id: &str,
) -> Vec<Issue> {
    match target {
        LifecycleStatus::Active => V::activation_warnings(state, requirements),
        _ => list_users::<V>(state, id).await,
    }
}

/// `POST /{kind}/{id}/rollback`: copies an archived version, by default the one active before, to a new
/// version and activates it.
pub(crate) async fn rollback<V: AdminEntity>(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
    body: OptionalJsonBody,
) -> Result<HttpResponse, Error> {
    let reload = parse_reload_timing(&change.query)?;
    let to_version = parse_version(&body.0, "to_version")?;
    let mutation = serving_mutation::<V>(&change, reload, AuditAction::Rollback, &id);
    let local = state.begin_change(&mutation);
    let stored = V::repository(&state);
    let outcome: Result<V, StoreError> = async {
        let source = stored.rollback_source(&id, to_version).await?;
        let requirements = V::activation_requirements(&state, Some(source.entity.content()));
        stored.rollback(&id, source, requirements, mutation).await
    }
    .await;
    let warnings = match &outcome {
        // The check of the requirements has found what it needs.
        Ok(entity) => V::content_warnings(&state, entity.content()),
        Err(_) => Vec::new(),
    };
    if change.is_dry_run() {
        return dry_run_response_with(outcome.map_err(Into::into), warnings);
    }
    let entity = outcome?;
    state.metrics.record_audit_event(AuditAction::Rollback, V::KIND);
    if reload == ReloadTiming::Now {
        state.reload_after_change(V::reload_scope(&id), local).await;
    }
    Ok(HttpResponse::Ok().json(with_warnings(V::Resource::from(entity), warnings)))
}

/// Returns the mutation for a change of the serving versions.
pub(super) fn serving_mutation<V: AdminEntity>(
    change: &MutationRequest,
    reload: ReloadTiming,
    action: AuditAction,
    id: &str,
) -> Mutation {
    Mutation { epoch: reload == ReloadTiming::Now, ..change.mutation(action, V::KIND, id) }
}

/// Reads `{"status": "active" | "archived", "rollout_percentage"?: integer, "replace_canary"?: boolean}`. A plan of steps
/// is read by [`parse_plan`].
pub(crate) fn parse_target(body: &Value) -> Result<(LifecycleStatus, Option<Rollout>), ServiceError> {
    let mut known = vec!["status", "rollout_percentage", "replace_canary"];
    known.extend(CANARY_KEYS);
    let members = require_known_keys(body, &known)?;
    let status = match members.get("status") {
        None => return Err(FieldError::required("body.status").into()),
        Some(Value::String(name)) => {
            LifecycleStatus::parse(name).filter(|status| *status != LifecycleStatus::Draft)
        }
        Some(other) => return Err(FieldError::type_mismatch("body.status", "string", other).into()),
    };
    let status = status.ok_or_else(|| FieldError::invalid("body.status", "use active or archived"))?;
    let replace_canary = read_flag(members, "replace_canary", false)?;
    Ok((status, parse_percentage(body)?.map(|percentage| Rollout { percentage, replace_canary })))
}

/// Returns the default rollout, with the wish to replace a canary.
fn parse_replacement(body: &Value) -> Rollout {
    let replace_canary = body.get("replace_canary").and_then(Value::as_bool).unwrap_or_default();
    Rollout { replace_canary, ..Rollout::default() }
}

/// Reads the plan of an activation.
///
/// # Errors
/// 400 for a plan that cannot be, for one of a kind without shares of the traffic, and for one of an archiving.
fn parse_plan<V: AdminEntity>(
    body: &Value,
    target: LifecycleStatus,
    rollout: Option<Rollout>,
) -> Result<Option<CanaryPlan>, ServiceError> {
    let plan = parse_canary(body, rollout.map(|rollout| rollout.percentage))?;
    if plan.is_some() && (V::KIND != EntityKind::Workflow || target != LifecycleStatus::Active) {
        let message = "only the activation of a workflow has steps and a gate";
        return Err(FieldError::invalid("body.steps", message).into());
    }
    Ok(plan)
}

pub(super) fn parse_percentage(body: &Value) -> Result<Option<i64>, ServiceError> {
    match body.get("rollout_percentage") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value
            .as_i64()
            .map(Some)
            .ok_or_else(|| FieldError::type_mismatch("body.rollout_percentage", "integer", value).into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn target_is_active_or_archived_with_integer_share() {
        assert_eq!(parse_target(&json!({"status": "active"})).unwrap(), (LifecycleStatus::Active, None));
        let partial = json!({"status": "active", "rollout_percentage": 5});
        assert_eq!(parse_target(&partial).unwrap(), (LifecycleStatus::Active, Some(5.into())));
        let replacing = json!({"status": "active", "rollout_percentage": 5, "replace_canary": true});
        assert!(parse_target(&replacing).unwrap().1.is_some_and(|rollout| rollout.replace_canary));
        for bad in [
            json!([]),
            json!({}),
            json!({"status": "draft"}),
            json!({"status": 1}),
            json!({"status": "active", "rollout_percentage": "5"}),
            json!({"status": "active", "rollout_percentage": 5, "replace_canary": "yes"}),
            json!({"status": "active", "rollout": 5}),
        ] {
            assert_eq!(parse_target(&bad).unwrap_err().status(), 400, "{bad}");
        }
    }
}
