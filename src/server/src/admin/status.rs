//! Changes of status and rollout: what is served.

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use serde_json::Value;
use svc_model::{FieldError, Issue, ServiceError, Status, Validation, Workflow};
use svc_store::{Mutation, StoreError};

use super::authored::Authored;
use super::entities::authoring;
use super::query::Query;
use super::{data, serve};
use crate::http::{Caller, Error, JsonBody};
use crate::state::AppState;

/// When a committed change is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reload {
    /// Before the answer.
    Now,
    /// After the next reload of the engine.
    Defer,
}

pub(super) fn reload(query: &Query) -> Result<Reload, ServiceError> {
    query.one_of("reload", &[("now", Reload::Now), ("defer", Reload::Defer)])
}

/// `PATCH /{kind}/{id}/status`.
pub(super) async fn change<V: Authored>(
    state: Data<AppState>,
    caller: Caller,
    id: Path<String>,
    query: Query,
    body: JsonBody,
) -> Result<HttpResponse, Error> {
    let (reload, dry_run) = (reload(&query)?, query.flag("dry_run")?);
    let (target, percentage) = target(&body.0)?;
    let gates = V::gates(&state, &id).await?;
    if dry_run {
        let advisories = if target == Status::Active { V::advisories(&state, &gates) } else { Vec::new() };
        let report = V::stored(&state).check_status(&id, target, percentage, gates).await;
        let mut report = as_validation(report)?;
        report.warnings.extend(advisories);
        return Ok(data(report.to_json()));
    }
    let action = match target {
        Status::Active => "status_active",
        _ => "status_archived",
    };
    let mutation = Mutation { epoch: reload == Reload::Now, ..authoring::<V>(&caller, action, &id) };
    let entity = V::stored(&state).set_status(&id, target, percentage, gates, mutation).await?;
    state.metrics.audited(action, V::KIND.name());
    if reload == Reload::Now {
        serve(&state, V::scope(&id)).await;
    }
    Ok(data(entity.to_json()))
}

/// `PATCH /workflows/{id}/rollout`.
pub(super) async fn rollout(
    state: Data<AppState>,
    caller: Caller,
    id: Path<String>,
    query: Query,
    body: JsonBody,
) -> Result<HttpResponse, Error> {
    let reload = reload(&query)?;
    let percentage = percentage(&body.0)?.ok_or_else(|| FieldError::required("body.rollout_percentage"))?;
    let mutation =
        Mutation { epoch: reload == Reload::Now, ..authoring::<Workflow>(&caller, "update_rollout", &id) };
    let workflow = state.store.workflows().set_rollout(&id, percentage, mutation).await?;
    state.metrics.audited("update_rollout", "workflow");
    if reload == Reload::Now {
        serve(&state, Workflow::scope(&id)).await;
    }
    Ok(data(workflow.to_json()))
}

/// `{"status": "active" | "archived", "rollout_percentage"?: integer}`.
pub(super) fn target(body: &Value) -> Result<(Status, Option<i64>), ServiceError> {
    if !body.is_object() {
        return Err(FieldError::type_mismatch("body", "object", body).into());
    }
    let status = match body.get("status") {
        None => return Err(FieldError::required("body.status").into()),
        Some(Value::String(name)) => Status::parse(name).filter(|status| *status != Status::Draft),
        Some(other) => return Err(FieldError::type_mismatch("body.status", "string", other).into()),
    };
    let status = status.ok_or_else(|| FieldError::invalid("body.status", "use active or archived"))?;
    Ok((status, percentage(body)?))
}

fn percentage(body: &Value) -> Result<Option<i64>, ServiceError> {
    match body.get("rollout_percentage") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value
            .as_i64()
            .map(Some)
            .ok_or_else(|| FieldError::type_mismatch("body.rollout_percentage", "integer", value).into()),
    }
}

/// A gate that refuses the real request is an entry of the report; a database that is away is not.
fn as_validation(outcome: Result<Validation, StoreError>) -> Result<Validation, Error> {
    match outcome {
        Err(StoreError::Refused(refused)) => {
            let details = refused.details().iter().cloned().map(Issue::from);
            let mut errors: Vec<_> = details.collect();
            if errors.is_empty() {
                errors.push(Issue::root(refused.message()));
            }
            Ok(Validation { errors, warnings: Vec::new() })
        }
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_target_is_active_or_archived_with_an_integer_share() {
        assert_eq!(target(&json!({"status": "active"})).unwrap(), (Status::Active, None));
        let partial = json!({"status": "active", "rollout_percentage": 5});
        assert_eq!(target(&partial).unwrap(), (Status::Active, Some(5)));
        for bad in [
            json!([]),
            json!({}),
            json!({"status": "draft"}),
            json!({"status": 1}),
            json!({"status": "active", "rollout_percentage": "5"}),
        ] {
            assert_eq!(target(&bad).unwrap_err().status(), 400, "{bad}");
        }
    }

    #[test]
    fn a_refusal_becomes_a_report_and_an_outage_does_not() {
        let refused = as_validation(Err(ServiceError::not_found("no draft").into())).unwrap();
        assert_eq!((refused.valid(), refused.errors[0].field.as_str()), (false, "(root)"));
        assert!(as_validation(Err(StoreError::Unavailable("away".into()))).is_err());
    }
}
