//! The plan of a rollout that moves by itself, in the body of a request.

use serde_json::{Map, Value};
use svc_model::ServiceError;
use svc_model::gate::CanaryPlan;
use svc_store::Mutation;

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

/// Adds a fact to the audit row of a change.
pub(super) fn with_detail(mut mutation: Mutation, key: &str, value: Value) -> Mutation {
    let mut details = match mutation.audit.details.take() {
        Some(Value::Object(details)) => details,
        _ => Map::new(),
    };
    details.insert(key.to_owned(), value);
    mutation.audit.details = Some(Value::Object(details));
    mutation
}
