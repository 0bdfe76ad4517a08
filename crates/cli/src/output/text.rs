//! Values as text that is safe on a terminal.

use serde_json::Value;

pub(crate) use svc_client::printable_lines as printable;

/// Returns the member of a value by a path of names with dots between; null if there is none.
pub(crate) fn member<'v>(value: &'v Value, path: &str) -> &'v Value {
    path.split('.').fold(value, |value, name| &value[name])
}

/// Returns a text of any form without what steers a terminal. Line breaks and tabs stay.
pub(crate) fn printable_text(text: &str) -> String {
    text.split('\t').map(printable).collect::<Vec<_>>().join("\t")
}

/// The text of a value that is absent or null.
pub(crate) const ABSENT: &str = "-";

/// Returns a value in one line: a text as it is, a list of scalars with commas, null as [`ABSENT`], anything else as
/// JSON.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => ABSENT.to_owned(),
        Value::String(text) => printable(text),
        Value::Array(items) if items.iter().all(|item| !item.is_array() && !item.is_object()) => {
            items.iter().map(plain).collect::<Vec<_>>().join(", ")
        }
        value => printable(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn value_is_one_line() {
        for (value, expected) in [
            (json!(null), "-"),
            (json!("a"), "a"),
            (json!(["a", 1, true]), "a, 1, true"),
            (json!([]), ""),
            (json!({"b": 1, "a": [{}]}), r#"{"b":1,"a":[{}]}"#),
            (json!("\u{1b}[31mred"), "\\u{1b}[31mred"),
        ] {
            assert_eq!(plain(&value), expected);
        }
    }

    #[test]
    fn text_for_terminals_keeps_lines_and_tabs() {
        assert_eq!(printable_text("a\tb\nc\u{1b}[2J\u{9b}m\r\n"), "a\tb\nc\\u{1b}[2J\\u{9b}m\\u{d}\n");
    }

    #[test]
    fn missing_member_is_null() {
        let value = json!({"a": {"b": 1}});
        assert_eq!(member(&value, "a.b"), &json!(1));
        assert_eq!(member(&value, "a.c.d"), &Value::Null);
    }
}
