//! The formats that bodies of requests and records of topics share: their content types, and the values they become.

mod body_kind;
mod cloud_event;
mod content_kind;
mod csv_rows;

use serde_json::Value;
use svc_engine::parse_xml_within;

pub use body_kind::BodyKind;
pub(crate) use cloud_event::read_record;
pub use cloud_event::{
    CloudEvent, CloudEvents, EventFacts, EventMode, read_batch, read_request, read_structured,
};
pub use content_kind::ContentKind;
pub use csv_rows::parse_csv;
pub use svc_engine::add_field;

/// Bytes that the value of a text may always take.
const FREE: usize = 4 << 20;

/// Bytes that each byte of a longer text may become, more than any text made for its content needs.
const MAX_GROWTH: usize = 64;

/// Returns the bytes that the value of a text may take. Formats that repeat names, or count an element for few letters,
/// could otherwise make very much of little.
fn value_limit(text: &str) -> usize {
    text.len().saturating_mul(MAX_GROWTH).max(FREE)
}

/// The mark with which some programs begin a text in UTF-8. It is no part of the text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Parses a JSON text, with or without a byte order mark.
///
/// # Errors
/// That of the parser.
pub fn parse_json_text(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(bytes).or_else(|error| match bytes.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => serde_json::from_slice(text),
        None => Err(error),
    })
}

/// Parses a text that may be JSON; any other is its own value, without a byte order mark.
pub fn parse_text(text: &str) -> Value {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// Parses XML as the function `parse_xml` does.
///
/// # Errors
/// The reason why the text is not XML.
pub fn parse_xml(text: &str) -> Result<Value, String> {
    parse_xml_within(text, value_limit(text)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn byte_order_mark_is_no_part_of_text() {
        for text in ["{\"a\":1}", "\u{feff}{\"a\":1}"] {
            assert_eq!(parse_json_text(text.as_bytes()).unwrap(), json!({"a": 1}));
            assert_eq!(parse_text(text), json!({"a": 1}));
        }
        assert_eq!(parse_text("\u{feff}good day"), json!("good day"));
        let twice = parse_json_text("\u{feff}\u{feff}1".as_bytes());
        assert!(twice.unwrap_err().to_string().contains("line 1 column 1"));
    }
}
