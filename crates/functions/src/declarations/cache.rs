//! `cache_read`, `cache_write`, `cache_delete` and `cache_incr`.

use serde_json::{Map, Value};
use svc_engine::catalogue::{
    ConnectorRequirement, DefaultOutput, FunctionEntry, InputField, PathUse, SentForm,
};
use svc_engine::holds_computed;
use svc_model::{ConnectorType, FieldCode, FieldError};

use super::FunctionDeclaration;
use super::input::literal_value;

/// The declaration of `cache_read`.
pub static CACHE_READ: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "read",
        fields: &[
            InputField::connector("Cache connector"),
            InputField::string("key", "Key to look up; this or keys").computed().sent_as(SentForm::Key),
            keys("Keys, 1000 at most; the values come in their order"),
            InputField::output(),
        ],
        ..FunctionEntry::connector(
            "cache_read",
            "Reads one key of a cache, or several at once; a miss is null",
            ConnectorRequirement::new(&[ConnectorType::Cache]),
        )
    },
    check: check_read,
};

/// The declaration of `cache_write`.
pub static CACHE_WRITE: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "idempotent_write",
        fields: &[
            InputField::connector("Cache connector"),
            InputField::string("key", "Key to write").required().computed().sent_as(SentForm::Key),
            InputField::any("value", "Value to keep, stored as JSON").required().resolvable(),
            InputField::number("ttl_secs", "Seconds until it expires; without it, never")
                .computed()
                .sent_as(SentForm::ValueOrNothing),
        ],
        ..FunctionEntry::connector(
            "cache_write",
            "Writes one key of a cache, with or without an expiry",
            ConnectorRequirement::new(&[ConnectorType::Cache]),
        )
    },
    check: check_write,
};

/// The declaration of `cache_delete`.
pub static CACHE_DELETE: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "idempotent_write",
        strict: true,
        fields: &[
            InputField::connector("Cache connector"),
            keys("Keys, 1000 at most").required(),
            InputField::string("output", "Path that gets {deleted}; without it nothing is written")
                .path(PathUse::Target { alone: false })
                .sent_as(SentForm::Unsent),
        ],
        default_output: DefaultOutput::Discarded,
        ..FunctionEntry::connector(
            "cache_delete",
            "Deletes keys of a cache, all in one step",
            ConnectorRequirement::new(&[ConnectorType::Cache]),
        )
    },
    check: check_delete,
};

/// The declaration of `cache_incr`.
pub static CACHE_INCR: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "unsafe_write",
        strict: true,
        fields: &[
            InputField::connector("Cache connector"),
            InputField::string("key", "Key of the number").required().computed().sent_as(SentForm::Key),
            InputField::number("by", "Whole number that is added, 1 by default; it may be negative")
                .computed()
                .sent_as(SentForm::ValueOrNothing),
            InputField::number(
                "ttl_secs",
                "Seconds until it expires, if this call creates the key; without it, never",
            )
            .computed()
            .sent_as(SentForm::ValueOrNothing),
            InputField::output(),
        ],
        ..FunctionEntry::connector(
            "cache_incr",
            "Adds to a number in a cache, in one step, and returns the sum",
            ConnectorRequirement::new(&[ConnectorType::Cache]),
        )
    },
    check: check_incr,
};

/// Creates the input of several keys, each of which may be computed.
const fn keys(description: &'static str) -> InputField {
    InputField::array("keys", description).resolvable().computed().sent_as(SentForm::Keys)
}

/// Keys of one call.
pub const MAX_KEYS: usize = 1000;

/// The longest an entry may live, in seconds: a hundred years. No instant is computed safely beyond it.
const LONGEST_SECS: u64 = 100 * 365 * 86_400;

fn check_read(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    match (input.get("key"), input.get("keys")) {
        (None, None) => errors.push(FieldError::required(format!("{at}.key"))),
        (Some(_), Some(_)) => {
            let message = "key reads one value and keys a list of them; keep one";
            errors.push(FieldError::new(format!("{at}.keys"), FieldCode::DuplicateField, message));
        }
        _ => {}
    }
    check_delete(input, at, errors);
}

fn check_delete(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    let keys = literal_value(input, "keys").filter(|keys| keys.is_array() && !holds_computed(keys));
    if let Some(Err(why)) = keys.map(read_keys) {
        errors.push(FieldError::invalid(format!("{at}.keys"), why));
    }
}

fn check_incr(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    let number = |name: &str| input.get(name).filter(|value| value.is_number());
    let by = number("by").and_then(|value| increment(value).err()).map(|why| ("by", why));
    let ttl_secs = number("ttl_secs").and_then(|value| counter_ttl(value).err()).map(|why| ("ttl_secs", why));
    let found = by.into_iter().chain(ttl_secs);
    errors.extend(found.map(|(name, why)| FieldError::invalid(format!("{at}.{name}"), why)));
}

/// Returns the key that a value gives.
///
/// # Errors
/// The reason why it is none.
pub fn read_key(value: Value) -> Result<String, String> {
    match value {
        Value::String(key) => Ok(key),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        Value::Null => Err("required".to_owned()),
        other => Err(FieldError::type_mismatch("key", "string", &other).message),
    }
}

