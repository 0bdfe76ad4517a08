//! Events of CloudEvents 1.0: structured (one JSON document), a batch (a list of them), and binary (attributes in
//! headers, data in the body). HTTP and Kafka differ in the names of headers and in the writing of their values.

mod attributes;
mod data;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use attributes::{check_attributes, decode_header};
use data::read_data;

use super::body_kind::BodyKind;
use super::parse_json_text;

/// Events of one batch. Each is accepted work with the headers of the whole request.
const MAX_EVENTS: usize = 1_000;

/// Begin of the headers that have attributes, over HTTP.
const HTTP_PREFIX: &str = "ce-";

/// Begin of the headers that have attributes, of a record.
const RECORD_PREFIX: &str = "ce_";

/// The attribute that headers never have: the content type of the message has its place.
const CONTENT_TYPE: &str = "datacontenttype";

/// The attributes of an event, with the form of its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFacts {
    /// Attributes and extensions by name.
    pub attributes: Map<String, Value>,
    /// [`BodyKind::RawBase64`] for data in base64, because it is no text.
    pub kind: BodyKind,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloudEvent {
    /// Its attributes.
    pub facts: EventFacts,
    /// Its data as a payload; null without any.
    pub data: Value,
}

/// The events of a body, without their data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloudEvents {
    /// One event, whose data is the body.
    One(EventFacts),
    /// The events of a batch; the list of their data is the body.
    Batch(Vec<EventFacts>),
}

/// The place of the attributes of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventMode {
    /// One JSON document has attributes and data.
    Structured,
    /// A list of such documents.
    Batch,
    /// Headers have the attributes, the body is the data.
    Binary,
}

impl EventMode {
    /// Selects the mode by the content type of a message.
    ///
    /// # Errors
    /// The reason why events of this content type are not read: a format other than JSON.
    pub fn select(content_type: &[u8]) -> Result<Self, &'static str> {
        let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let essence = essence.to_ascii_lowercase();
        match essence.as_slice() {
            b"application/cloudevents+json" => Ok(Self::Structured),
            b"application/cloudevents-batch+json" => Ok(Self::Batch),
            other if other.starts_with(b"application/cloudevents") => Err(
                "The content type must be application/cloudevents+json, application/cloudevents-batch+json, or that \
                 of the data of an event whose attributes are in headers",
            ),
            _ => Ok(Self::Binary),
        }
    }
}

/// Reads an event in structured mode.
///
/// # Errors
/// The reason why it is no event.
pub fn read_structured(document: Value) -> Result<CloudEvent, String> {
    let Value::Object(mut members) = document else { return Err("an event is an object".to_owned()) };
    let data = members.remove("data");
    let encoded = members.remove("data_base64").filter(|encoded| !encoded.is_null());
    // A member that is null is one that is not set.
    let attributes: Map<String, Value> = members.into_iter().filter(|(_, value)| !value.is_null()).collect();
    check_attributes(&attributes)?;
    let is_given = data.as_ref().is_some_and(|data| !data.is_null());
    let (data, kind) = match encoded {
        None => (data.unwrap_or_default(), BodyKind::Whole),
        Some(_) if is_given => return Err("it has both data and data_base64".to_owned()),
        Some(Value::String(encoded)) => {
            let bytes = STANDARD.decode(&encoded).map_err(|_| "data_base64 is not base64".to_owned())?;
            read_data(&bytes, content_type(&attributes))?
        }
        Some(_) => return Err("data_base64 is not a string".to_owned()),
    };
    Ok(CloudEvent { facts: EventFacts { attributes, kind }, data })
}

/// Reads the events of a batch, in their order.
///
/// # Errors
/// The reason why it is no batch, with the number of the first event that is none, from 1.
pub fn read_batch(document: Value) -> Result<Vec<CloudEvent>, String> {
    let Value::Array(items) = document else { return Err("a batch is an array of events".to_owned()) };
    if items.len() > MAX_EVENTS {
        return Err(format!("a batch has at most {MAX_EVENTS} events"));
    }
    let numbered = items.into_iter().enumerate();
    let events = numbered.map(|(index, item)| {
        read_structured(item).map_err(|reason| format!("event {number}: {reason}", number = index + 1))
    });
    events.collect()
}

