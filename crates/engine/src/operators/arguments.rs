//! Arguments of operators.

use datalogic_rs::datavalue::NumberValue;
use datalogic_rs::{DataValue, Error};

use super::large_integers::write_double;

/// Returns an argument error in the words of the operator's author.
pub(super) fn refuse(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::invalid_arguments(message)
}

pub(super) fn text_argument<'a>(operator: &str, args: &[&'a DataValue<'a>]) -> datalogic_rs::Result<&'a str> {
    match args {
        [DataValue::String(text)] => Ok(text),
        _ => Err(refuse(format!("{operator} takes one string"))),
    }
}

/// Appends a value as `cat` renders it: null is nothing, an array is its elements, an object is JSON.
///
/// # Errors
/// A large integer cannot be distinguished from another one.
pub(super) fn render(value: &DataValue<'_>, out: &mut String) -> datalogic_rs::Result<()> {
    use std::fmt::Write as _;
    // Writing to a string cannot fail.
    let _ = match value {
        DataValue::Null => Ok(()),
        DataValue::String(text) => out.write_str(text),
        DataValue::Number(NumberValue::Integer(number)) => write!(out, "{number}"),
        DataValue::Number(NumberValue::Float(double)) => return write_double(*double, out),
        DataValue::Array(items) => return items.iter().try_for_each(|item| render(item, out)),
        other => write!(out, "{other}"),
    };
    Ok(())
}

/// Lists the operands, and the elements of those that are arrays in their place.
pub(super) fn elements<'v, 'a>(args: &'v [&'v DataValue<'a>]) -> impl Iterator<Item = &'v DataValue<'a>> {
    args.iter().flat_map(|arg| match arg {
        DataValue::Array(items) => items.iter(),
        other => std::slice::from_ref(*other).iter(),
    })
}

/// Returns the type of a value, with its article.
pub(crate) fn kind_of(value: &DataValue<'_>) -> &'static str {
    match value {
        DataValue::Null => "null",
        DataValue::Bool(_) => "a boolean",
        DataValue::Number(_) => "a number",
        DataValue::String(_) => "a text",
        DataValue::Array(_) => "an array",
        DataValue::Object(_) => "an object",
        DataValue::DateTime(_) => "an instant",
        DataValue::Duration(_) => "a duration",
    }
}
