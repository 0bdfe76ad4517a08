//! Masking of the secrets in a channel config on reads, and restoring them on updates.
//!
//! The secrets are those that the blocks `auth` and `oauth2_login` declare. Reads show a literal value as [`MASK`]. A resolvable reference
//! stays readable, so that an export can be imported.

use std::sync::LazyLock;

use serde_json::Value;

use super::key_reference::KeyReference;
use super::reference::BLOCKS;
use crate::field::FieldError;
use crate::mask::{MASK, dotted_path, is_resolvable_reference};

/// The block of a sign-in.
const SIGN_IN: &str = "oauth2_login";

/// The blocks of a channel config whose references to secrets are resolved.
pub const CREDENTIAL_BLOCKS: [&str; 2] = ["auth", SIGN_IN];

/// The keys of the `auth` block that hold secrets, with the key of each entry if they list blocks.
static SECRETS: LazyLock<Vec<(&'static str, Option<&'static str>)>> = LazyLock::new(|| {
    let keys = BLOCKS.iter().flat_map(|block| block.keys.iter().map(move |key| (block.path, key)));
    let secrets = keys.filter(|(path, key)| key.is_secret && !path.starts_with(SIGN_IN));
    let place = |(path, key): (&'static str, &KeyReference)| match path.strip_prefix("auth.") {
        Some(list) => (list.trim_end_matches("[]"), Some(key.name)),
        None => (key.name, None),
    };
    secrets.map(place).collect()
});

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
    each_auth_secret(config, visit);
    if let Some(block) = config.get_mut(SIGN_IN) {
        each_sign_in_secret(block, visit);
    }
}

fn each_sign_in_secret(block: &mut Value, visit: &mut dyn FnMut(&str, &mut Value)) {
    let root = format!("/{SIGN_IN}");
    if !block.is_object() {
        return visit(&root, block);
    }
    let Value::Object(block) = block else { return };
    for name in ["state_secret", "client_secret"] {
        if let Some(secret) = block.get_mut(name) {
            visit(&format!("{root}/{name}"), secret);
        }
    }
    let members = match block.get_mut("providers") {
        Some(Value::Object(members)) => members,
        Some(malformed) => return visit(&format!("{root}/providers"), malformed),
        None => return,
    };
    for (name, provider) in members {
        let place = format!("{root}/providers/{}", name.replace('~', "~0").replace('/', "~1"));
        match provider {
            Value::Object(provider) => {
                if let Some(secret) = provider.get_mut("client_secret") {
                    visit(&format!("{place}/client_secret"), secret);
                }
            }
            malformed => visit(&place, malformed),
        }
    }
}

fn each_auth_secret(config: &mut Value, visit: &mut dyn FnMut(&str, &mut Value)) {
    let Some(auth) = config.get_mut("auth") else { return };
    if !auth.is_object() {
        return visit("/auth", auth);
    }
    for (field, inner) in SECRETS.iter().copied() {
        match auth.get_mut(field) {
            Some(Value::Array(items)) => {
                for (index, item) in items.iter_mut().enumerate() {
                    match (item, inner) {
                        (Value::Object(entry), Some(name)) => {
                            if let Some(secret) = entry.get_mut(name) {
                                visit(&format!("/auth/{field}/{index}/{name}"), secret);
                            }
                        }
                        (item, _) => visit(&format!("/auth/{field}/{index}"), item),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn declared_secrets_lie_in_two_blocks() {
        let is_secret = |path: &str| {
            ["auth", "auth.jwt_keys[]", "oauth2_login", "oauth2_login.providers.*"].contains(&path)
        };
        let declared = BLOCKS.iter().filter(|block| block.keys.iter().any(|key| key.is_secret));
        assert!(declared.into_iter().all(|block| is_secret(block.path)));
        assert_eq!(
            *SECRETS,
            [("keys", None), ("secret", None), ("secrets", None), ("jwt_keys", Some("key"))]
        );
    }

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
    fn secrets_of_a_sign_in_are_hidden_and_restored() {
        let provider = |secret: &str| json!({"client_id": "shop", "client_secret": secret});
        let stored = json!({"oauth2_login": {"state_secret": "s1", "client_secret": "s2", "client_id": "shop",
            "providers": {"a": provider("s3"), "b/c": provider("env://S4")}}});
        let masked = mask_channel_config(&stored);
        assert_eq!(
            masked,
            json!({"oauth2_login": {"state_secret": MASK, "client_secret": MASK, "client_id": "shop",
                "providers": {"a": provider(MASK), "b/c": provider("env://S4")}}})
        );
        let mut update = masked;
        assert!(restore_channel_config(&mut update, Some(&stored)).is_empty());
        assert_eq!(update, stored);
        let malformed = json!({"oauth2_login": {"state_secret": ["s"], "providers": {"a": "s"}}});
        let expected = json!({"oauth2_login": {"state_secret": MASK, "providers": {"a": MASK}}});
        assert_eq!(mask_channel_config(&malformed), expected);
        assert_eq!(mask_channel_config(&json!({"oauth2_login": "s"})), json!({"oauth2_login": MASK}));
    }

    #[test]
    fn malformed_reference_is_masked_and_restored() {
        let hidden = [
            "env://",
            "env://my-p4ss",
            "env://A B",
            "file://p4ss",
            "vault://p4ss",
            "vault://#p4ss",
            "vault://p4ss#",
        ];
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
        for text in ["env://A_1", "file:///run/keys/a", "vault://kv/data/x#y", "vault://a#b#c"] {
            let stored = json!({"auth": {"secret": text}});
            assert_eq!(mask_channel_config(&stored), stored, "{text}");
        }
    }

    #[test]
    fn mask_is_restored_from_its_own_field_only() {
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
    fn secret_of_a_wrong_type_is_hidden_too() {
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
