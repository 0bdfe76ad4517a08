//! The check that every body of the admin API passes.

use serde_json::{Map, Value};
use svc_model::{FieldError, ServiceError, unknown_keys};

/// The members of a body that has no others than these.
///
/// # Errors
/// 400: it is no object, or has a key that nothing reads.
pub(super) fn require_known_keys<'b>(
    body: &'b Value,
    known: &[&str],
) -> Result<&'b Map<String, Value>, ServiceError> {
    let Value::Object(members) = body else {
        return Err(FieldError::type_mismatch("body", "object", body).into());
    };
    let unknown = unknown_keys(members, "body", known, &[]);
    if unknown.is_empty() { Ok(members) } else { Err(unknown.into()) }
}
