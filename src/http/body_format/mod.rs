//! The reading of bodies as channels say: compressed or not, JSON, forms, text, rows, XML, raw bytes.

mod cloud_events;
mod compression;
mod form;
mod multipart;
mod part_header;

use actix_web::http::header::HeaderMap;
use actix_web::web::Bytes;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use svc_channels::{
    BodyKind, CloudEvents, CompiledChannel, ComputeGate, ContentKind, parse_csv, parse_text, parse_xml,
};
use svc_model::config::{ContentEncoding, RequestBodyFormat};
use svc_model::{Code, ServiceError};

use super::body::{BodyLimit, content_type, parse_json, read_encodings};
use cloud_events::{EventReading, ReadEvents};

/// A body as the value of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DecodedBody {
    pub(crate) value: Value,
    pub(crate) kind: BodyKind,
    /// The events whose data is the value; `None` for any other body.
    pub(crate) events: Option<Box<CloudEvents>>,
    /// Length of the body once decompressed.
    pub(crate) bytes: usize,
}

/// The reading of one body, as its channel and its headers say.
#[derive(Debug)]
pub(crate) struct BodyDecoding {
    decoding: Decoding,
    /// The encodings to take off, in the order in which they were applied.
    encodings: Vec<ContentEncoding>,
    limit: BodyLimit,
}

impl BodyDecoding {
    /// Selects the reading of a body. A channel in quarantine has none of its own, and refuses whatever comes.
    ///
    /// # Errors
    /// 415 for a content type or a content encoding that the channel does not take, naming those it takes.
    pub(crate) fn select(
        channel: Option<&CompiledChannel>,
        headers: &HeaderMap,
        limit: BodyLimit,
    ) -> Result<Self, ServiceError> {
        let format = channel.map_or(RequestBodyFormat::Raw, CompiledChannel::body_format);
        let accepted = channel.map(CompiledChannel::decompress).unwrap_or_default();
        let encodings = match accepted {
            // Others were refused before the body was read.
            [] => Vec::new(),
            accepted => read_encodings(headers, accepted)?,
        };
        let decoding = match format {
            RequestBodyFormat::CloudEvents => Decoding::of_events(headers)?,
            _ => Decoding::select(format, content_type(headers))?,
        };
        Ok(Self { decoding, encodings, limit })
    }

    /// Returns `true` if the reading may take long: the length of a compressed body says little.
    pub(crate) fn is_long(&self, bytes: usize) -> bool {
        !self.encodings.is_empty() || ComputeGate::is_large(bytes)
    }

    /// Reads a body; `None` for an empty one, but for an event whose attributes are in headers.
    ///
    /// # Errors
    /// 400 for a body that is not what it should be, 413 for one that is too large once decompressed.
    pub(crate) fn read(&self, raw: &Bytes) -> Result<Option<DecodedBody>, ServiceError> {
        if self.encodings.is_empty() || raw.is_empty() {
            return self.decode(raw);
        }
        self.decode(&compression::decompress(&self.encodings, raw, self.limit)?)
    }

    fn decode(&self, body: &Bytes) -> Result<Option<DecodedBody>, ServiceError> {
        if body.is_empty() && !self.decoding.reads_empty_bodies() {
            return Ok(None);
        }
        self.decoding.decode(body).map(Some)
    }
}

/// The decoding of one body.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Decoding {
    Json,
    Form,
    Text,
    Csv,
    Xml,
    /// The parts between a boundary.
    Multipart(String),
    Raw,
    /// Events of CloudEvents. Boxed for the headers of an event in binary mode.
    Events(Box<EventReading>),
}

impl Decoding {
    /// Selects the decoding of a body by the format of its channel and its content type, which may be empty.
    ///
    /// # Errors
    /// 415 for a content type that the channel does not take, naming those it takes; 400 for parts without a boundary.
    fn select(format: RequestBodyFormat, content_type: &[u8]) -> Result<Self, ServiceError> {
        use RequestBodyFormat::{Auto, Csv, Form, Json, Multipart, Raw, Text, Xml};
        if format == Raw {
            return Ok(Self::Raw);
        }
        Ok(match (format, ContentKind::parse(content_type)) {
            (Json | Auto, ContentKind::Json) | (Auto, ContentKind::Absent) => Self::Json,
            (Form | Auto, ContentKind::Form) => Self::Form,
            (Text, kind) if kind.is_text(content_type) => Self::Text,
            (Auto, ContentKind::PlainText) => Self::Text,
            (Csv | Auto, ContentKind::Csv) => Self::Csv,
            (Xml | Auto, ContentKind::Xml) => Self::Xml,
            (Multipart | Auto, ContentKind::Multipart) => {
                Self::Multipart(multipart::find_boundary(content_type)?)
            }
            _ => {
                let message = format!("The content type must be {}", name_types(format));
                return Err(ServiceError::new(Code::UnsupportedMediaType, message));
            }
        })
    }

    /// Selects the decoding of events by the headers of their request.
    ///
    /// # Errors
    /// 415 for a format of events other than JSON.
    fn of_events(headers: &HeaderMap) -> Result<Self, ServiceError> {
        EventReading::select(headers).map(|reading| Self::Events(Box::new(reading)))
    }

    /// Returns `true` if an empty body is read nevertheless: an event in binary mode may have no data, and a structured one
    /// without a body is none.
    fn reads_empty_bodies(&self) -> bool {
        matches!(self, Self::Events(_))
    }

