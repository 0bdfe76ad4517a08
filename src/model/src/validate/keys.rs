//! Keys that an object does not know.

use serde_json::{Map, Value};

use crate::field::{FieldCode, FieldError};
use crate::suggest::nearest;

/// A place beside or below an object, with the keys it knows.
pub type KeyPlace<'k> = (&'k str, &'k [&'k str]);

/// Returns `true` for a key that stands for nothing on purpose: `$schema`, which editors read, and `x-…`, which is the
/// author's own.
pub fn is_annotation(key: &str) -> bool {
    key == "$schema" || key.starts_with("x-")
}

/// Refuses the keys of an object that are not `known`. Each refusal names the one nearest key, here or in a place
/// `elsewhere`, or else every key there is.
pub fn unknown_keys(
    object: &Map<String, Value>,
    at: &str,
    known: &[&str],
    elsewhere: &[KeyPlace<'_>],
) -> Vec<FieldError> {
    let unknown = object.keys().filter(|key| !known.contains(&key.as_str()) && !is_annotation(key));
    unknown.map(|key| unknown_key(format!("{at}.{key}"), key, known, elsewhere)).collect()
}

/// The refusal of one key.
pub fn unknown_key(path: String, key: &str, known: &[&str], elsewhere: &[KeyPlace<'_>]) -> FieldError {
    let meant = meant(key, known, elsewhere);
    let error =
        FieldError::new(path, FieldCode::UnknownField, format!("unknown field, {}", hint(&meant, known)));
    match meant {
        Some(meant) => error.with_expected(meant),
        None => error,
    }
}

/// The key that an unknown one was likely meant to be: one of its name elsewhere, else the nearest here, else the nearest
/// elsewhere.
fn meant(key: &str, known: &[&str], elsewhere: &[KeyPlace<'_>]) -> Option<String> {
    let same = elsewhere.iter().find(|(_, keys)| keys.contains(&key)).map(|(place, _)| join(place, key));
    let near = || nearest(key, known.iter().copied()).map(str::to_owned);
    let far = || {
        let near = |(place, keys): &KeyPlace<'_>| Some(join(place, nearest(key, keys.iter().copied())?));
        elsewhere.iter().find_map(near)
    };
    same.or_else(near).or_else(far)
}

/// The part of a refusal that says what to write.
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
    fn an_unknown_key_is_refused_with_the_one_nearest_name() {
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
