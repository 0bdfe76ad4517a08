//! Arguments of operators.

use datalogic_rs::datavalue::NumberValue;
use datalogic_rs::{DataValue, Error};

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
pub(super) fn render(value: &DataValue<'_>, out: &mut String) {
    use std::fmt::Write as _;
    // Writing to a string cannot fail.
    let _ = match value {
        DataValue::Null => Ok(()),
        DataValue::String(text) => out.write_str(text),
        DataValue::Number(NumberValue::Integer(number)) => write!(out, "{number}"),
        DataValue::Array(items) => {
            items.iter().for_each(|item| render(item, out));
            Ok(())
        }
        other => write!(out, "{other}"),
    };
}
