//! Masking of secrets in the settings of a connector, and restoring of masked values on update.
//!
//! Masking uses an allowlist: a value is hidden unless its key is declared and holds no secret. References stay
//! readable under every key, because they name the location of a secret and not the secret. Null and empty
//! containers are shown.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;

use super::CONNECTORS;
use crate::mask::{MASK, is_reserved_reference, is_resolvable_reference, mask_url, restore_url};

/// Keys without effect that configs of other services have, and whose values are shown.
const READABLE: [&str; 2] = ["driver", "default_ttl_secs"];

/// The views of the keys of all connector types; of any other key, the value is hidden.
static VIEWS: LazyLock<HashMap<&'static str, View>> = LazyLock::new(|| {
    let blocks = CONNECTORS.iter().flat_map(|connector| connector.blocks);
    let mut views: HashMap<_, _> = READABLE.into_iter().map(|name| (name, View::Shown)).collect();
    for key in blocks.flat_map(|block| block.keys).filter(|key| key.kind != "block") {
        let view = match key.is_secret {
            true if key.kind.starts_with("object of ") => View::Sealed,
            true => View::Hidden,
            false => View::Shown,
        };
        // A name that is secret anywhere is secret everywhere.
        views.entry(key.name).and_modify(|known| *known = view.max(*known)).or_insert(view);
    }
    views
});

/// The masking of the values under a key, from the least to the most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum View {
    /// Shown, except for secrets inside a URL.
    Shown,
    Hidden,
    /// Hidden, including everything below it: only the keys of the container are shown.
    Sealed,
}

impl View {
    fn member_view(self, key: &str) -> Self {
        match self {
            Self::Sealed => Self::Sealed,
            _ => VIEWS.get(key).copied().unwrap_or(Self::Hidden),
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