/// Reads an event in binary mode of HTTP. The names of headers are in lower case.
///
/// # Errors
/// The reason why it is no event.
pub fn read_request<'h>(
    headers: impl Iterator<Item = (&'h str, &'h [u8])>,
    content_type: &[u8],
    body: &[u8],
) -> Result<CloudEvent, String> {
    let mut attributes = Map::new();
    for (name, value) in headers {
        let Some(name) = name.strip_prefix(HTTP_PREFIX) else { continue };
        let value = decode_header(value).ok_or_else(|| format!("the header ce-{name} is not UTF-8"))?;
        add_attribute(&mut attributes, HTTP_PREFIX, name, value)?;
    }
    read_binary(attributes, HTTP_PREFIX, content_type, body)
}

/// Reads the event of a record: structured if its content type says so, else binary. The names of headers are in
/// lower case.
///
/// # Errors
/// The reason why it is no event.
pub(crate) fn read_record(headers: &[(String, Vec<u8>)], value: &[u8]) -> Result<CloudEvent, String> {
    let content_type = headers.iter().find(|(name, _)| name == "content-type");
    let content_type = content_type.map(|(_, value)| value.as_slice()).unwrap_or_default();
    match EventMode::select(content_type) {
        Ok(EventMode::Structured) => {
            let document = parse_json_text(value);
            read_structured(document.map_err(|error| format!("the value is not JSON: {error}"))?)
        }
        Ok(EventMode::Binary) => {
            let mut attributes = Map::new();
            for (name, value) in headers {
                let Some(name) = name.strip_prefix(RECORD_PREFIX) else { continue };
                let value = String::from_utf8(value.clone());
                let value = value.map_err(|_| format!("the header ce_{name} is not UTF-8"))?;
                add_attribute(&mut attributes, RECORD_PREFIX, name, value)?;
            }
            read_binary(attributes, RECORD_PREFIX, content_type, value)
        }
        Ok(EventMode::Batch) => Err("a record has one event, not a batch".to_owned()),
        Err(_) => {
            Err("of the formats of structured events application/cloudevents+json alone is read".to_owned())
        }
    }
}

/// Adds the attribute of a header.
fn add_attribute(
    attributes: &mut Map<String, Value>,
    prefix: &str,
    name: &str,
    value: String,
) -> Result<(), String> {
    if ["data", CONTENT_TYPE].contains(&name) {
        let why = if name == "data" { "the body is the data" } else { "the header content-type has it" };
        return Err(format!("the header {prefix}{name} is no attribute: {why}"));
    }
    if attributes.insert(name.to_owned(), value.into()).is_some() {
        return Err(format!("the header {prefix}{name} is there twice"));
    }
    Ok(())
}

/// Completes an event whose attributes were read of headers.
fn read_binary(
    mut attributes: Map<String, Value>,
    prefix: &str,
    content_type: &[u8],
    body: &[u8],
) -> Result<CloudEvent, String> {
    if !attributes.contains_key("specversion") {
        return Err(format!(
            "the header {prefix}specversion is missing, and the content type is of no event"
        ));
    }
    let content_type = std::str::from_utf8(content_type).map_err(|_| "the content type is not UTF-8")?;
    if !content_type.is_empty() {
        attributes.insert(CONTENT_TYPE.to_owned(), content_type.into());
    }
    check_attributes(&attributes)?;
    let (data, kind) = read_data(body, content_type)?;
    Ok(CloudEvent { facts: EventFacts { attributes, kind }, data })
}

fn content_type(attributes: &Map<String, Value>) -> &str {
    attributes.get(CONTENT_TYPE).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
