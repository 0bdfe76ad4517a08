//! The secrets in documents at rest: each literal value is encrypted if a key is configured, bound to its place in its
//! version. They are the credentials of a channel, one by one, and the settings of a connector as one text. References to
//! secrets in a channel, and the rest of a document, stay readable.

use serde_json::Value;
use svc_model::mask::{dotted_path, each_channel_secret, is_resolvable_reference};
use svc_model::{EntityKind, FieldError, ServiceError};
use svc_secrets::{EnvelopeError, EnvelopeKeys, is_sealed};

use super::rows::{DefinitionKey, secret_place};
use crate::error::StoreError;
use crate::repo::seal::seal;

/// Pointer to the settings of a connector.
pub(super) const SETTINGS: &str = "/config";

/// Visits every secret of a document, with its pointer.
pub(crate) fn each_secret(kind: EntityKind, document: &mut Value, visit: &mut dyn FnMut(&str, &mut Value)) {
    let Some(config) = document.get_mut("config") else { return };
    match kind {
        EntityKind::Workflow => {}
        EntityKind::Channel => each_credential(config, visit),
        EntityKind::Connector => visit(SETTINGS, config),
    }
}

/// Visits every credential in the config of a channel, with its pointer in the document.
fn each_credential(config: &mut Value, visit: &mut dyn FnMut(&str, &mut Value)) {
    each_channel_secret(config, &mut |pointer, value| visit(&format!("/config{pointer}"), value));
}

/// Encrypts the credentials in the config of a channel.
///
/// # Errors
/// [`StoreError::Refused`]: 400 for a credential that is an envelope, such as one that could not be decrypted: it would
/// be bound to another place. [`StoreError::Database`] without random numbers.
pub(super) fn seal_credentials(
    config: &mut Value,
    key: DefinitionKey<'_>,
    keys: &EnvelopeKeys,
) -> Result<(), StoreError> {
    let mut refusals = Vec::new();
    let mut failure = None;
    each_credential(config, &mut |pointer, value| {
        let Value::String(text) = value else { return };
        if is_sealed(text) {
            let message = "is an encrypted value, which only the field that it was made for can hold: send the credential";
            refusals.push(FieldError::invalid(format!("channel{}", dotted_path(pointer)), message));
        } else if keys.seals() && !is_resolvable_reference(text) {
            match seal(text, secret_place(&key.secret_row(pointer)), keys) {
                Ok(envelope) => *text = envelope,
                Err(error) => failure = Some(error),
            }
        }
    });
    match failure {
        Some(error) => Err(error),
        None if refusals.is_empty() => Ok(()),
        None => Err(ServiceError::invalid(refusals).into()),
    }
}

/// Decrypts the credentials in a stored config. One that cannot be decrypted stays as it is, and marks the config: no
/// channel is compiled from it, and the reason is shown.
pub(super) fn open_credentials(config: &mut Value, key: DefinitionKey<'_>, keys: &EnvelopeKeys) {
    let mut reasons = Vec::new();
    each_credential(config, &mut |pointer, value| {
        let Some(text) = value.as_str().filter(|text| is_sealed(text)) else { return };
        match keys.open(text, secret_place(&key.secret_row(pointer))) {
            Ok(plain) => *value = Value::String(plain),
            Err(error) => {
                let path = dotted_path(pointer);
                reasons.push(format!("unreadable {}: {error}", path.trim_start_matches('.')));
            }
        }
    });
    if let Value::Object(members) = config {
        members.extend(reasons.into_iter().map(|reason| (reason, Value::Null)));
    }
}

/// Returns the settings of a connector as its document holds them: encrypted, or without a key as the object that they
/// are. Text that is no object stays a text.
pub(super) fn seal_settings(
    text: &str,
    key: DefinitionKey<'_>,
    keys: &EnvelopeKeys,
) -> Result<Value, StoreError> {
    let sealed = seal(text, secret_place(&key.secret_row(SETTINGS)), keys)?;
    if keys.seals() {
        return Ok(Value::String(sealed));
    }
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) => Ok(object),
        _ => Ok(Value::String(sealed)),
    }
}

/// Returns a stored document with every secret under the writing key; `None` if each already is, or the text is no
/// document. The outer error names the first secret that cannot be decrypted.
pub(crate) fn reseal(
    content: &str,
    key: DefinitionKey<'_>,
    keys: &EnvelopeKeys,
) -> Result<Result<Option<String>, StoreError>, EnvelopeError> {
    let Ok(mut document) = serde_json::from_str::<Value>(content) else { return Ok(Ok(None)) };
    let (mut is_changed, mut unreadable, mut failure) = (false, None, None);
    each_secret(key.kind, &mut document, &mut |pointer, value| {
        let text = match (&*value, key.kind) {
            (Value::String(text), _) => text.clone(),
            (settings, EntityKind::Connector) => settings.to_string(),
            _ => return,
        };
        if key.kind == EntityKind::Channel && is_resolvable_reference(&text) {
            return;
        }
        match keys.open(&text, secret_place(&key.secret_row(pointer))) {
            Err(error) => unreadable = unreadable.take().or(Some(error)),
            Ok(_) if keys.is_current(&text) => {}
            Ok(plain) => match reseal_secret(&plain, key, pointer, keys) {
                Ok(sealed) => {
                    *value = sealed;
                    is_changed = true;
                }
                Err(error) => failure = Some(error),
            },
        }
    });
    match (unreadable, failure) {
        (Some(error), _) => Err(error),
        (None, Some(error)) => Ok(Err(error)),
        (None, None) => Ok(Ok(is_changed.then(|| document.to_string()))),
    }
}

