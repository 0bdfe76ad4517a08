//! The members of an item that direct its activation. An import ignores them, a package obeys them.

use serde_json::Value;
use svc_model::gate::{CANARY_KEYS, CanaryPlan};
use svc_model::{EntityKind, FieldError, unknown_keys};

/// Returns the problems of the members, with their places below `body`.
pub(crate) fn check_directives(kind: EntityKind, item: &Value) -> Vec<FieldError> {
    let given = |key: &str| item.get(key).filter(|value| !value.is_null());
    let mut errors = Vec::new();
    if let Some(other) = given("activate").filter(|value| !value.is_boolean()) {
        errors.push(FieldError::type_mismatch("body.activate", "boolean", other));
    }
    let share = read_share(item).unwrap_or_else(|error| {
        errors.push(error);
        None
    });
    if let Err(refused) = read_rollout(kind, item, share) {
        errors.extend(refused);
    }
    errors
}

/// Reads the share of the traffic that a version takes.
///
/// # Errors
/// The problem of a value that is no share.
pub(crate) fn read_share(item: &Value) -> Result<Option<i64>, FieldError> {
    let Some(share) = item.get("rollout_percentage").filter(|share| !share.is_null()) else {
        return Ok(None);
    };
    match share.as_i64().filter(|share| (0..=100).contains(share)) {
        Some(share) => Ok(Some(share)),
        None => Err(FieldError::invalid("body.rollout_percentage", "expected an integer from 0 to 100")),
    }
}

/// Reads the plan of a canary: the members that a change of the rollout takes. `share` is the share of the traffic that
/// the item names.
///
/// # Errors
/// The problems of the plan, with their places.
pub(crate) fn read_rollout(
    kind: EntityKind,
    item: &Value,
    share: Option<i64>,
) -> Result<Option<CanaryPlan>, Vec<FieldError>> {
    let members = match item.get("rollout") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(members)) if kind == EntityKind::Workflow => members,
        Some(_) => {
            return Err(vec![FieldError::invalid("body.rollout", "expected an object, of a workflow")]);
        }
    };
    let unknown = unknown_keys(members, "body.rollout", &CANARY_KEYS, &[]);
    if !unknown.is_empty() {
        return Err(unknown);
    }
    CanaryPlan::parse(members, share).map_err(|mut errors| {
        for error in &mut errors {
            let place = error.path.strip_prefix("body.").filter(|place| *place != "rollout_percentage");
            if let Some(place) = place {
                error.path = format!("body.rollout.{place}");
            }
        }
        errors
    })
}
