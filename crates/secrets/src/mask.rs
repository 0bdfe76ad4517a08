//! Masking of a configuration: values under keys that suggest a secret, and passwords in URLs.

use serde_json::Value;

pub use svc_model::mask::{MASK, looks_secret, mask_url};

/// Masks the secrets in a value found under `key`, at any depth. Secret references stay readable, because
/// they name the location of a secret and not the secret. Empty values stay, so that "unset" is distinct from
/// "set".
pub fn mask(key: &str, value: &mut Value) {
    if looks_secret(key) { hide(value) } else { strike(value) }
}

fn strike(value: &mut Value) {
    match value {
        Value::String(text) => *text = mask_url(text),
        Value::Array(items) => items.iter_mut().for_each(strike),
        Value::Object(members) => members.iter_mut().for_each(|(key, value)| mask(key, value)),
        _ => {}
    }
}

fn hide(value: &mut Value) {
    match value {
        Value::String(text) if text.is_empty() || crate::is_reference(text) => {}
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Object(members) => members.values_mut().for_each(hide),
        // Booleans are settings about secrets, not secrets.
        Value::Null | Value::Bool(_) => {}
        shown => *shown = Value::String(MASK.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn masking_reaches_every_depth_and_keeps_references() {
        let mut value = json!({
            "a": [{"token": "t1"}, {"url": "amqp://u:p1@h"}],
            "secret": {"deep": ["t2", "env://X", ""], "n": 7, "on": true},
            "plain": "text"
        });
        mask("", &mut value);
        assert_eq!(
            value,
            json!({
                "a": [{"token": MASK}, {"url": "amqp://u:******@h"}],
                "secret": {"deep": [MASK, "env://X", ""], "n": MASK, "on": true},
                "plain": "text"
            })
        );
    }
}
