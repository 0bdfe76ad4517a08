//! The value of a scalar.

use granit_parser::{ScalarStyle, Tag};
use serde_json::{Number, Value};

/// Reads a scalar.
///
/// # Errors
/// The tag is none of the core schema, or the text is none of its values.
pub(super) fn read(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    let plain = style == ScalarStyle::Plain;
    let Some(tag) = tag else {
        return if plain { plain_value(text) } else { Ok(Value::from(text)) };
    };
    // The non-specific tag `!` makes text of a scalar.
    let name =
        if tag.parts() == ("", "!") || tag.parts() == ("!", "") { Some("str") } else { tag.core_suffix() };
    let value = plain_value(text)?;
    match (name, &value) {
        (Some("str"), _) => Ok(Value::from(text)),
        (Some("null"), Value::Null) | (Some("bool"), Value::Bool(_)) | (Some("float"), Value::Number(_)) => {
            Ok(value)
        }
        (Some("int"), Value::Number(number)) if !number.is_f64() => Ok(value),
        (Some(name), _) if name != "seq" && name != "map" => Err(format!("{text:?} is no {name}")),
        _ => Err(unknown_tag(tag)),
    }
}

/// Returns the message about a tag that is none of the core schema, or of another kind of value.
pub(super) fn unknown_tag(tag: &Tag) -> String {
    format!("the tag {} is not supported", tag.original())
}

/// Reads a plain scalar by the rules of JSON, and the other spellings that the core schema has for null and
/// booleans.
fn plain_value(text: &str) -> Result<Value, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Ok(Value::Null),
        "true" | "True" | "TRUE" => Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => Ok(Value::Bool(false)),
        _ if is_number(text) => match serde_json::from_str::<Number>(text) {
            Ok(number) => Ok(Value::Number(number)),
            Err(_) => Err(format!("the number {text} is out of range")),
        },
        _ => Ok(Value::from(text)),
    }
}

/// Returns true for a number of JSON: no leading zero, no `+`, digits on both sides of a point.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let mantissa = mantissa.strip_prefix('-').unwrap_or(mantissa);
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}
