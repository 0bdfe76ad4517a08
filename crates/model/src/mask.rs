//! Masking of the secrets in a channel config on reads, and restoring them on updates.
//!
//! Four fields of the `auth` block hold secrets: `keys`, `secret`, `secrets` and `jwt_keys[].key`. Reads show
//! a literal value as [`MASK`]. A resolvable reference stays readable, so that an export can be imported.

mod url;

use serde_json::Value;

use crate::field::FieldError;

pub(crate) use url::decode_query_name;
pub use url::{holds_mask, looks_secret, mask_url, restore_url};

/// The text that replaces a masked value.
pub const MASK: &str = "******";

/// URL schemes of secret references.
const SCHEMES: [&str; 2] = ["env://", "vault://"];

/// URL schemes reserved for secret managers. A reference with one of them is refused wherever it would be
/// resolved.
const RESERVED_SCHEMES: [&str; 3] = ["aws-sm://", "gcp-sm://", "azure-kv://"];

/// Returns true if the text starts like a secret reference (`env://`, `vault://`).
pub fn is_secret_reference(text: &str) -> bool {
    SCHEMES.iter().any(|scheme| text.starts_with(scheme))
}

/// Returns true if the text starts with a scheme reserved for secret managers.
pub fn is_reserved_reference(text: &str) -> bool {
    RESERVED_SCHEMES.iter().any(|scheme| text.starts_with(scheme))
}

/// Returns the scheme of a secret reference that nothing resolves because it is not the beginning of the text, or not
/// written in small letters. The author of such a text probably means the secret.
pub fn embedded_reference(text: &str) -> Option<&'static str> {
    let small = text.to_ascii_lowercase();
    SCHEMES.into_iter().find(|scheme| {
        small.match_indices(scheme).any(|(at, _)| {
            let is_resolved = at == 0 && text.starts_with(scheme);
            let is_word =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'.');
            let begins = at == 0 || !is_word(small.as_bytes()[at - 1]);
            let names = small.as_bytes().get(at + scheme.len()).is_some_and(|byte| is_word(*byte));
            begins && names && !is_resolved
        })
    })
}

/// Returns true for a complete reference: `env://` and a name, or `vault://`, a path, `#` and a field. A text
/// that only starts like one may be a secret itself.
pub fn is_resolvable_reference(text: &str) -> bool {
    match text.split_once("://") {
        Some(("env", name)) => {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        }
        Some(("vault", place)) => {
            place.split_once('#').is_some_and(|(path, field)| !path.is_empty() && !field.is_empty())
        }
        _ => false,
    }
}

/// Returns the config of a channel with its secrets masked.
pub fn mask_channel_config(config: &Value) -> Value {
    let mut masked = config.clone();
    each_channel_secret(&mut masked, &mut |_, value| hide(value));
    masked
}

/// Restores the secrets that a caller sent as [`MASK`] from the same fields of the stored config. A stored
/// reference is never shown masked, so it is not restored: the mask was copied from another value.
///
/// # Errors
/// One `INVALID` for each mask without a masked stored value in the same field.
pub fn restore_channel_config(config: &mut Value, stored: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    each_channel_secret(config, &mut |pointer, value| {
        if value.as_str() != Some(MASK) {
            return;
        }
        match stored.and_then(|stored| stored.pointer(pointer)) {
            Some(Value::String(secret)) if !is_resolvable_reference(secret) => {
                *value = Value::String(secret.clone())
            }
            _ => errors.push(FieldError::invalid(
                format!("channel.config{}", dotted_path(pointer)),
                "this is the read mask, send the real value or omit the field",
            )),
        }
    });
    errors
}

/// Visits every value of a secret field of a channel config with its JSON pointer. A malformed part is visited as a whole,
/// because a stored row may hold a secret in the wrong shape.
pub fn each_channel_secret(config: &mut Value, visit: &mut dyn FnMut(&str, &mut Value)) {
    let Some(auth) = config.get_mut("auth") else { return };
    if !auth.is_object() {
        return visit("/auth", auth);
    }
    for field in ["secret", "keys", "secrets", "jwt_keys"] {
        match auth.get_mut(field) {
            Some(Value::Array(items)) => {
                for (index, item) in items.iter_mut().enumerate() {
                    match item {
                        Value::Object(entry) if field == "jwt_keys" => {
                            if let Some(key) = entry.get_mut("key") {
                                visit(&format!("/auth/{field}/{index}/key"), key);
                            }
                        }
                        item => visit(&format!("/auth/{field}/{index}"), item),
                    }
                }
            }
            Some(value) => visit(&format!("/auth/{field}"), value),
            None => {}
        }
    }
}

/// Masks everything except null and references. A value of the wrong type may also contain the secret.
fn hide(value: &mut Value) {
    match value {
        Value::Null => {}
        Value::String(text) if is_resolvable_reference(text) => {}
        other => *other = Value::from(MASK),
    }
}

