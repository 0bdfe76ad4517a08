//! The attributes of an event: their names, types and values, as CloudEvents 1.0 requires them.

use serde_json::{Map, Value};
use svc_model::{Timestamp, is_uri_reference};

/// The version of the specification that is read.
const VERSION: &str = "1.0";

/// Attributes of one event: those of the specification and its extensions.
const MAX_ATTRIBUTES: usize = 100;

/// Letters of a name that an error repeats.
const SHOWN_NAME: usize = 40;

/// The attributes that every event has.
const REQUIRED: [&str; 3] = ["id", "source", "type"];

/// The attributes that are texts and not empty, if they are there.
const OPTIONAL: [&str; 4] = ["datacontenttype", "dataschema", "subject", "time"];

/// Checks the attributes of an event.
///
/// # Errors
/// The first one that is missing or wrong, and the reason.
pub(super) fn check_attributes(attributes: &Map<String, Value>) -> Result<(), String> {
    match attributes.get("specversion") {
        None => return Err("the attribute specversion is missing".to_owned()),
        Some(version) if version == VERSION => {}
        Some(_) => return Err(format!("the attribute specversion is not \"{VERSION}\"")),
    }
    if attributes.len() > MAX_ATTRIBUTES {
        return Err(format!("an event has at most {MAX_ATTRIBUTES} attributes"));
    }
    for (name, value) in attributes {
        check_name(name)?;
        check_type(name, value)?;
    }
    for name in REQUIRED {
        let value = attributes.get(name).ok_or_else(|| format!("the attribute {name} is missing"))?;
        require_text(name, value)?;
    }
    for name in OPTIONAL {
        attributes.get(name).map_or(Ok(()), |value| require_text(name, value))?;
    }
    check_formats(attributes)
}

fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if !name.is_empty() && name.bytes().all(is_plain) {
        return Ok(());
    }
    let shown: String = name.chars().take(SHOWN_NAME).collect();
    Err(format!("the attribute '{shown}' has a name of other characters than a to z and 0 to 9"))
}

/// Checks that the value is of a type that attributes can have: a boolean, an integer of 32 bits, or a text.
fn check_type(name: &str, value: &Value) -> Result<(), String> {
    match value {
        Value::Bool(_) => Ok(()),
        Value::Number(number) => match number.as_i64().map(i32::try_from) {
            Some(Ok(_)) => Ok(()),
            _ => Err(format!("the attribute {name} is no integer of 32 bits")),
        },
        Value::String(text) if text.contains(char::is_control) => {
            Err(format!("the attribute {name} has a control character"))
        }
        Value::String(_) => Ok(()),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            Err(format!("the attribute {name} is neither a string, an integer nor a boolean"))
        }
    }
}

fn require_text(name: &str, value: &Value) -> Result<(), String> {
    match value.as_str() {
        None => Err(format!("the attribute {name} is not a string")),
        Some("") => Err(format!("the attribute {name} is empty")),
        Some(_) => Ok(()),
    }
}

/// Returns `true` for a text of the format.
type FormatCheck = fn(&str) -> bool;

/// Checks the attributes that have a format.
fn check_formats(attributes: &Map<String, Value>) -> Result<(), String> {
    let checks: [(&str, FormatCheck, &str); 4] = [
        ("source", is_uri_reference, "a URI reference"),
        ("dataschema", is_uri, "a URI with its scheme"),
        ("datacontenttype", is_media_type, "a media type"),
        ("time", |text| Timestamp::parse_rfc3339(text).is_some(), "a time as RFC 3339 writes it"),
    ];
    for (name, is_valid, expected) in checks {
        if attributes.get(name).and_then(Value::as_str).is_some_and(|text| !is_valid(text)) {
            return Err(format!("the attribute {name} is not {expected}"));
        }
    }
    Ok(())
}

fn is_uri(text: &str) -> bool {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme).unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(is_plain)
        && is_uri_reference(text)
}

/// Returns `true` for `type/subtype`, with or without parameters.
fn is_media_type(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim();
    let is_token = |part: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        !part.is_empty() && part.bytes().all(is_plain)
    };
    essence.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// Decodes the value of a header of HTTP as the binding to HTTP says: quotes around it are removed, then percent
/// escapes are decoded once. A percent sign that opens no escape stays. `None` for a value that is not UTF-8.
pub(super) fn decode_header(value: &[u8]) -> Option<String> {
    let value = value.trim_ascii();
    let quoted = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    let unquoted = quoted.map(unescape_quoted);
    let value = unquoted.as_deref().unwrap_or(value);
    let mut decoded = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((&byte, after)) = rest.split_first() {
        let escape = if byte == b'%' { after.split_at_checked(2) } else { None };
        let unescaped = escape.and_then(|(digits, after)| Some((unescape_byte(digits)?, after)));
        let (byte, after) = unescaped.unwrap_or((byte, after));
        decoded.push(byte);
        rest = after;
    }
    String::from_utf8(decoded).ok()
}

/// Takes the backslashes off the characters of a quoted string.
fn unescape_quoted(text: &[u8]) -> Vec<u8> {
    let mut unescaped = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(&byte) = bytes.next() {
        let byte = if byte == b'\\' { bytes.next().copied().unwrap_or(byte) } else { byte };
        unescaped.push(byte);
    }
    unescaped
}

fn unescape_byte(digits: &[u8]) -> Option<u8> {
    let [high, low] = digits else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}
