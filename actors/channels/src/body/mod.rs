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

/// Parses a text that may be JSON; any other is its own value.
pub fn parse_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// Parses XML as the function `parse_xml` does.
///
/// # Errors
/// The reason why the text is not XML.
pub fn parse_xml(text: &str) -> Result<Value, String> {
    parse_xml_within(text, value_limit(text)).map_err(|error| error.to_string())
}
