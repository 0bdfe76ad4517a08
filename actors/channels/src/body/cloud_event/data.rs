//! The data of an event as a payload.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::body::body_kind::BodyKind;
use crate::body::content_kind::ContentKind;
use crate::body::parse_json_text;

/// Reads data by its content type: JSON as its value, text as a text, other bytes in base64. Data without a content
/// type is the first of these that it can be, and empty data is null.
///
/// # Errors
/// The reason why it is not JSON although its content type says so.
pub(super) fn read_data(bytes: &[u8], content_type: &str) -> Result<(Value, BodyKind), String> {
    if bytes.is_empty() {
        return Ok((Value::Null, BodyKind::Whole));
    }
    let kind = if has_json_subtype(content_type) {
        ContentKind::Json
    } else {
        ContentKind::parse(content_type.as_bytes())
    };
    let as_json = || parse_json_text(bytes);
    match kind {
        ContentKind::Json => {
            let value = as_json().map_err(|error| format!("the data is not JSON: {error}"))?;
            Ok((value, BodyKind::Whole))
        }
        ContentKind::Absent => {
            let value = as_json().map(|value| (value, BodyKind::Whole));
            Ok(value.unwrap_or_else(|_| read_text(bytes)))
        }
        ContentKind::Multipart | ContentKind::Other => Ok(encode(bytes)),
        ContentKind::Form
        | ContentKind::Csv
        | ContentKind::Xml
        | ContentKind::PlainText
        | ContentKind::OtherText => Ok(read_text(bytes)),
    }
}

/// Returns `true` for `json` as the whole subtype, of whatever type, which the JSON format of events calls JSON.
fn has_json_subtype(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.split_once('/').is_some_and(|(_, subtype)| subtype.trim().eq_ignore_ascii_case("json"))
}

/// Reads a text; one that is not UTF-8 is base64.
fn read_text(bytes: &[u8]) -> (Value, BodyKind) {
    std::str::from_utf8(bytes).map_or_else(|_| encode(bytes), |text| (text.into(), BodyKind::Whole))
}

fn encode(bytes: &[u8]) -> (Value, BodyKind) {
    (STANDARD.encode(bytes).into(), BodyKind::RawBase64)
}
