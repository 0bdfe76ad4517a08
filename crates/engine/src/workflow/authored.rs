//! The parts of a document as their author wrote them.

use std::sync::LazyLock;

use serde_json::Value;

/// Returns the input of a function as it was written; absent and null are an empty one.
pub(crate) fn authored_input(function: &Value) -> &Value {
    static EMPTY: LazyLock<Value> = LazyLock::new(|| Value::Object(serde_json::Map::new()));
    function.get("input").filter(|input| !input.is_null()).unwrap_or(&EMPTY)
}
