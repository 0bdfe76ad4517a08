//! The parts that a recording masks: they are not compared.

use serde_json::Value;
use svc_engine::SECRET_STAND_IN;
use svc_model::MASK;

/// Puts what the recording masks in the place of what the run has there. If the recording lacks sources, the run may
/// have nothing there; otherwise the version no longer writes it.
pub(super) fn adopt_masked(before: &Value, after: &mut Value, lacks_sources: bool) {
    match (before, after) {
        (Value::String(text), after) if text.contains(MASK) => *after = before.clone(),
        (Value::Object(one), after) if one.len() == 1 && one.contains_key(SECRET_STAND_IN) => {
            *after = before.clone()
        }
        (Value::Object(one), Value::Object(other)) => {
            for (key, value) in one {
                if let Some(member) = other.get_mut(key) {
                    adopt_masked(value, member, lacks_sources);
                } else if lacks_sources && is_masked(value) {
                    other.insert(key.clone(), value.clone());
                }
            }
        }
        (Value::Array(one), Value::Array(other)) => {
            one.iter().zip(other).for_each(|(one, other)| adopt_masked(one, other, lacks_sources));
        }
        (before, after) if lacks_sources && after.is_null() && is_masked(before) => *after = before.clone(),
        _ => {}
    }
}

/// Returns `true` if a part of a recorded value is masked.
pub(super) fn holds_mask(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(MASK),
        Value::Array(items) => items.iter().any(holds_mask),
        Value::Object(members) => members.values().any(holds_mask),
        _ => false,
    }
}

/// Returns `true` for a value of which nothing but masked texts is recorded.
fn is_masked(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(MASK),
        Value::Array(items) => !items.is_empty() && items.iter().all(is_masked),
        Value::Object(members) => !members.is_empty() && members.values().all(is_masked),
        _ => false,
    }
}
