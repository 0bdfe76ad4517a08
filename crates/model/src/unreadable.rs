//! Marker for stored JSON that cannot be parsed.
//!
//! Only writes from outside the service can cause it. The marker replaces the value, so that the row can
//! still be shown and replaced; everything that would execute the document refuses the marker.

use serde_json::{Value, json};

const MARK: &str = "unreadable stored document";

/// Returns the marker for stored text that is not JSON.
pub fn unreadable() -> Value {
    json!({ MARK: null })
}

/// Returns true if the value is the marker for stored text that is not JSON.
pub fn is_unreadable(value: &Value) -> bool {
    value.as_object().is_some_and(|map| map.len() == 1 && map.contains_key(MARK))
}
