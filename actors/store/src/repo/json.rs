//! JSON kept as text.

use serde_json::Value;
use svc_model::unreadable;

/// The text of a value.
pub(super) fn text(value: &Value) -> String {
    value.to_string()
}

/// The text of a list of values or strings.
pub(super) fn list<T: Into<Value> + Clone>(values: &[T]) -> String {
    Value::Array(values.iter().cloned().map(Into::into).collect()).to_string()
}

/// The value of a text. A text that is no JSON becomes the mark no compiler accepts: what holds it is reported broken
/// and never runs.
pub(super) fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| unreadable())
}

/// The elements of a text that holds an array.
pub(super) fn values(text: &str) -> Vec<Value> {
    match value(text) {
        Value::Array(values) => values,
        other => vec![other],
    }
}

/// The strings of a text that holds an array of them; whatever else it holds stays recognisable as a foreign name.
pub(super) fn strings(text: &str) -> Vec<String> {
    let name = |value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    values(text).into_iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use svc_model::is_unreadable;

    use super::*;

    #[test]
    fn text_that_is_no_json_is_marked() {
        assert!(is_unreadable(&value("{")));
        assert!(values("{").iter().all(is_unreadable));
        assert!(!is_unreadable(&value("{}")));
    }
}
