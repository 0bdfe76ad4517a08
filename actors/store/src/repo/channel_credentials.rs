//! The credentials of channels at rest: each literal value is encrypted if a key is configured, bound to its field of
//! its version. References to secrets, and the rest of the config, stay readable.

use serde_json::Value;
use svc_model::mask::{dotted_path, each_channel_secret, is_resolvable_reference};
use svc_model::{FieldError, ServiceError};
use svc_secrets::{EnvelopeKeys, EnvelopePlace, is_sealed};

use crate::error::StoreError;
use crate::repo::seal::seal;

/// A version of a channel, to whose fields credentials are bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChannelVersion<'v> {
    pub(crate) id: &'v str,
    pub(crate) version: i64,
}

impl ChannelVersion<'_> {
    /// Returns the row of the place of a field; the pointer of each begins with `/auth`.
    fn row(self, pointer: &str) -> String {
        format!("{}:{}{pointer}", self.id, self.version)
    }
}

const fn place(row: &str) -> EnvelopePlace<'_> {
    EnvelopePlace { table: "channels", row, column: "config_json" }
}

/// Returns a config for storage.
///
/// # Errors
/// [`StoreError::Refused`]: 400 for a credential that is an envelope, such as one that could not be decrypted: it would
/// be bound to another place. [`StoreError::Database`] without random numbers.
pub(super) fn seal_credentials(
    config: &Value,
    of: ChannelVersion<'_>,
    keys: &EnvelopeKeys,
) -> Result<Value, StoreError> {
    let mut sealed = config.clone();
    let mut refusals = Vec::new();
    let mut failure = None;
    each_channel_secret(&mut sealed, &mut |pointer, value| {
        let Value::String(text) = value else { return };
        if is_sealed(text) {
            let message = "is an encrypted value, which only the field that it was made for can hold: send the credential";
            refusals.push(FieldError::invalid(format!("channel.config{}", dotted_path(pointer)), message));
        } else if keys.seals() && !is_resolvable_reference(text) {
            match seal(text, place(&of.row(pointer)), keys) {
                Ok(envelope) => *text = envelope,
                Err(error) => failure = Some(error),
            }
        }
    });
    match failure {
        Some(error) => Err(error),
        None if refusals.is_empty() => Ok(sealed),
        None => Err(ServiceError::invalid(refusals).into()),
    }
}

/// Decrypts the credentials of a stored config. One that cannot be decrypted stays as it is, and marks the config: no
/// channel is compiled from it, and the reason is shown.
pub(super) fn open_credentials(config: &mut Value, of: ChannelVersion<'_>, keys: &EnvelopeKeys) {
    let mut reasons = Vec::new();
    each_channel_secret(config, &mut |pointer, value| {
        let Some(text) = value.as_str().filter(|text| is_sealed(text)) else { return };
        match keys.open(text, place(&of.row(pointer))) {
            Ok(plain) => *value = Value::String(plain),
            Err(error) => reasons.push(format!("unreadable config{}: {error}", dotted_path(pointer))),
        }
    });
    if let Value::Object(members) = config {
        members.extend(reasons.into_iter().map(|reason| (reason, Value::Null)));
    }
}

/// Returns a stored config with every credential under the writing key; `None` if each already is. The outer error names
/// the first credential that cannot be decrypted.
pub(crate) fn reseal_credentials(
    config: &Value,
    of: ChannelVersion<'_>,
    keys: &EnvelopeKeys,
) -> Result<Result<Option<Value>, StoreError>, svc_secrets::EnvelopeError> {
    let mut opened = config.clone();
    let (mut is_current, mut failure) = (true, None);
    each_channel_secret(&mut opened, &mut |pointer, value| {
        let Some(text) = value.as_str().filter(|text| !is_resolvable_reference(text)) else { return };
        is_current &= keys.is_current(text);
        match keys.open(text, place(&of.row(pointer))) {
            Ok(plain) => *value = Value::String(plain),
            Err(error) => failure = failure.take().or(Some(error)),
        }
    });
    match failure {
        Some(error) => Err(error),
        None if is_current => Ok(Ok(None)),
        None => Ok(seal_credentials(&opened, of, keys).map(Some)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const OF: ChannelVersion<'static> = ChannelVersion { id: "a", version: 2 };

    fn keys(current: &str, previous: &[&str]) -> EnvelopeKeys {
        let previous: Vec<_> = previous.iter().map(|key| key.repeat(32)).collect();
        EnvelopeKeys::new(Some(&current.repeat(32)), previous.iter().map(String::as_str)).unwrap()
    }

    fn config() -> Value {
        json!({"timeout_ms": 5, "auth": {"mode": "api_key", "keys": ["k1", "env://K2"],
            "jwt_keys": [{"kid": "a", "key": "k3"}]}})
    }

    #[test]
    fn literal_credentials_open_only_in_their_place() {
        let keys = keys("a1", &[]);
        let sealed = seal_credentials(&config(), OF, &keys).unwrap();
        assert_eq!((&sealed["timeout_ms"], &sealed["auth"]["keys"][1]), (&json!(5), &json!("env://K2")));
        assert!(!sealed.to_string().contains("k1") && !sealed.to_string().contains("k3"), "{sealed}");
        let mut opened = sealed.clone();
        open_credentials(&mut opened, OF, &keys);
        assert_eq!(opened, config());
        for of in [ChannelVersion { id: "b", ..OF }, ChannelVersion { version: 3, ..OF }] {
            let mut opened = sealed.clone();
            open_credentials(&mut opened, of, &keys);
            let marks: Vec<_> =
                opened.as_object().unwrap().keys().filter(|key| key.contains("unreadable")).collect();
            assert_eq!(marks.len(), 2, "{opened}");
            assert!(seal_credentials(&opened, of, &keys).is_err(), "it is not written elsewhere");
        }
        let mut moved = sealed.clone();
        moved["auth"]["keys"] = json!(["env://K2", sealed["auth"]["keys"][0]]);
        open_credentials(&mut moved, OF, &keys);
        assert!(moved.to_string().contains("unreadable config.auth.keys[1]"), "{moved}");
    }

    #[test]
    fn credentials_stay_plain_without_a_key() {
        let none = EnvelopeKeys::default();
        assert_eq!(seal_credentials(&config(), OF, &none).unwrap(), config());
        let mut sealed = seal_credentials(&config(), OF, &keys("a1", &[])).unwrap();
        open_credentials(&mut sealed, OF, &none);
        assert!(sealed.to_string().contains("is not configured"), "{sealed}");
    }

    #[test]
    fn credentials_are_rewritten_under_the_writing_key_once() {
        let (old, both) = (keys("a1", &[]), keys("b2", &["a1"]));
        for stored in [config(), seal_credentials(&config(), OF, &old).unwrap()] {
            let fresh = reseal_credentials(&stored, OF, &both).unwrap().unwrap().unwrap();
            assert_eq!(reseal_credentials(&fresh, OF, &both).unwrap().unwrap(), None);
            let mut opened = fresh;
            open_credentials(&mut opened, OF, &keys("b2", &[]));
            assert_eq!(opened, config());
        }
        let stored = seal_credentials(&config(), OF, &old).unwrap();
        assert!(reseal_credentials(&stored, OF, &keys("b2", &[])).is_err());
        let open = json!({"auth": {"mode": "api_key", "keys": ["env://K"]}});
        assert_eq!(reseal_credentials(&open, OF, &both).unwrap().unwrap(), None);
    }
}