    /// Decodes a body that is not empty.
    ///
    /// # Errors
    /// 400 for a body that is not what it should be.
    fn decode(&self, body: &Bytes) -> Result<DecodedBody, ServiceError> {
        let (value, kind) = match self {
            Self::Events(reading) => {
                let ReadEvents { value, kind, events } = reading.read(body)?;
                return Ok(DecodedBody { value, kind, events: Some(events), bytes: body.len() });
            }
            Self::Json => (parse_json(body)?, BodyKind::Json),
            Self::Form => (Value::Object(form::parse_form(text(body)?)?), BodyKind::Whole),
            Self::Text => (parse_text(text(body)?), BodyKind::Whole),
            Self::Csv => (parse_csv(text(body)?).map_err(|reason| not_a("CSV", &reason))?, BodyKind::Whole),
            Self::Xml => (parse_xml(text(body)?).map_err(|reason| not_a("XML", &reason))?, BodyKind::Whole),
            Self::Multipart(boundary) => {
                (Value::Object(multipart::parse_parts(body, boundary)?), BodyKind::Whole)
            }
            Self::Raw => match text(body) {
                Ok(text) => (text.into(), BodyKind::RawText),
                Err(_) => (STANDARD.encode(body).into(), BodyKind::RawBase64),
            },
        };
        Ok(DecodedBody { value, kind, events: None, bytes: body.len() })
    }
}

/// Names the content types that a channel takes.
fn name_types(format: RequestBodyFormat) -> &'static str {
    match format {
        RequestBodyFormat::Json => "application/json",
        RequestBodyFormat::Form => "application/x-www-form-urlencoded",
        RequestBodyFormat::Text => "text/plain, or another type of text",
        RequestBodyFormat::Csv => "text/csv",
        RequestBodyFormat::Xml => "application/xml, text/xml, or another type that ends with +xml",
        RequestBodyFormat::Multipart => "multipart/form-data",
        RequestBodyFormat::Auto => {
            "application/json, application/x-www-form-urlencoded, multipart/form-data, text/plain, text/csv or \
             application/xml"
        }
        RequestBodyFormat::Raw | RequestBodyFormat::CloudEvents => "any",
    }
}

fn text(body: &[u8]) -> Result<&str, ServiceError> {
    std::str::from_utf8(body).map_err(|error| {
        ServiceError::validation(format!("The body is not UTF-8 at byte {}", error.valid_up_to()))
    })
}

fn not_a(format: &str, reason: &str) -> ServiceError {
    ServiceError::validation(format!("Invalid {format} body: {reason}"))
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
        let decoded = Decoding::select(format, content_type.as_bytes())
            .and_then(|decoding| decoding.decode(&Bytes::copy_from_slice(body)));
        decoded
            .map(|body| (body.value, body.kind))
            .map_err(|error| (error.status(), error.message().to_owned()))
    }

    #[test]
    fn format_and_content_type_decide_the_value() {
        use RequestBodyFormat::{Auto, Csv, Form, Json, Multipart, Raw, Text, Xml};
        let parts = "multipart/form-data; boundary=b";
        let part = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--";
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
            (Text, "text/csv", "a,b", json!("a,b"), BodyKind::Whole),
            (Csv, "text/csv; charset=utf-8", "a,b\n1,2", json!([{"a": "1", "b": "2"}]), BodyKind::Whole),
            (Auto, "text/csv", "a\n", json!([]), BodyKind::Whole),
            (Xml, "application/xml", "<o a='1'/>", json!({"@a": "1"}), BodyKind::Whole),
            (Auto, "application/soap+xml", "<o>1</o>", json!({"$text": "1"}), BodyKind::Whole),
            (Multipart, parts, part, json!({"a": "1"}), BodyKind::Whole),
            (Auto, parts, part, json!({"a": "1"}), BodyKind::Whole),
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
        use RequestBodyFormat::{Auto, Csv, Form, Json, Multipart, Text, Xml};
        let form = "application/x-www-form-urlencoded";
        let all = "application/json, application/x-www-form-urlencoded, multipart/form-data, text/plain, text/csv or \
                   application/xml";
        for (format, content_type, taken) in [
            (Json, "", "application/json"),
            (Json, "text/plain", "application/json"),
            (Form, "application/json", "application/x-www-form-urlencoded"),
            (Text, "", "text/plain, or another type of text"),
            (Csv, "text/plain", "text/csv"),
            (Xml, "text/plain", "application/xml, text/xml, or another type that ends with +xml"),
            (Multipart, form, "multipart/form-data"),
            (Auto, "image/png", all),
            (Auto, "text/html", all),
        ] {
            let refusal = (415, format!("The content type must be {taken}"));
            assert_eq!(read(format, content_type, b"{}"), Err(refusal), "{format:?} {content_type}");
        }
    }

    #[test]
    fn body_against_its_type_is_400_with_place() {
        let form = "application/x-www-form-urlencoded";
        for (content_type, body, place) in [
            (form, &b"a=1&b=%"[..], "Value 2 of the form has a broken percent escape"),
            (form, b"%ff=1", "Name 1 of the form is not UTF-8"),
            (form, b"\xff=1", "at byte 0"),
            ("text/plain", b"a\xff", "at byte 1"),
            ("", b"{", "line 1 column 1"),
            ("text/csv", b"a,b\n1,2\n3\n", "Invalid CSV body: row 2"),
            ("text/xml", b"<a>\n<b></a>", "Invalid XML body: "),
            ("multipart/form-data; boundary=b", b"--b\r\n", "part 1"),
            ("multipart/form-data", b"--b\r\n", "no boundary"),
        ] {
            let (status, message) = read(RequestBodyFormat::Auto, content_type, body).unwrap_err();
            assert_eq!(status, 400, "{content_type}");
            assert!(message.contains(place), "{content_type}: {message}");
        }
    }
}
