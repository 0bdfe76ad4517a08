//! The loop block of a workflow.

use serde_json::Value;
use svc_model::FieldError;

use crate::path::{self, Path};

/// The repetition of a workflow.
pub(crate) struct Loop {
    /// The path of the counter, below `temp_data`.
    pub(crate) counter: Option<Path>,
    pub(crate) init: i64,
    pub(crate) increment: i64,
    pub(crate) max: i64,
}

/// Returns the place of a counter, which must be writable before it has a value.
fn counter_path(text: &str) -> Result<Path, String> {
    let path = Path::parse(&format!("temp_data.{text}")).map_err(|error| error.to_string())?;
    path::check(None, path.segments(), &Value::Null, usize::MAX).map_err(|error| error.to_string())?;
    Ok(path)
}

/// Reads a loop block; every problem is added to `errors` at its path.
pub(crate) fn parse_loop(block: &Value, ceiling: i64, errors: &mut Vec<FieldError>) -> Option<Loop> {
    if !block.is_object() {
        errors.push(FieldError::type_mismatch("loop", "object", block));
        return None;
    }
    let before = errors.len();
    let counter = match &block["counter"] {
        Value::Null => None,
        Value::String(text) => {
            counter_path(text).map_err(|reason| errors.push(FieldError::invalid("loop.counter", reason))).ok()
        }
        other => {
            errors.push(FieldError::type_mismatch("loop.counter", "string", other));
            None
        }
    };
    let mut integer = |field: &str, default: Option<i64>| match (&block[field], default) {
        (Value::Null, None) => {
            errors.push(FieldError::required(format!("loop.{field}")));
            None
        }
        (Value::Null, default) => default,
        (value, _) => value.as_i64().or_else(|| {
            errors.push(FieldError::type_mismatch(format!("loop.{field}"), "integer", value));
            None
        }),
    };
    let (init, increment, max) =
        (integer("init", Some(0)), integer("increment", Some(1)), integer("max", None));
    let (init, increment, max) = (init?, increment?, max?);
    if increment < 1 {
        errors.push(FieldError::invalid("loop.increment", "must be at least 1"));
    }
    if max <= init {
        errors.push(FieldError::invalid("loop.max", "must be above loop.init"));
    }
    if ceiling > 0 && max > ceiling {
        errors.push(FieldError::invalid(
            "loop.max",
            format!("must be at most {ceiling} (engine.max_loop_iterations)"),
        ));
    }
    (errors.len() == before).then_some(Loop { counter, init, increment, max })
}
