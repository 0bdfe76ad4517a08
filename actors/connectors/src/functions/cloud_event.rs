//! The event of CloudEvents 1.0 that a task sends: its attributes, and its form in a request or a record.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use svc_channels::ContentKind;
use svc_engine::{CompileCx, Expression, Redaction, TaskCx, TaskError};
use svc_model::{Timestamp, is_uri_reference};
use svc_outbound::RequestBody;
use svc_outbound::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

/// The content type of an event in structured mode.
const STRUCTURED: &str = "application/cloudevents+json; charset=utf-8";

/// The content type of a record's value.
#[cfg(feature = "kafka")]
const JSON: &str = "application/json";

/// The input `cloudevent` of a task.
pub(crate) struct EventPlan {
    kind: Expression,
    source: Expression,
    subject: Option<Expression>,
    is_structured: bool,
}

/// The event of one call: the same at every attempt, but for its time after a restart of the run.
pub(crate) struct SentEvent {
    /// The attributes but for the type of the data.
    attributes: Vec<(&'static str, String)>,
    is_structured: bool,
}

impl EventPlan {
    /// Compiles the input of a task; `None` for a task that sends no event.
    ///
    /// # Errors
    /// A text for the author.
    pub(crate) fn compile(input: &Value, cx: &CompileCx<'_>) -> Result<Option<Self>, String> {
        let Some(block) = input.get("cloudevent").filter(|block| !block.is_null()) else { return Ok(None) };
        let logic = |name: &str| {
            let source = block.get(name).filter(|source| !source.is_null());
            let compiled = source.map(|source| cx.expression(source)).transpose();
            compiled.map_err(|reason| format!("cloudevent.{name}: {reason}"))
        };
        let required = |name: &str| logic(name)?.ok_or_else(|| format!("cloudevent.{name}: required"));
        Ok(Some(Self {
            kind: required("type")?,
            source: required("source")?,
            subject: logic("subject")?,
            is_structured: block.get("mode").and_then(Value::as_str) == Some("structured"),
        }))
    }

    /// Returns true if an attribute is computed from declared secrets.
    pub(crate) fn reads_secrets(&self) -> bool {
        [Some(&self.kind), Some(&self.source), self.subject.as_ref()]
            .into_iter()
            .flatten()
            .any(Expression::reads_secrets)
    }

    /// Computes the attributes for a message. The id is a digest of the key of the run and the place of the task, so
    /// that a repeated run sends an event with the same id.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` for an attribute that no event can have.
    pub(crate) fn evaluate(
        &self,
        cx: &mut TaskCx<'_>,
        redaction: &mut Redaction,
    ) -> Result<SentEvent, TaskError> {
        let kind = cx.evaluate_tainted(&self.kind, redaction)?;
        let source = cx.evaluate_tainted(&self.source, redaction)?;
        let subject = match &self.subject {
            Some(subject) => cx.evaluate_tainted(subject, redaction)?,
            None => Value::Null,
        };
        let id = digest_id(&cx.idempotency_key());
        let time = Timestamp::from_naive(cx.now().naive_utc()).to_string();
        let attributes = attributes(id, time, kind, source, subject)?;
        Ok(SentEvent { attributes, is_structured: self.is_structured })
    }
}

impl SentEvent {
    /// Puts the event into a request. In binary mode its headers have the attributes; in structured mode the body
    /// becomes the event, and the content type that the request would have had that of its data.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` for a body that is not the JSON that its content type says.
    pub(crate) fn put_into_request(
        &self,
        headers: &mut HeaderMap,
        body: Option<RequestBody>,
    ) -> Result<Option<RequestBody>, TaskError> {
        if !self.is_structured {
            for (name, value) in &self.attributes {
                let header = HeaderName::try_from(format!("ce-{name}"));
                let header = header.map_err(|_| refusal(name, "this is no header name"))?;
                let value = HeaderValue::try_from(encode_header(value));
                headers.insert(header, value.map_err(|_| refusal(name, "this is no header value"))?);
            }
            return Ok(body);
        }
        let authored = headers.insert(CONTENT_TYPE, HeaderValue::from_static(STRUCTURED));
        let document = match &body {
            None => self.to_document(None),
            Some(body) => {
                let authored = authored.as_ref().and_then(|value| value.to_str().ok());
                let content_type = authored.unwrap_or(body.content_type);
                let text = String::from_utf8_lossy(&body.bytes);
                let data = data_json(content_type, &text, body.content_type == "application/json")?;
                self.to_document(Some((content_type, &data)))
            }
        };
        Ok(Some(RequestBody { content_type: STRUCTURED, bytes: document.into() }))
    }