/// Returns a secret as its document holds it under the writing key.
pub(crate) fn reseal_secret(
    plain: &str,
    key: DefinitionKey<'_>,
    pointer: &str,
    keys: &EnvelopeKeys,
) -> Result<Value, StoreError> {
    match key.kind {
        EntityKind::Connector => seal_settings(plain, key, keys),
        _ => seal(plain, secret_place(&key.secret_row(pointer)), keys).map(Value::String),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEY: DefinitionKey<'static> = DefinitionKey { kind: EntityKind::Channel, id: "a", version: 2 };

    fn keys(current: &str, previous: &[&str]) -> EnvelopeKeys {
        let previous: Vec<_> = previous.iter().map(|key| key.repeat(32)).collect();
        EnvelopeKeys::new(Some(&current.repeat(32)), previous.iter().map(String::as_str)).unwrap()
    }

    fn config() -> Value {
        json!({"timeout_ms": 5, "auth": {"mode": "api_key", "keys": ["k1", "env://K2"],
            "jwt_keys": [{"kid": "a", "key": "k3"}]}})
    }

    fn sealed_config(key: DefinitionKey<'_>, keys: &EnvelopeKeys) -> Value {
        let mut sealed = config();
        seal_credentials(&mut sealed, key, keys).unwrap();
        sealed
    }

    fn document(config: &Value) -> String {
        json!({ "name": "a", "config": config }).to_string()
    }

    #[test]
    fn literal_credentials_open_only_in_their_place() {
        let keys = keys("a1", &[]);
        let sealed = sealed_config(KEY, &keys);
        assert_eq!((&sealed["timeout_ms"], &sealed["auth"]["keys"][1]), (&json!(5), &json!("env://K2")));
        // Ciphertext may have the two letters of a credential anywhere.
        for credential in [&sealed["auth"]["keys"][0], &sealed["auth"]["jwt_keys"][0]["key"]] {
            assert!(credential.as_str().unwrap().starts_with("enc:"), "{sealed}");
        }
        let mut opened = sealed.clone();
        open_credentials(&mut opened, KEY, &keys);
        assert_eq!(opened, config());
        for key in [DefinitionKey { id: "b", ..KEY }, DefinitionKey { version: 3, ..KEY }] {
            let mut opened = sealed.clone();
            open_credentials(&mut opened, key, &keys);
            let marks: Vec<_> =
                opened.as_object().unwrap().keys().filter(|key| key.contains("unreadable")).collect();
            assert_eq!(marks.len(), 2, "{opened}");
            assert!(seal_credentials(&mut opened, key, &keys).is_err(), "it is not written elsewhere");
        }
        let mut moved = sealed.clone();
        moved["auth"]["keys"] = json!(["env://K2", sealed["auth"]["keys"][0]]);
        open_credentials(&mut moved, KEY, &keys);
        assert!(moved.to_string().contains("unreadable config.auth.keys[1]"), "{moved}");
    }

    #[test]
    fn credentials_stay_plain_without_a_key() {
        let none = EnvelopeKeys::default();
        assert_eq!(sealed_config(KEY, &none), config());
        let mut sealed = sealed_config(KEY, &keys("a1", &[]));
        open_credentials(&mut sealed, KEY, &none);
        assert!(sealed.to_string().contains("is not configured"), "{sealed}");
    }

    #[test]
    fn credentials_are_rewritten_under_the_writing_key_once() {
        let (old, both) = (keys("a1", &[]), keys("b2", &["a1"]));
        for stored in [config(), sealed_config(KEY, &old)] {
            let fresh = reseal(&document(&stored), KEY, &both).unwrap().unwrap().unwrap();
            assert_eq!(reseal(&fresh, KEY, &both).unwrap().unwrap(), None);
            let mut opened = serde_json::from_str::<Value>(&fresh).unwrap()["config"].take();
            open_credentials(&mut opened, KEY, &keys("b2", &[]));
            assert_eq!(opened, config());
        }
        let stored = document(&sealed_config(KEY, &old));
        assert!(reseal(&stored, KEY, &keys("b2", &[])).is_err());
        let open = document(&json!({"auth": {"mode": "api_key", "keys": ["env://K"]}}));
        assert_eq!(reseal(&open, KEY, &both).unwrap().unwrap(), None);
    }

    #[test]
    fn settings_without_a_key_stay_an_object() {
        let key = DefinitionKey { kind: EntityKind::Connector, ..KEY };
        let (none, some) = (EnvelopeKeys::default(), keys("a1", &[]));
        let settings = json!({"url": "https://example.com"});
        assert_eq!(seal_settings(&settings.to_string(), key, &none).unwrap(), settings);
        assert_eq!(seal_settings("{", key, &none).unwrap(), json!("{"));
        let fresh = reseal(&document(&settings), key, &some).unwrap().unwrap().unwrap();
        assert!(fresh.contains("enc:v2:") && !fresh.contains("example.com"), "{fresh}");
        assert_eq!(reseal(&fresh, key, &some).unwrap().unwrap(), None);
    }
}
