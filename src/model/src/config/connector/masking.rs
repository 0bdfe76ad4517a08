//! What a connector's settings show: the few that are known to hold no secret.

use serde_json::Value;

use crate::mask::{MASK, is_resolvable_reference};

/// Texts that are shown.
const READABLE: [&str; 6] = ["type", "method", "username", "header", "backend", "driver"];

/// The settings with their literals hidden. References stay readable: they say where a secret is, not what it is. So do
/// numbers and switches, and a URL that has neither credentials nor a query.
pub fn mask_connector_config(config: &Value) -> Value {
    let mut masked = config.clone();
    walk("", &mut masked);
    masked
}

fn walk(key: &str, value: &mut Value) {
    match value {
        Value::Object(members) => {
            let hidden = matches!(key, "headers" | "query_params" | "extra_params");
            for (name, member) in members {
                walk(if hidden { "" } else { name }, member);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(key, item)),
        Value::String(text) if !is_readable(key, text) => *text = MASK.to_owned(),
        _ => {}
    }
}

fn is_readable(key: &str, text: &str) -> bool {
    text.is_empty()
        || is_resolvable_reference(text)
        || READABLE.contains(&key)
        || (key == "methods")
        || (key == "url" && !text.contains(['@', '?', '$']))
}
