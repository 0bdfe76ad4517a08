//! The formats of the bodies that channels take: JSON, forms, text, raw bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use svc_channels::BodyKind;
use svc_model::config::RequestBodyFormat;
use svc_model::{Code, ServiceError};

use super::body::{is_json, parse_json};
use super::urlencoded::{decode, pairs};

/// The content type of a form.
const FORM: &[u8] = b"application/x-www-form-urlencoded";
/// The form in an error.
const PLACE: &str = "The form";

/// A body as the value of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DecodedBody {
    pub(crate) value: Value,
    pub(crate) kind: BodyKind,
}

/// The decoding of one body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decoding {
    Json,
    Form,
    Text,
    Raw,
}

impl Decoding {
    /// Selects the decoding of a body by the format of its channel and its content type, which may be empty.
    ///
    /// # Errors
    /// 415 for a content type that the channel does not take, naming those it takes.
    pub(crate) fn select(format: RequestBodyFormat, content_type: &[u8]) -> Result<Self, ServiceError> {
        let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let is_form = essence.eq_ignore_ascii_case(FORM);
        let is_text = essence.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"text/"));
        let is_plain = essence.eq_ignore_ascii_case(b"text/plain");
        let taken = match format {
            RequestBodyFormat::Raw => return Ok(Self::Raw),
            RequestBodyFormat::Json | RequestBodyFormat::Auto if is_json(content_type) => {
                return Ok(Self::Json);
            }
            RequestBodyFormat::Auto if essence.is_empty() => return Ok(Self::Json),
            RequestBodyFormat::Form | RequestBodyFormat::Auto if is_form => return Ok(Self::Form),
            RequestBodyFormat::Text if is_text => return Ok(Self::Text),
            RequestBodyFormat::Auto if is_plain => return Ok(Self::Text),
            RequestBodyFormat::Json => "application/json",
            RequestBodyFormat::Form => "application/x-www-form-urlencoded",
            RequestBodyFormat::Text => "text/plain, or another type of text",
            RequestBodyFormat::Auto => "application/json, application/x-www-form-urlencoded or text/plain",
        };
        Err(ServiceError::new(Code::UnsupportedMediaType, format!("The content type must be {taken}")))
    }

    /// Decodes a body that is not empty.
    ///
    /// # Errors
    /// 400 for a body that is not what it should be.
    pub(crate) fn decode(self, body: &[u8]) -> Result<DecodedBody, ServiceError> {
        let (value, kind) = match self {
            Self::Json => (parse_json(body)?, BodyKind::Json),
            Self::Form => (Value::Object(parse_form(text(body)?)?), BodyKind::Whole),
            Self::Text => {
                let text = text(body)?;
                (serde_json::from_str(text).unwrap_or_else(|_| text.into()), BodyKind::Whole)
            }
            Self::Raw => match text(body) {
                Ok(text) => (text.into(), BodyKind::RawText),
                Err(_) => (STANDARD.encode(body).into(), BodyKind::RawBase64),
            },
        };
        Ok(DecodedBody { value, kind })
    }
}

fn text(body: &[u8]) -> Result<&str, ServiceError> {
    std::str::from_utf8(body).map_err(|_| ServiceError::validation("The body is not UTF-8"))
}

/// Parses a form: values are texts, those of a repeated name a list in their order.
fn parse_form(form: &str) -> Result<Map<String, Value>, ServiceError> {
    let mut fields = Map::new();
    for (name, value) in pairs(form) {
        let value = Value::String(decode(value, PLACE)?);
        let field = fields.entry(decode(name, PLACE)?).or_insert(Value::Null);
        match field {
            Value::Null => *field = value,
            Value::Array(values) => values.push(value),
            first => *first = Value::Array(vec![first.take(), value]),
        }
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(
        format: RequestBodyFormat,
        content_type: &str,
        body: &[u8],
    ) -> Result<(Value, BodyKind), (u16, String)> {
        let decoded =
            Decoding::select(format, content_type.as_bytes()).and_then(|decoding| decoding.decode(body));
        decoded
            .map(|body| (body.value, body.kind))
            .map_err(|error| (error.status(), error.message().to_owned()))
    }

    #[test]
    fn format_and_content_type_decide_the_value() {
        use RequestBodyFormat::{Auto, Form, Json, Raw, Text};
        let form = "application/x-www-form-urlencoded";
        for (format, content_type, body, value, kind) in [
            (Json, "application/json; charset=utf-8", "{\"a\":1}", json!({"a": 1}), BodyKind::Json),
            (Auto, "application/cloudevents+json", "[1]", json!([1]), BodyKind::Json),
            (Auto, "", "{\"a\":1}", json!({"a": 1}), BodyKind::Json),
            (Auto, form, "a=1", json!({"a": "1"}), BodyKind::Whole),
            (
                Form,
                "Application/X-WWW-Form-Urlencoded ; charset=UTF-8",
                "a=1",
                json!({"a": "1"}),
                BodyKind::Whole,
            ),
            (Auto, "text/plain; charset=UTF-8", "{\"a\":1}", json!({"a": 1}), BodyKind::Whole),
            (Auto, "text/plain", "good day", json!("good day"), BodyKind::Whole),
            (Text, "text/html", "<p>", json!("<p>"), BodyKind::Whole),
            (Raw, "", "{\"a\":1}", json!("{\"a\":1}"), BodyKind::RawText),
            (Raw, form, "a=1", json!("a=1"), BodyKind::RawText),
        ] {
            assert_eq!(
                read(format, content_type, body.as_bytes()),
                Ok((value, kind)),
                "{format:?} {content_type}"
            );
        }
        assert_eq!(read(Raw, "image/png", b"\xff\xfe"), Ok((json!("//4="), BodyKind::RawBase64)));
    }

    #[test]
    fn refused_content_type_lists_the_accepted_ones() {
        use RequestBodyFormat::{Auto, Form, Json, Text};
        for (format, content_type, taken) in [
            (Json, "", "application/json"),
            (Json, "text/plain", "application/json"),
            (Form, "application/json", "application/x-www-form-urlencoded"),
            (Text, "", "text/plain, or another type of text"),
            (Auto, "text/csv", "application/json, application/x-www-form-urlencoded or text/plain"),
            (
                Auto,
                "multipart/form-data",
                "application/json, application/x-www-form-urlencoded or text/plain",
            ),
        ] {
            let refusal = (415, format!("The content type must be {taken}"));
            assert_eq!(read(format, content_type, b"{}"), Err(refusal), "{format:?} {content_type}");
        }
    }

    #[test]
    fn form_fields_are_texts_and_repeats_are_lists() {
        let fields = parse_form("a=1&b=x+y&a=2&c%20d=%2541&flag&=e&&a=").unwrap();
        let expected = json!({"a": ["1", "2", ""], "b": "x y", "c d": "%41", "flag": "", "": "e"});
        assert_eq!(Value::Object(fields), expected);
    }

    #[test]
    fn body_that_contradicts_its_type_is_400() {
        let form = "application/x-www-form-urlencoded";
        for (content_type, body) in
            [(form, &b"a=%"[..]), (form, b"a=%ff"), (form, b"\xff=1"), ("text/plain", b"\xff"), ("", b"{")]
        {
            assert_eq!(
                read(RequestBodyFormat::Auto, content_type, body).map_err(|(status, _)| status),
                Err(400)
            );
        }
    }
}
