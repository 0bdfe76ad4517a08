//! The loop block of a workflow.

use serde_json::Value;
use svc_model::FieldError;

use crate::expression::Expression;
use crate::path::{self, Path, Segment};
use crate::workflow::fan_out_spec::{DEFAULT_ELEMENT, element_path, refuse_other_literal};
use crate::workflow::program::Program;

/// The repetition of a workflow.
pub(crate) struct Loop {
    /// The path of the counter, below `temp_data`.
    pub(crate) counter: Option<Path>,
    pub(crate) init: i64,
    pub(crate) increment: i64,
    pub(crate) max: i64,
    /// The list that the sweeps go through, and the path of the element.
    pub(crate) list: Option<LoopList>,
    /// The path that each sweep finds as an empty object.
    pub(crate) scratch: Option<Path>,
    /// The tasks that run once before the first sweep.
    pub(crate) setup: Option<Program>,
}

/// The list of a loop.
pub(crate) struct LoopList {
    pub(crate) over: Expression,
    /// The path of the element, below `temp_data`.
    pub(crate) element: Path,
    /// The most elements that it may have; `None` if the loop has a `max` of its own, or any number is allowed.
    pub(crate) most: Option<usize>,
}

/// A loop block before its expression and its setup are compiled.
pub(crate) struct LoopBlock {
    pub(crate) counter: Option<Path>,
    pub(crate) init: i64,
    pub(crate) increment: i64,
    /// Absent for a loop over a list, which ends with the list.
    pub(crate) max: Option<i64>,
    pub(crate) element: Option<Path>,
    pub(crate) scratch: Option<Path>,
}

/// Returns the place of a counter, which must be writable before it has a value.
fn counter_path(text: &str) -> Result<Path, String> {
    let path = Path::parse(&format!("temp_data.{text}")).map_err(|error| error.to_string())?;
    path::check(None, path.segments(), &Value::Null, usize::MAX).map_err(|error| error.to_string())?;
    Ok(path)
}

/// Reads a loop block; every problem is added to `errors` at its path.
pub(crate) fn parse_loop(block: &Value, ceiling: i64, errors: &mut Vec<FieldError>) -> Option<LoopBlock> {
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
    let has_list = !block["over"].is_null();
    if has_list {
        refuse_other_literal(&block["over"], "loop.over", errors);
    }
    let element = match &block["as"] {
        Value::Null if !has_list => None,
        Value::Null => Path::parse(&format!("temp_data.{DEFAULT_ELEMENT}")).ok(),
        _ if !has_list => {
            let message = "names the element of a list: give the loop its list by 'over', or leave 'as' out";
            errors.push(FieldError::invalid("loop.as", message));
            None
        }
        value => element_path(value, "loop.as", errors),
    };
    let scratch = match &block["scratch"] {
        Value::Null => None,
        value => element_path(value, "loop.scratch", errors),
    };
    if block["max"].is_null() && block["as"].is_null() && !has_list {
        errors.push(FieldError::required("loop.max"));
    }
    let init = integer(block, "init", errors).unwrap_or(0);
    let increment = integer(block, "increment", errors).unwrap_or(1);
    let max = integer(block, "max", errors);
    check_bounds(init, increment, max, ceiling, errors);
    refuse_shared_keys(counter.as_ref(), element.as_ref(), scratch.as_ref(), errors);
    (errors.len() == before).then_some(LoopBlock { counter, init, increment, max, element, scratch })
}

/// Refuses keys of which one would replace what the other holds.
fn refuse_shared_keys(
    counter: Option<&Path>,
    element: Option<&Path>,
    scratch: Option<&Path>,
    errors: &mut Vec<FieldError>,
) {
    let [counter, element, scratch] = [counter, element, scratch].map(first_key);
    if scratch.is_some() && scratch == element {
        errors.push(FieldError::invalid("loop.scratch", "another key than that of 'as'"));
    }
    if counter.is_some() && (counter == element || counter == scratch) {
        errors.push(FieldError::invalid("loop.counter", "another key than those of 'as' and 'scratch'"));
    }
}

fn first_key(path: Option<&Path>) -> Option<&str> {
    path?.segments().first().map(Segment::key)
}

/// Reads a number that may be absent.
fn integer(block: &Value, field: &str, errors: &mut Vec<FieldError>) -> Option<i64> {
    let value = block.get(field).filter(|value| !value.is_null())?;
    let number = value.as_i64();
    if number.is_none() {
        errors.push(FieldError::type_mismatch(format!("loop.{field}"), "integer", value));
    }
    number
}

fn check_bounds(init: i64, increment: i64, max: Option<i64>, ceiling: i64, errors: &mut Vec<FieldError>) {
    if increment < 1 {
        errors.push(FieldError::invalid("loop.increment", "must be at least 1"));
    }
    let Some(max) = max else { return };
    if max <= init {
        errors.push(FieldError::invalid("loop.max", "must be above loop.init"));
    }
    if ceiling > 0 && max > ceiling {
        errors.push(FieldError::invalid(
            "loop.max",
            format!("must be at most {ceiling} (engine.max_loop_iterations)"),
        ));
    }
}