/// Returns the keys that a list gives.
///
/// # Errors
/// The reason why it is none.
pub fn read_keys(list: Value) -> Result<Vec<String>, String> {
    let Value::Array(items) = list else { return Err("expected a list of keys".to_owned()) };
    if items.len() > MAX_KEYS {
        return Err(format!("{} keys are more than {MAX_KEYS}", items.len()));
    }
    let keys = items.into_iter().enumerate().map(|(index, item)| {
        // An item of a list is there: `null` is one of another type.
        let key = match item {
            Value::Null => Err(FieldError::type_mismatch("keys", "string", &item).message),
            item => read_key(item),
        };
        key.map_err(|why| format!("[{index}]: {why}"))
    });
    keys.collect()
}

/// Returns the whole number that a value adds.
///
/// # Errors
/// The reason why it is none.
pub fn increment(value: &Value) -> Result<i64, String> {
    /// The bound of the whole numbers that a float holds exactly.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    // Arithmetic may have made a whole number a float.
    let float = value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() <= EXACT);
    #[expect(clippy::cast_possible_truncation, reason = "whole, and bounded above")]
    let whole = value.as_i64().or_else(|| float.map(|number| number as i64));
    whole.ok_or_else(|| "must be a whole number of 64 bits".to_owned())
}

/// Returns the seconds after which a new counter ends.
///
/// # Errors
/// The problem of a value that is no lifetime of a counter.
pub fn counter_ttl(value: &Value) -> Result<u64, String> {
    let seconds = whole_seconds(value).filter(|seconds| *seconds > 0);
    seconds.ok_or_else(|| format!("must be a whole number from 1 to {LONGEST_SECS}"))
}

fn check_write(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    let ttl_secs = input.get("ttl_secs").filter(|value| value.is_number());
    if let Some(why) = ttl_secs.and_then(|value| ttl(value).err()) {
        errors.push(FieldError::invalid(format!("{at}.ttl_secs"), why));
    }
}

/// Returns the whole seconds that a value gives.
///
/// # Errors
/// The problem of a value that is no lifetime of an entry.
pub fn ttl(value: &Value) -> Result<u64, String> {
    whole_seconds(value).ok_or_else(|| format!("must be a whole number from 0 to {LONGEST_SECS}"))
}

fn whole_seconds(value: &Value) -> Option<u64> {
    // Arithmetic may have made a whole number a float.
    let float = value.as_f64().filter(|seconds| seconds.fract() == 0.0 && *seconds >= 0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, not negative, and bounded below"
    )]
    let whole = value.as_u64().or_else(|| float.map(|seconds| seconds as u64));
    whole.filter(|seconds| *seconds <= LONGEST_SECS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_scalars_are_cache_keys() {
        for (given, expected) in [(json!("k"), "k"), (json!(7), "7"), (json!(true), "true"), (json!(""), "")]
        {
            assert_eq!(read_key(given).as_deref(), Ok(expected));
        }
        for wrong in [json!(null), json!([1]), json!({"a": 1})] {
            assert!(read_key(wrong.clone()).is_err(), "{wrong}");
            let refused = read_keys(json!(["k", wrong])).unwrap_err();
            assert!(refused.starts_with("[1]: "), "{refused}");
        }
        assert_eq!(read_keys(json!(["a", 1])), Ok(vec!["a".to_owned(), "1".to_owned()]));
        assert!(read_keys(json!(vec!["k"; MAX_KEYS + 1])).is_err());
    }

    #[test]
    fn increment_is_a_whole_number() {
        for (given, expected) in
            [(json!(1), 1), (json!(-2.0), -2), (json!(i64::MIN), i64::MIN), (json!(i64::MAX), i64::MAX)]
        {
            assert_eq!(increment(&given), Ok(expected));
        }
        for wrong in [json!(0.5), json!(u64::MAX), json!(1e300), json!("1"), json!(null)] {
            assert!(increment(&wrong).is_err(), "{wrong}");
        }
        assert_eq!([counter_ttl(&json!(1)), counter_ttl(&json!(LONGEST_SECS))], [Ok(1), Ok(LONGEST_SECS)]);
        for wrong in [json!(0), json!(-1), json!(0.5), json!(LONGEST_SECS + 1)] {
            let mut errors = Vec::new();
            let input = json!({"ttl_secs": wrong});
            check_incr(input.as_object().unwrap(), "input", &mut errors);
            let refused: Vec<_> = errors.iter().map(|error| (&*error.path, &*error.message)).collect();
            let expected = format!("must be a whole number from 1 to {LONGEST_SECS}");
            assert_eq!(refused, [("input.ttl_secs", &*expected)], "{wrong}");
        }
    }

    #[test]
    fn a_life_is_a_whole_number_of_seconds() {
        assert_eq!([ttl(&json!(0)), ttl(&json!(60)), ttl(&json!(60.0))], [Ok(0), Ok(60), Ok(60)]);
        for wrong in [json!(-1), json!(0.5), json!(LONGEST_SECS + 1), json!(1e300), json!("60")] {
            assert!(ttl(&wrong).is_err(), "{wrong}");
        }
    }
}
