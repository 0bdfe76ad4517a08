//! Masking of secrets in the settings of a connector, and restoring of masked values on update.
//!
//! Masking uses an allowlist: a value is hidden unless its key is known to hold no secret. References stay
//! readable under every key, because they name the location of a secret and not the secret. Null and empty
//! containers are shown.

use serde_json::Value;

use crate::mask::{MASK, is_reserved_reference, is_resolvable_reference, mask_url, restore_url};

/// Keys whose values are shown, except for secrets inside a URL.
const READABLE: [&str; 57] = [
    "type",
    "driver",
    "backend",
    "method",
    "username",
    "header",
    "security_protocol",
    "sasl_mechanism",
    "sasl_username",
    "url",
    "brokers",
    "topic",
    "host",
    "port",
    "tls",
    "from",
    "allow_from_override",
    "timeout_ms",
    "provider",
    "endpoint",
    "region",
    "bucket",
    "force_path_style",
    "presign_get",
    "presign_put",
    "head",
    "grant",
    "token_url",
    "client_id",
    "client_auth",
    "scopes",
    "audience",
    "resource",
    "account_id",
    "refresh_margin_secs",
    "max_connections",
    "connect_timeout_ms",
    "query_timeout_ms",
    "request_timeout_ms",
    "max_response_size",
    "default_ttl_secs",
    "max_retries",
    "retry_delay_ms",
    "retry_non_idempotent",
    "allow_private_urls",
    "read",
    "insert",
    "update",
    "delete",
    "upsert",
    "raw_write",
    "write",
    "publish",
    "methods",
    "aggregate_write_stages",
    "require_schema",
    "allowed_entities",
];

/// Containers whose values are always hidden; only their keys are shown.
const HIDDEN: [&str; 3] = ["headers", "query_params", "extra_params"];

/// The masking of the values under a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Shown,
    Hidden,
    /// Hidden, including everything below it.
    Sealed,
}

impl View {
    fn member_view(self, key: &str) -> Self {
        match self {
            Self::Sealed => Self::Sealed,
            _ if HIDDEN.contains(&key) => Self::Sealed,
            _ if READABLE.contains(&key) => Self::Shown,
            _ => Self::Hidden,
        }
    }

    /// Masks a scalar value.
    fn mask(self, scalar: &Value) -> Value {
        match scalar {
            Value::Null => Value::Null,
            Value::String(text) if is_resolvable_reference(text) || is_reserved_reference(text) => {
                scalar.clone()
            }
            Value::String(text) if self == Self::Shown => mask_url(text).into(),
            _ if self == Self::Shown => scalar.clone(),
            _ => MASK.into(),
        }
    }
}

/// Returns the settings with all possible secrets masked.
pub fn mask_connector_config(config: &Value) -> Value {
    mask_value(View::Hidden, config)
}

fn mask_value(view: View, value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(key, member)| (key.clone(), mask_value(view.member_view(key), member)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(|item| mask_value(view, item)).collect(),
        scalar => view.mask(scalar),
    }
}

/// Restores masked values in a config that a caller sent, from the same place of the stored settings: the
/// same keys, the same indices, the same part of a URL. A mask without such a place stays, and validation
/// refuses it.
pub fn restore_connector_config(sent: &mut Value, stored: &Value) {
    restore(View::Hidden, sent, stored);
}

fn restore(view: View, sent: &mut Value, stored: &Value) {
    match (sent, stored) {
        (Value::Object(sent), Value::Object(stored)) => {
            for (key, member) in sent {
                if let Some(stored) = stored.get(key) {
                    restore(view.member_view(key), member, stored);
                }
            }
        }
        (Value::Array(sent), Value::Array(stored)) => {
            for (item, stored) in sent.iter_mut().zip(stored) {
                restore(view, item, stored);
            }
        }
        (_, Value::Object(_) | Value::Array(_)) => {}
        (sent, stored) if *sent == view.mask(stored) => *sent = stored.clone(),
        (Value::String(sent), Value::String(stored)) if view == View::Shown => {
            *sent = restore_url(sent, stored);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