/// Converts a JSON pointer to a path: `/auth/keys/0` to `.auth.keys[0]`.
pub fn dotted_path(pointer: &str) -> String {
    pointer
        .split('/')
        .skip(1)
        .map(
            |part| {
                if part.bytes().all(|b| b.is_ascii_digit()) {
                    format!("[{part}]")
                } else {
                    format!(".{part}")
                }
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn literals_are_hidden_and_references_stay_readable() {
        let config = json!({
            "timeout_ms": 5,
            "auth": {
                "mode": "hmac", "header": "X-Sig", "secret": "s1", "secrets": ["s2", "env://S3"],
                "keys": ["k1", "vault://kv/x#y"],
                "jwt_keys": [{"kid": "a", "key": "k2"}, {"kid": "b", "key": "env://K"}]
            }
        });
        let masked = mask_channel_config(&config);
        assert_eq!(
            masked,
            json!({
                "timeout_ms": 5,
                "auth": {
                    "mode": "hmac", "header": "X-Sig", "secret": MASK, "secrets": [MASK, "env://S3"],
                    "keys": [MASK, "vault://kv/x#y"],
                    "jwt_keys": [{"kid": "a", "key": MASK}, {"kid": "b", "key": "env://K"}]
                }
            })
        );
    }

    #[test]
    fn malformed_reference_is_masked_and_restored() {
        let hidden =
            ["env://", "env://my-p4ss", "env://A B", "vault://p4ss", "vault://#p4ss", "vault://p4ss#"];
        let reserved =
            ["aws-sm://name", "gcp-sm://name", "azure-kv://name", " env://A", "ENV://A", "https://a"];
        for text in hidden.into_iter().chain(reserved) {
            let stored = json!({"auth": {"secret": text, "jwt_keys": [{"key": text}]}});
            let masked = mask_channel_config(&stored);
            assert_eq!(masked, json!({"auth": {"secret": MASK, "jwt_keys": [{"key": MASK}]}}), "{text}");
            let mut update = masked;
            assert!(restore_channel_config(&mut update, Some(&stored)).is_empty(), "{text}");
            assert_eq!(update, stored);
        }
        for text in ["env://A_1", "vault://kv/data/x#y", "vault://a#b#c"] {
            let stored = json!({"auth": {"secret": text}});
            assert_eq!(mask_channel_config(&stored), stored, "{text}");
        }
    }

    #[test]
    fn a_mask_is_restored_from_its_own_field_only() {
        let stored = json!({"auth": {"mode": "api_key", "keys": ["k"]}});
        for auth in [
            json!({"mode": "hmac", "secret": MASK}),
            json!({"mode": "hmac", "secrets": [MASK]}),
            json!({"mode": "jwt", "jwt_keys": [{"algorithm": "HS256", "key": MASK}]}),
            json!({"mode": "api_key", "keys": ["new", MASK]}),
        ] {
            let mut update = json!({"auth": auth});
            let errors = restore_channel_config(&mut update, Some(&stored));
            assert_eq!(errors.len(), 1, "{auth}");
            assert_eq!(errors[0].message, "this is the read mask, send the real value or omit the field");
            assert_eq!(update, json!({"auth": auth}), "nothing is put in its place");
        }
        let mut edited_config =
            json!({"auth": {"mode": "api_key", "keys": ["prefix ******", "*******", ""]}});
        let literal = edited_config.clone();
        assert!(
            restore_channel_config(&mut edited_config, None).is_empty(),
            "only the mask itself is the mask"
        );
        assert_eq!(edited_config, literal);
    }

    #[test]
    fn a_secret_of_a_wrong_type_is_hidden_too() {
        let masked =
            mask_channel_config(&json!({"auth": {"keys": "k1", "secret": 12, "secrets": [{"a": "s"}]}}));
        assert_eq!(masked, json!({"auth": {"keys": MASK, "secret": MASK, "secrets": [MASK]}}));
        let masked = mask_channel_config(&json!({"auth": {"jwt_keys": ["s", {"kid": "a"}, {"key": ["s"]}]}}));
        assert_eq!(masked, json!({"auth": {"jwt_keys": [MASK, {"kid": "a"}, {"key": MASK}]}}));
        assert_eq!(mask_channel_config(&json!({"auth": ["s"]})), json!({"auth": MASK}));
        assert_eq!(mask_channel_config(&json!("x")), json!("x"));
        assert_eq!(
            mask_channel_config(&json!({"auth": {"secret": null}})),
            json!({"auth": {"secret": null}})
        );
    }

    #[test]
    fn a_masked_config_sent_back_is_restored_whole() {
        let stored = json!({"auth": {"mode": "jwt", "keys": ["a", "env://B"], "secret": "s", "jwt_keys": [{"key": "k"}]}});
        let mut update = mask_channel_config(&stored);
        assert!(restore_channel_config(&mut update, Some(&stored)).is_empty());
        assert_eq!(update, stored);
    }

    #[test]
    fn mask_replacing_a_readable_reference_is_refused() {
        let stored = json!({"auth": {"mode": "api_key", "keys": ["secretkey1", "env://NOPE_X", "k3"]}});
        let mut update = json!({"auth": {"mode": "api_key", "keys": ["a", MASK]}});
        let errors = restore_channel_config(&mut update, Some(&stored));
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert_eq!(
            (errors[0].path.as_str(), errors[0].code),
            ("channel.config.auth.keys[1]", crate::FieldCode::Invalid)
        );
    }

    #[test]
    fn mask_without_stored_value_is_refused() {
        let mut update = json!({"auth": {"keys": [MASK, "new", MASK], "jwt_keys": [{"key": MASK}]}});
        let errors = restore_channel_config(&mut update, Some(&json!({"auth": {"keys": ["old"]}})));
        let paths: Vec<_> = errors.iter().map(|e| e.path.as_str()).collect();
        assert_eq!(paths, ["channel.config.auth.keys[2]", "channel.config.auth.jwt_keys[0].key"]);
        assert_eq!(update["auth"]["keys"], json!(["old", "new", MASK]));
        assert_eq!(restore_channel_config(&mut json!({"auth": {"secret": MASK}}), None).len(), 1);
    }
}
