//! `cache_read` and `cache_write`.

use serde_json::{Map, Value};
use svc_engine::catalogue::{ConnectorRequirement, FunctionEntry, InputField, SentForm};
use svc_model::{ConnectorType, FieldError};

use super::{FunctionDeclaration, accept};

/// The declaration of `cache_read`.
pub static CACHE_READ: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "read",
        fields: &[
            InputField::connector("Cache connector"),
            InputField::string("key", "Key to look up").required().resolvable().sent_as(SentForm::Key),
            InputField::output(),
        ],
        ..FunctionEntry::connector(
            "cache_read",
            "Reads one key of a cache; a miss is null",
            ConnectorRequirement::new(&[ConnectorType::Cache]),
        )
    },
    check: accept,
};

/// The declaration of `cache_write`.
pub static CACHE_WRITE: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "idempotent_write",
        fields: &[
            InputField::connector("Cache connector"),
            InputField::string("key", "Key to write").required().resolvable().sent_as(SentForm::Key),
            InputField::any("value", "Value to keep, stored as JSON").required().resolvable(),
            InputField::number("ttl_secs", "Seconds until it expires; without it, never")
                .resolvable()
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

/// The longest an entry may live, in seconds: a hundred years. No instant is computed safely beyond it.
const LONGEST_SECS: u64 = 100 * 365 * 86_400;

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
    // Arithmetic may have made a whole number a float.
    let float = value.as_f64().filter(|seconds| seconds.fract() == 0.0 && *seconds >= 0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, not negative, and bounded below"
    )]
    let whole = value.as_u64().or_else(|| float.map(|seconds| seconds as u64));
    whole
        .filter(|seconds| *seconds <= LONGEST_SECS)
        .ok_or_else(|| format!("must be a whole number from 0 to {LONGEST_SECS}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_life_is_a_whole_number_of_seconds() {
        assert_eq!([ttl(&json!(0)), ttl(&json!(60)), ttl(&json!(60.0))], [Ok(0), Ok(60), Ok(60)]);
        for wrong in [json!(-1), json!(0.5), json!(LONGEST_SECS + 1), json!(1e300), json!("60")] {
            assert!(ttl(&wrong).is_err(), "{wrong}");
        }
    }
}
