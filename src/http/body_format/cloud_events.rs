//! Events of CloudEvents 1.0 over HTTP: structured, binary, a batch.

use actix_web::http::header::HeaderMap;
use actix_web::web::Bytes;
use serde_json::Value;
use svc_channels::{BodyKind, CloudEvent, CloudEvents, EventMode, read_batch, read_request, read_structured};
use svc_model::{Code, ServiceError};

use crate::http::body::{content_type, parse_json};

/// The reading of the events of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EventReading {
    mode: EventMode,
    content_type: Vec<u8>,
    /// The headers with attributes, in binary mode.
    attributes: Vec<(String, Vec<u8>)>,
}

/// The events of a body, and their data as the value of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ReadEvents {
    pub(super) value: Value,
    pub(super) kind: BodyKind,
    pub(super) events: Box<CloudEvents>,
}

impl EventReading {
    /// Selects the mode by the content type.
    ///
    /// # Errors
    /// 415 for a format of events other than JSON.
    pub(super) fn select(headers: &HeaderMap) -> Result<Self, ServiceError> {
        let content_type = content_type(headers);
        let mode = EventMode::select(content_type);
        let mode = mode.map_err(|why| ServiceError::new(Code::UnsupportedMediaType, why))?;
        let mut attributes = Vec::new();
        if mode == EventMode::Binary {
            let named = headers.iter().filter(|(name, _)| name.as_str().starts_with("ce-"));
            attributes
                .extend(named.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())));
        }
        Ok(Self { mode, content_type: content_type.to_vec(), attributes })
    }

    /// Reads the body.
    ///
    /// # Errors
    /// 400 for a body that is not JSON, and for an event that is none, with the attribute.
    pub(super) fn read(&self, body: &Bytes) -> Result<ReadEvents, ServiceError> {
        let (value, kind, events) = match self.mode {
            EventMode::Structured => to_parts(read_structured(parse_json(body)?).map_err(refusal)?),
            EventMode::Batch => {
                let events = read_batch(parse_json(body)?).map_err(refusal)?;
                let (facts, data) = events.into_iter().map(|event| (event.facts, event.data)).unzip();
                (Value::Array(data), BodyKind::Whole, CloudEvents::Batch(facts))
            }
            EventMode::Binary => {
                let headers = self.attributes.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
                to_parts(read_request(headers, &self.content_type, body).map_err(refusal)?)
            }
        };
        Ok(ReadEvents { value, kind, events: Box::new(events) })
    }
}

fn to_parts(CloudEvent { facts, data }: CloudEvent) -> (Value, BodyKind, CloudEvents) {
    (data, facts.kind, CloudEvents::One(facts))
}

fn refusal(reason: String) -> ServiceError {
    ServiceError::validation(format!("Invalid CloudEvent: {reason}"))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
    use serde_json::json;

    use super::*;

    const STRUCTURED: &str = r#"{"specversion":"1.0","id":"1","source":"/s","type":"t","data":{"n":1}}"#;

    fn headers(content_type: &str, more: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(content_type).unwrap());
        for &(name, value) in more {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    fn read(headers: &HeaderMap, body: &str) -> Result<ReadEvents, (u16, String)> {
        let reading = EventReading::select(headers);
        let body = reading.and_then(|reading| reading.read(&Bytes::copy_from_slice(body.as_bytes())));
        body.map_err(|error| (error.status(), error.message().to_owned()))
    }

    #[test]
    fn each_mode_has_data_as_its_value() {
        let one = read(&headers("application/cloudevents+json", &[]), STRUCTURED).unwrap();
        assert_eq!((one.value, one.kind), (json!({"n": 1}), BodyKind::Whole));
        let batch = headers("application/cloudevents-batch+json", &[]);
        let batch = read(&batch, &format!("[{STRUCTURED},{STRUCTURED}]")).unwrap();
        assert_eq!(batch.value, json!([{"n": 1}, {"n": 1}]));
        assert!(matches!(&*batch.events, CloudEvents::Batch(facts) if facts.len() == 2));
        let attributes = [("ce-specversion", "1.0"), ("ce-id", "1"), ("ce-source", "/s"), ("ce-type", "t")];
        let binary = read(&headers("image/png", &attributes), "hi").unwrap();
        assert_eq!((binary.value, binary.kind), (json!("aGk="), BodyKind::RawBase64));
        let CloudEvents::One(facts) = &*binary.events else { panic!("no event") };
        assert_eq!(facts.attributes["datacontenttype"], "image/png");
    }

    #[test]
    fn no_event_is_refused_with_its_reason() {
        for (content_type, body, status, reason) in [
            (
                "application/cloudevents+xml",
                "<e/>",
                415,
                "The content type must be application/cloudevents+json",
            ),
            ("application/json", "{}", 400, "Invalid CloudEvent: the header ce-specversion is missing"),
            ("application/cloudevents+json", "{", 400, "Invalid JSON body"),
            ("application/cloudevents+json", "", 400, "Invalid JSON body"),
            ("application/cloudevents-batch+json", "", 400, "Invalid JSON body"),
            (
                "application/cloudevents+json",
                "{}",
                400,
                "Invalid CloudEvent: the attribute specversion is missing",
            ),
            (
                "application/cloudevents-batch+json",
                "[1]",
                400,
                "Invalid CloudEvent: event 1: an event is an object",
            ),
        ] {
            let (refused, message) = read(&headers(content_type, &[]), body).unwrap_err();
            assert_eq!(refused, status, "{content_type}");
            assert!(message.starts_with(reason), "{message}");
        }
    }
}
