//! Detection of unknown keys, with suggestions.

use serde_json::{Map, Value};

use crate::field::{FieldCode, FieldError};
use crate::suggest::nearest;

/// The path of a related object, and the keys that it accepts.
pub type KeyPlace<'k> = (&'k str, &'k [&'k str]);

/// Returns true for an annotation, which has no effect: `$schema` for editors, and `x-…` for the author's own
/// use.
pub fn is_annotation(key: &str) -> bool {
    key == "$schema" || key.starts_with("x-")
}

/// Returns an error for each key that is not in `known`. The error suggests the nearest key, here or in one
/// of the places `elsewhere`, or else lists all known keys.
pub fn unknown_keys(
    object: &Map<String, Value>,
    at: &str,
    known: &[&str],
    elsewhere: &[KeyPlace<'_>],
) -> Vec<FieldError> {
    let unknown = object.keys().filter(|key| !known.contains(&key.as_str()) && !is_annotation(key));
    unknown.map(|key| unknown_key(format!("{at}.{key}"), key, known, elsewhere)).collect()
}

/// Creates the error for one unknown key.
pub fn unknown_key(path: String, key: &str, known: &[&str], elsewhere: &[KeyPlace<'_>]) -> FieldError {
    let suggestion = suggest_key(key, known, elsewhere);
    let error = FieldError::new(
        path,
        FieldCode::UnknownField,
        format!("unknown field, {}", hint(&suggestion, known)),
    );
    match suggestion {
        Some(suggestion) => error.with_expected(suggestion),
        None => error,
    }
}

/// Returns the key that an unknown one was probably meant to be: the same key elsewhere, else the nearest one
/// here, else the nearest one elsewhere.
fn suggest_key(key: &str, known: &[&str], elsewhere: &[KeyPlace<'_>]) -> Option<String> {
    let same = elsewhere.iter().find(|(_, keys)| keys.contains(&key)).map(|(place, _)| join(place, key));
    let near = || nearest(key, known.iter().copied()).map(str::to_owned);
    let far = || {
        let near = |(place, keys): &KeyPlace<'_>| Some(join(place, nearest(key, keys.iter().copied())?));
        elsewhere.iter().find_map(near)
    };
    same.or_else(near).or_else(far)
}

/// Returns the part of the message that names what to write instead.
fn hint(meant: &Option<String>, known: &[&str]) -> String {
    match meant {
        Some(meant) => format!("did you mean '{meant}'?"),
        None => {
            let mut known = known.to_vec();
            known.sort_unstable();
            format!("known: {}", known.join(", "))
        }
    }
}

fn join(place: &str, key: &str) -> String {
    if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_key_is_refused_with_nearest_name() {
        let object = json!({"condition": 1, "conditon": 1, "auth": 1, "timeout": 1, "zzz": 1, "$schema": "s", "x-a": 1});
        let places: [KeyPlace<'_>; 1] = [("config", &["auth", "timeout_ms"])];
        let refused = unknown_keys(object.as_object().unwrap(), "w", &["condition", "name"], &places);
        let mut told: Vec<_> =
            refused.iter().map(|error| (error.path.as_str(), error.code, error.message.as_str())).collect();
        told.sort_unstable_by_key(|(path, ..)| *path);
        assert_eq!(
            told,
            [
                ("w.auth", FieldCode::UnknownField, "unknown field, did you mean 'config.auth'?"),
                ("w.conditon", FieldCode::UnknownField, "unknown field, did you mean 'condition'?"),
                ("w.timeout", FieldCode::UnknownField, "unknown field, did you mean 'config.timeout_ms'?"),
                ("w.zzz", FieldCode::UnknownField, "unknown field, known: condition, name"),
            ]
        );
    }
}
