//! Reading an authored input that fits its table.

use serde_json::{Map, Value};
use svc_engine::{Path, Template};
use svc_model::FieldError;

/// A text that stands as it is written.
pub(crate) fn text<'i>(input: &'i Value, field: &str) -> Option<&'i str> {
    input.get(field).and_then(Value::as_str)
}

/// Where the result goes; without a path it becomes the whole of `data`.
pub(crate) fn output(input: &Value) -> Result<Path, String> {
    Path::parse_target(text(input, "output").unwrap_or("data")).map_err(|error| format!("output: {error}"))
}

/// The value of a resolvable input that no message changes.
pub(crate) fn fixed(input: &Map<String, Value>, field: &str) -> Option<Value> {
    Template::compile(input.get(field)?).as_literal().filter(|value| !value.is_null()).cloned()
}

/// The problems of one authored input.
pub(crate) struct InputProblems<'e> {
    pub(crate) at: &'e str,
    pub(crate) errors: &'e mut Vec<FieldError>,
}

impl InputProblems<'_> {
    /// Adds a wrong value at a field.
    pub(crate) fn invalid(&mut self, field: &str, why: impl Into<String>) {
        self.errors.push(FieldError::invalid(format!("{}.{field}", self.at), why));
    }

    /// Adds the reason a value is wrong, if it is.
    pub(crate) fn note<T, E: ToString>(&mut self, field: &str, result: Result<T, E>) {
        if let Err(why) = result {
            self.invalid(field, why.to_string());
        }
    }

    /// Adds a field that is not there.
    pub(crate) fn required(&mut self, field: &str) {
        self.errors.push(FieldError::required(format!("{}.{field}", self.at)));
    }

    /// Adds a value of the wrong type.
    pub(crate) fn mismatch(&mut self, field: &str, expected: &str, got: &Value) {
        self.errors.push(FieldError::type_mismatch(format!("{}.{field}", self.at), expected, got));
    }
}
