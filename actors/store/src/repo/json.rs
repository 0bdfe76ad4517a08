//! JSON stored as text.

use serde::Serialize;
use serde_json::Value;
use svc_model::unreadable;

use crate::error::StoreError;

/// Returns the text of a value.
pub(super) fn text(value: &Value) -> String {
    value.to_string()
}

/// Serialises a value.
pub(super) fn to_json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Database(error.to_string()))
}

/// Returns the text of a list of values or strings.
pub(super) fn list<T: Into<Value> + Clone>(values: &[T]) -> String {
    Value::Array(values.iter().cloned().map(Into::into).collect()).to_string()
}

/// Parses a stored text. Text that is not JSON becomes a marker that no compiler accepts, so that its owner
/// is reported as broken and never runs.
pub(super) fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| unreadable())
}

/// Returns the elements of a stored array.
pub(super) fn elements(value: Value) -> Vec<Value> {
    match value {
        Value::Array(values) => values,
        other => vec![other],
    }
}

/// Returns the strings of a stored array. An element of another type becomes a text that cannot pass for a
/// valid name.
pub(super) fn names(value: Value) -> Vec<String> {
    let name = |value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let mut names: Vec<_> = elements(value).into_iter().map(name).collect();
    // They are collected in the memory of the values, which are larger, and the rows of live channels stay.
    names.shrink_to_fit();
    names
}

/// Returns the strings of the text of an array.
pub(super) fn strings(text: &str) -> Vec<String> {
    names(value(text))
}

#[cfg(test)]
mod tests {
    use svc_model::is_unreadable;

    use super::*;

    #[test]
    fn text_that_is_no_json_is_marked() {
        assert!(is_unreadable(&value("{")));
        assert!(elements(value("{")).iter().all(is_unreadable));
        assert!(!is_unreadable(&value("{}")));
    }
}
