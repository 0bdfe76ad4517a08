//! Checks that several functions share.

use std::time::Duration;

use serde_json::{Map, Value};
use svc_engine::catalogue::InputField;
use svc_engine::{Template, is_computed};
use svc_model::FieldError;

/// The form of binary values in the result of a SQL database.
pub(super) const BINARY_AS: InputField = InputField::string(
    "binary_as",
    "Form of binary columns of a SQL database; without it text, or {\"$binary\": base64} where they are no text",
)
.one_of(&["hex", "base64", "text"]);

/// The form of decimals in the result of a SQL database.
pub(super) const NUMERIC_AS: InputField = InputField::string(
    "numeric_as",
    "Form of numeric and decimal columns of a SQL database, number by default; text keeps every digit",
)
.one_of(&["number", "text"]);

/// Returns the value of a resolvable input that no message changes.
pub(super) fn literal_value(input: &Map<String, Value>, field: &str) -> Option<Value> {
    Template::compile(input.get(field)?).as_literal().filter(|value| !value.is_null()).cloned()
}

/// Returns the value of an input that takes expressions, if no message changes it.
pub(super) fn literal_scalar(input: &Map<String, Value>, field: &str) -> Option<Value> {
    literal_value(input, field).filter(|value| !is_computed(value))
}

/// Maximum of every time limit and delay, in milliseconds: a day.
pub const LONGEST_MS: u64 = 86_400_000;

/// Refuses a time in milliseconds that cannot be waited.
pub(super) fn check_timeout(input: &Map<String, Value>, name: &str, at: &str, errors: &mut Vec<FieldError>) {
    let number = input.get(name).filter(|value| value.is_number());
    if let Some(Err(why)) = number.map(read_timeout) {
        errors.push(FieldError::invalid(format!("{at}.{name}"), why));
    }
}

/// Returns the time that a number of milliseconds gives.
///
/// # Errors
/// The reason why it is none.
pub fn read_timeout(millis: &Value) -> Result<Duration, String> {
    // Arithmetic may have made a whole number a float.
    let whole = millis.as_f64().filter(|millis| millis.fract() == 0.0);
    let time = whole.and_then(|millis| Duration::try_from_secs_f64(millis / 1000.0).ok());
    let time = time.filter(|time| !time.is_zero() && *time <= Duration::from_millis(LONGEST_MS));
    time.ok_or_else(|| format!("must be a whole number from 1 to {LONGEST_MS}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn duration_is_whole_milliseconds_up_to_a_day() {
        let problems = |value: Value| {
            let mut errors = Vec::new();
            let input = Map::from_iter([("timeout_ms".to_owned(), value)]);
            check_timeout(&input, "timeout_ms", "input", &mut errors);
            errors.len()
        };
        for fine in
            [json!(1), json!(LONGEST_MS), json!(null), json!("of the wrong type, which others report")]
        {
            assert_eq!(problems(fine.clone()), 0, "{fine}");
        }
        for wrong in [json!(0), json!(-1), json!(1.5), json!(LONGEST_MS + 1), json!(u64::MAX)] {
            assert_eq!(problems(wrong.clone()), 1, "{wrong}");
        }
    }
}
