//! How deep values may nest.
//!
//! Copying, comparing, writing and dropping a value all recurse. What tasks build is therefore kept as shallow as
//! what a JSON parser lets in, and a stack can never be exhausted by a value.

use datalogic_rs::DataValue;
use serde_json::Value;

/// Containers inside containers that a value may have, the root of the message counted.
pub const MAX_DEPTH: usize = 128;

/// Whether a value has more than `limit` containers inside one another.
pub(crate) fn exceeds(value: &Value, limit: usize) -> bool {
    let inside = |item| exceeds(item, limit - 1);
    match value {
        Value::Array(items) => limit == 0 || items.iter().any(inside),
        Value::Object(map) => limit == 0 || map.values().any(inside),
        _ => false,
    }
}

/// As [`exceeds`], for a value in an arena.
pub(crate) fn arena_exceeds(value: &DataValue<'_>, limit: usize) -> bool {
    match value {
        DataValue::Array(items) => limit == 0 || items.iter().any(|item| arena_exceeds(item, limit - 1)),
        DataValue::Object(pairs) => {
            limit == 0 || pairs.iter().any(|(_, item)| arena_exceeds(item, limit - 1))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_containers_count() {
        assert!(!exceeds(&json!(1), 0));
        assert!(exceeds(&json!([]), 0));
        assert!(!exceeds(&json!({"a": [1], "b": 2}), 2));
        assert!(exceeds(&json!({"a": [1], "b": 2}), 1));
    }
}