    /// Puts the event into a record, whose value is JSON. A tombstone stays as it is.
    #[cfg(feature = "kafka")]
    pub(crate) fn put_into_record(
        &self,
        headers: &mut Vec<(String, String)>,
        value: Option<String>,
    ) -> Option<String> {
        let value = value?;
        let mut add = |name: String, value: &str| headers.push((name, value.to_owned()));
        if self.is_structured {
            add("content-type".to_owned(), STRUCTURED);
            return Some(self.to_document(Some((JSON, &value))));
        }
        add("content-type".to_owned(), JSON);
        for (name, value) in &self.attributes {
            add(format!("ce_{name}"), value);
        }
        Some(value)
    }

    /// Returns the event as JSON. `data` is the content type of its data, and the data as JSON.
    fn to_document(&self, data: Option<(&str, &str)>) -> String {
        let mut members: Map<String, Value> =
            self.attributes.iter().map(|(name, value)| ((*name).to_owned(), value.as_str().into())).collect();
        let Some((content_type, data)) = data else { return Value::Object(members).to_string() };
        members.insert("datacontenttype".to_owned(), content_type.into());
        let mut document = Value::Object(members).to_string();
        // The data may be large, and is JSON already.
        document.pop();
        document.push_str(",\"data\":");
        document.push_str(data);
        document.push('}');
        document
    }
}

/// Returns the attributes of an event but for the type of its data.
fn attributes(
    id: String,
    time: String,
    kind: Value,
    source: Value,
    subject: Value,
) -> Result<Vec<(&'static str, String)>, TaskError> {
    let kind = text("type", kind)?.ok_or_else(|| refusal("type", "it has no value"))?;
    let source = text("source", source)?.ok_or_else(|| refusal("source", "it has no value"))?;
    if !is_uri_reference(&source) {
        return Err(refusal("source", "it is not a URI reference"));
    }
    let mut attributes = vec![
        ("specversion", "1.0".to_owned()),
        ("id", id),
        ("source", source),
        ("type", kind),
        ("time", time),
    ];
    attributes.extend(text("subject", subject)?.map(|subject| ("subject", subject)));
    Ok(attributes)
}

/// Returns the value of an attribute as text; `None` for null.
fn text(name: &str, value: Value) -> Result<Option<String>, TaskError> {
    let text = match value {
        Value::Null => return Ok(None),
        Value::String(text) => text,
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => {
            return Err(refusal(name, "expected text, a number or a boolean"));
        }
    };
    if text.is_empty() || text.contains(char::is_control) {
        return Err(refusal(name, "a text without control characters that is not empty"));
    }
    Ok(Some(text))
}

fn refusal(name: &str, why: &str) -> TaskError {
    TaskError::validation(format!("cloudevent.{name}: {why}"))
}

/// Returns data as JSON: what its content type says is JSON as it is, any other as a text.
fn data_json(content_type: &str, text: &str, is_json: bool) -> Result<String, TaskError> {
    if ContentKind::parse(content_type.as_bytes()) != ContentKind::Json {
        return Ok(Value::from(text).to_string());
    }
    if !is_json && serde_json::from_str::<Value>(text).is_err() {
        return Err(TaskError::validation("body: it is not the JSON that the header content-type says"));
    }
    Ok(text.to_owned())
}

/// Returns the id of an event: the SHA-256 of a key, in hexadecimal.
fn digest_id(key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    digest.iter().fold(String::with_capacity(64), |mut id, byte| {
        for digit in [byte >> 4, byte & 0xf] {
            id.extend(char::from_digit(digit.into(), 16));
        }
        id
    })
}

/// Encodes the value of an attribute for a header of HTTP: percent escapes for blanks, quotes, percent signs and
/// whatever is not printable ASCII.
fn encode_header(value: &str) -> String {
    value.bytes().fold(String::with_capacity(value.len()), |mut encoded, byte| {
        match byte {
            b'"' | b'%' => encoded.push_str(&format!("%{byte:02X}")),
            b'!'..=b'~' => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
        encoded
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(is_structured: bool) -> SentEvent {
        let (id, time) = ("e-1".to_owned(), "2026-01-02T03:04:05Z".to_owned());
        let attributes = attributes(id, time, json!("order.placed"), json!("/shop"), json!("ö 7%"));
        SentEvent { attributes: attributes.unwrap(), is_structured }
    }

    fn body(content_type: &'static str, text: &'static str) -> Option<RequestBody> {
        Some(RequestBody { content_type, bytes: text.into() })
    }

    #[test]
    fn binary_request_has_encoded_attributes_as_headers() {
        let mut headers = HeaderMap::new();
        let sent = event(false).put_into_request(&mut headers, body("application/json", "[1]")).unwrap();
        assert_eq!(&sent.unwrap().bytes[..], b"[1]");
        let mut shown: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        shown.sort_unstable();
        let expected = [
            ("ce-id", "e-1"),
            ("ce-source", "/shop"),
            ("ce-specversion", "1.0"),
            ("ce-subject", "%C3%B6%207%25"),
            ("ce-time", "2026-01-02T03:04:05Z"),
            ("ce-type", "order.placed"),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn structured_request_has_the_event_as_body() {
        for (content_type, text, authored, data, data_type) in [
            ("application/json", "{\"n\":1}", None, json!({"n": 1}), "application/json"),
            ("text/plain; charset=utf-8", "<a/>", Some("text/xml"), json!("<a/>"), "text/xml"),
            ("text/plain; charset=utf-8", "[1]", Some("application/json"), json!([1]), "application/json"),
        ] {
            let mut headers = HeaderMap::new();
            headers.extend(authored.map(|authored| (CONTENT_TYPE, HeaderValue::from_static(authored))));
            let sent = event(true).put_into_request(&mut headers, body(content_type, text)).unwrap().unwrap();
            assert_eq!(headers.get(CONTENT_TYPE).unwrap(), STRUCTURED);
            let document: Value = serde_json::from_slice(&sent.bytes).unwrap();
            let expected = json!({"specversion": "1.0", "id": "e-1", "source": "/shop", "type": "order.placed",
                "time": "2026-01-02T03:04:05Z", "subject": "ö 7%", "datacontenttype": data_type, "data": data});
            assert_eq!(document, expected);
        }
        let mut headers = HeaderMap::new();
        let sent = event(true).put_into_request(&mut headers, None).unwrap().unwrap();
        assert!(serde_json::from_slice::<Value>(&sent.bytes).unwrap().get("data").is_none());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let refused = event(true).put_into_request(&mut headers, body("text/plain; charset=utf-8", "{"));
        assert!(refused.err().unwrap().message.contains("not the JSON"));
    }

    #[cfg(feature = "kafka")]
    #[test]
    fn record_has_event_unless_it_is_tombstone() {
        let mut headers = Vec::new();
        let value = event(false).put_into_record(&mut headers, Some("[1]".to_owned()));
        assert_eq!(value.as_deref(), Some("[1]"));
        assert!(headers.contains(&("ce_subject".to_owned(), "ö 7%".to_owned())), "{headers:?}");
        assert!(headers.contains(&("content-type".to_owned(), "application/json".to_owned())));
        let mut headers = Vec::new();
        let value = event(true).put_into_record(&mut headers, Some("[1]".to_owned())).unwrap();
        let document: Value = serde_json::from_str(&value).unwrap();
        assert_eq!((&document["data"], &document["id"]), (&json!([1]), &json!("e-1")));
        assert_eq!(headers, [("content-type".to_owned(), STRUCTURED.to_owned())]);
        let mut headers = Vec::new();
        assert_eq!(event(false).put_into_record(&mut headers, None), None);
        assert!(headers.is_empty());
    }

    #[test]
    fn attribute_no_event_can_have_is_refused() {
        let make = |kind, source, subject| attributes(String::new(), String::new(), kind, source, subject);
        for (kind, source, subject, reason) in [
            (json!(null), json!("/s"), json!(null), "cloudevent.type: it has no value"),
            (json!("t"), json!("a b"), json!(null), "cloudevent.source: it is not a URI reference"),
            (json!("t"), json!("/s"), json!("a\nb"), "cloudevent.subject: a text without control characters"),
            (json!("t"), json!("/s"), json!([1]), "cloudevent.subject: expected text"),
        ] {
            let refused = make(kind, source, subject).unwrap_err();
            assert!(refused.message.starts_with(reason), "{}", refused.message);
        }
        let numbered = make(json!("t"), json!("/s"), json!(7)).unwrap();
        assert_eq!(numbered.last(), Some(&("subject", "7".to_owned())));
    }

    #[test]
    fn id_is_the_digest_of_its_key() {
        let id = digest_id("run-1:task");
        assert_eq!(
            (id.len(), digest_id("run-1:task") == id, digest_id("run-2:task") == id),
            (64, true, false)
        );
        assert_eq!(&digest_id("")[..8], "e3b0c442");
    }
}
