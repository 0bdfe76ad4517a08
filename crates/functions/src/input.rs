//! Access to an authored input that has passed the checks of its catalogue entry.

use serde_json::{Map, Value};
use svc_engine::{Path, Template, is_computed};
use svc_model::FieldError;

/// Returns a field that is a literal text.
pub(crate) fn text<'i>(input: &'i Value, field: &str) -> Option<&'i str> {
    input.get(field).and_then(Value::as_str)
}

/// Returns the target path of the result; the default replaces the whole `data`.
pub(crate) fn output(input: &Value) -> Result<Path, String> {
    Path::parse_target(text(input, "output").unwrap_or("data")).map_err(|error| format!("output: {error}"))
}

/// Returns the value of a resolvable field, if it does not depend on the message.
pub(crate) fn literal_value(input: &Map<String, Value>, field: &str) -> Option<Value> {
    Template::compile(input.get(field)?).as_literal().filter(|value| !value.is_null()).cloned()
}

/// Returns the value of an input that takes expressions, if no message changes it.
pub(crate) fn literal_scalar(input: &Map<String, Value>, field: &str) -> Option<Value> {
    literal_value(input, field).filter(|value| !is_computed(value))
}

/// The problems of one authored input.
pub(crate) struct InputProblems<'e> {
    pub(crate) at: &'e str,
    pub(crate) errors: &'e mut Vec<FieldError>,
}

impl InputProblems<'_> {
    /// Adds an invalid value.
    pub(crate) fn invalid(&mut self, field: &str, why: impl Into<String>) {
        self.errors.push(FieldError::invalid(format!("{}.{field}", self.at), why));
    }

    /// Adds the error of a result, if any.
    pub(crate) fn note<T, E: ToString>(&mut self, field: &str, result: Result<T, E>) {
        if let Err(why) = result {
            self.invalid(field, why.to_string());
        }
    }

    /// Adds a missing field.
    pub(crate) fn require(&mut self, field: &str) {
        self.errors.push(FieldError::required(format!("{}.{field}", self.at)));
    }

    /// Adds a value of the wrong type.
    pub(crate) fn mismatch(&mut self, field: &str, expected: &str, got: &Value) {
        self.errors.push(FieldError::type_mismatch(format!("{}.{field}", self.at), expected, got));
    }
}
