//! Stored JSON that cannot be read back.
//!
//! Only a foreign hand can have written it. A mark stands in its place, so that the row can still be shown and
//! replaced; whatever would run the document refuses the mark.

use serde_json::{Value, json};

const MARK: &str = "unreadable stored document";

/// What stands for stored text that is no JSON.
pub fn unreadable() -> Value {
    json!({ MARK: null })
}

/// Whether a value stands for stored text that is no JSON.
pub fn is_unreadable(value: &Value) -> bool {
    value.as_object().is_some_and(|map| map.len() == 1 && map.contains_key(MARK))
}
