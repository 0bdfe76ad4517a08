//! A record of a Kafka topic, as a channel takes it in.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use svc_model::config::RecordFormat;

use crate::body::{CloudEvent, ContentKind, parse_csv, parse_text, parse_xml, read_record};
use crate::compute_gate::ComputeGate;

/// Letters of a content type that an error repeats.
const SHOWN_TYPE: usize = 60;

/// A record of a topic: its place, its key, its value and its headers.
pub struct TopicRecord {
    pub topic: Arc<str>,
    pub partition: i32,
    /// The offset within the partition.
    pub offset: i64,
    /// The key; `None` for a record without one.
    pub key: Option<Vec<u8>>,
    /// The value; `None` for a tombstone.
    pub value: Option<Vec<u8>>,
    /// The headers whose values are UTF-8, names in lower case, in the order of the record.
    pub headers: Vec<(String, Vec<u8>)>,
}

impl TopicRecord {
    /// Returns the key of the run, the same at every delivery: `topic:partition:offset`.
    pub fn run_key(&self) -> String {
        format!("{}:{}:{}", self.topic, self.partition, self.offset)
    }

    /// Returns the owner of the idempotency key of this record, the same at every delivery.
    pub(crate) fn claim_owner(&self) -> String {
        format!("kafka:{}/{}/{}", self.topic, self.partition, self.offset)
    }

    /// Returns the first value of a header; `name` is in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(header, _)| header == name)?;
        std::str::from_utf8(value).ok()
    }

    /// Returns the length of the value in bytes.
    pub fn value_len(&self) -> usize {
        self.value.as_ref().map_or(0, Vec::len)
    }

    /// Returns `true` for a record without a value.
    pub(crate) fn is_tombstone(&self) -> bool {
        self.value.is_none()
    }

    /// Returns the metadata of the message: the facts of the record and nothing that its sender chose, but
    /// for its key. `encoding` says how the value was taken, if that depends on the record.
    pub(crate) fn metadata(
        &self,
        channel: &str,
        encoding: Option<&'static str>,
        vars: Option<&Value>,
    ) -> Map<String, Value> {
        let mut metadata = Map::new();
        if let Some(vars) = vars {
            metadata.insert("vars".into(), vars.clone());
        }
        metadata.insert("channel".into(), channel.into());
        metadata.insert("kafka_topic".into(), (&*self.topic).into());
        metadata.insert("kafka_partition".into(), self.partition.into());
        metadata.insert("kafka_offset".into(), self.offset.into());
        if let Some(key) = self.key.as_deref().and_then(|key| std::str::from_utf8(key).ok()) {
            metadata.insert("kafka_key".into(), key.into());
        }
        if let Some(encoding) = encoding {
            metadata.insert("kafka_encoding".into(), encoding.into());
        }
        if self.is_tombstone() {
            metadata.insert("kafka".into(), json!({"tombstone": true}));
        }
        metadata
    }

    /// Returns the format of the value; the header `content-type` chooses it for a channel that takes several.
    ///
    /// # Errors
    /// The reason why the header names none of them.
    fn resolve_format(&self, format: RecordFormat) -> Result<RecordFormat, String> {
        if format != RecordFormat::Auto || self.is_tombstone() {
            return Ok(format);
        }
        let content_type = self.header("content-type").unwrap_or_default();
        Ok(match ContentKind::parse(content_type.as_bytes()) {
            ContentKind::Absent | ContentKind::Json => RecordFormat::Json,
            ContentKind::PlainText => RecordFormat::Text,
            ContentKind::Csv => RecordFormat::Csv,
            ContentKind::Xml => RecordFormat::Xml,
            ContentKind::Form | ContentKind::Multipart | ContentKind::OtherText | ContentKind::Other => {
                let shown: String = content_type.chars().take(SHOWN_TYPE).collect();
                return Err(format!(
                    "the header content-type is {shown}; the channel takes application/json, text/plain, \
                     text/csv and application/xml"
                ));
            }
        })
    }

    /// Parses the value, a large one on a thread that serves no caller.
    ///
    /// # Errors
    /// The reason why the value is no payload.
    pub(crate) async fn parse_value(
        self: &Arc<Self>,
        format: RecordFormat,
        gate: &ComputeGate,
    ) -> Result<RecordPayload, String> {
        if !ComputeGate::is_large(self.value_len()) {
            return parse(&self.headers, self.value.as_deref(), self.resolve_format(format)?);
        }
        let format = self.resolve_format(format)?;
        let record = Arc::clone(self);
        let parsed = gate.run_blocking(move || parse(&record.headers, record.value.as_deref(), format)).await;
        parsed.unwrap_or_else(|error| Err(format!("the value could not be parsed ({error})")))
    }
}

/// Leaves out the key, the value and the headers: they belong to the sender.
impl fmt::Debug for TopicRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TopicRecord({})", self.run_key())
    }
}

/// The payload of a record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RecordPayload {
    pub(crate) value: Value,
    /// `json`, `text` or `base64` if the format admits all of them; `None` if it is JSON alone. Of the data of an
    /// event `base64` or none.
    pub(crate) encoding: Option<&'static str>,
    /// The attributes of an event of CloudEvents.
    pub(crate) event: Option<Map<String, Value>>,
}

impl RecordPayload {
    fn plain(value: Value) -> Self {
        Self { value, encoding: None, event: None }
    }

    fn raw(value: impl Into<Value>, encoding: &'static str) -> Self {
        Self { encoding: Some(encoding), ..Self::plain(value.into()) }
    }
}

/// Parses a value; the headers have the attributes of an event in binary mode. A tombstone is null in every format.
fn parse(
    headers: &[(String, Vec<u8>)],
    value: Option<&[u8]>,
    format: RecordFormat,
) -> Result<RecordPayload, String> {
    let Some(value) = value else { return Ok(RecordPayload::plain(Value::Null)) };
    if format == RecordFormat::CloudEvents {
        return parse_event(headers, value);
    }
    if value.is_empty() {
        return Err("the value is empty".to_owned());
    }
    let is_raw = format == RecordFormat::Raw;
    let text = match std::str::from_utf8(value) {
        Ok(text) => text,
        Err(_) if is_raw => return Ok(RecordPayload::raw(STANDARD.encode(value), "base64")),
        Err(error) => return Err(format!("the value is not UTF-8: {error}")),
    };
    let parsed = match format {
        RecordFormat::Text => Ok(parse_text(text)),
        RecordFormat::Csv => parse_csv(text).map_err(|reason| format!("the value is not CSV: {reason}")),
        RecordFormat::Xml => parse_xml(text).map_err(|reason| format!("the value is not XML: {reason}")),
        RecordFormat::Json | RecordFormat::Raw | RecordFormat::Auto | RecordFormat::CloudEvents => {
            return match serde_json::from_str(text.strip_prefix('\u{feff}').unwrap_or(text)) {
                Ok(value) => {
                    Ok(RecordPayload { encoding: is_raw.then_some("json"), ..RecordPayload::plain(value) })
                }
                Err(_) if is_raw => Ok(RecordPayload::raw(text, "text")),
                Err(error) => Err(format!("the value is not JSON: {error}")),
            };
        }
    };
    parsed.map(RecordPayload::plain)
}

fn parse_event(headers: &[(String, Vec<u8>)], value: &[u8]) -> Result<RecordPayload, String> {
    let read = read_record(headers, value);
    let CloudEvent { facts, data } =
        read.map_err(|reason| format!("the record is no CloudEvent: {reason}"))?;
    Ok(RecordPayload { value: data, encoding: facts.kind.encoding(), event: Some(facts.attributes) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(key: Option<&[u8]>, value: Option<&[u8]>) -> TopicRecord {
        TopicRecord {
            topic: "orders".into(),
            partition: 3,
            offset: 42,
            key: key.map(Into::into),
            value: value.map(Into::into),
            headers: vec![("idempotency-key".into(), b"a".into()), ("idempotency-key".into(), b"b".into())],
        }
    }

    #[test]
    fn metadata_has_record_position_and_text_key() {
        let vars = json!({"region": "eu"});
        assert_eq!(
            json!(record(Some(b"k"), Some(b"1")).metadata("c", None, Some(&vars))),
            json!({"vars": {"region": "eu"}, "channel": "c", "kafka_topic": "orders", "kafka_partition": 3,
                "kafka_offset": 42, "kafka_key": "k"})
        );
        for key in [None, Some(&[0xff, 0xfe][..])] {
            assert!(!record(key, None).metadata("c", None, None).contains_key("kafka_key"));
        }
        assert_eq!(record(None, None).metadata("c", Some("text"), None)["kafka_encoding"], "text");
        assert_eq!(record(None, None).metadata("c", None, None)["kafka"], json!({"tombstone": true}));
    }

    #[test]
    fn value_is_any_json_and_nothing_else() {
        for (value, expected) in [
            (&b"{\"a\":1}"[..], json!({"a": 1})),
            (b" [1] ", json!([1])),
            (b"\xef\xbb\xbf{}", json!({})),
            (b"null", json!(null)),
            (b"7", json!(7)),
        ] {
            let expected = RecordPayload::plain(expected);
            assert_eq!(parse(&[], Some(value), RecordFormat::Json), Ok(expected));
        }
        for (value, reason) in [
            (Some(&b""[..]), "the value is empty"),
            (Some(b"\xff{}"), "the value is not UTF-8"),
            (Some(b"{} {}"), "the value is not JSON"),
            (Some(b"  "), "the value is not JSON"),
        ] {
            let refused = parse(&[], value, RecordFormat::Json).unwrap_err();
            assert!(refused.starts_with(reason), "{refused}");
        }
    }

    #[test]
    fn raw_value_is_json_then_text_then_base64() {
        for (value, expected, encoding) in [
            (&b"{\"a\":1}"[..], json!({"a": 1}), "json"),
            (b"a;b;c", json!("a;b;c"), "text"),
            (b"{\"a\": ", json!("{\"a\": "), "text"),
            (b"\xff\x00", json!("/wA="), "base64"),
        ] {
            let expected = RecordPayload::raw(expected, encoding);
            assert_eq!(parse(&[], Some(value), RecordFormat::Raw), Ok(expected));
        }
        assert!(parse(&[], Some(b""), RecordFormat::Raw).unwrap_err().starts_with("the value is empty"));
    }

    #[test]
    fn text_csv_and_xml_values_become_payloads() {
        for (format, value, expected) in [
            (RecordFormat::Text, "{\"a\":1}", json!({"a": 1})),
            (RecordFormat::Text, "good day", json!("good day")),
            (RecordFormat::Csv, "a,b\n1,2\n", json!([{"a": "1", "b": "2"}])),
            (RecordFormat::Xml, "<o><i>1</i></o>", json!({"i": {"$text": "1"}})),
        ] {
            let expected = RecordPayload::plain(expected);
            assert_eq!(parse(&[], Some(value.as_bytes()), format), Ok(expected), "{value}");
        }
        for (format, value, reason) in [
            (RecordFormat::Csv, &b"a,b\n1\n"[..], "the value is not CSV: row 1"),
            (RecordFormat::Xml, b"<o>", "the value is not XML"),
            (RecordFormat::Text, b"\xff", "the value is not UTF-8"),
        ] {
            let refused = parse(&[], Some(value), format).unwrap_err();
            assert!(refused.starts_with(reason), "{refused}");
        }
    }

    #[test]
    fn header_content_type_decides_the_format() {
        for (content_type, format) in [
            ("", Some(RecordFormat::Json)),
            ("application/json", Some(RecordFormat::Json)),
            ("text/plain; charset=utf-8", Some(RecordFormat::Text)),
            ("text/csv", Some(RecordFormat::Csv)),
            ("application/soap+xml", Some(RecordFormat::Xml)),
            ("image/png", None),
        ] {
            let mut record = record(None, Some(b"1"));
            record.headers = vec![("content-type".into(), content_type.into())];
            assert_eq!(record.resolve_format(RecordFormat::Auto).ok(), format, "{content_type}");
            assert_eq!(record.resolve_format(RecordFormat::Raw), Ok(RecordFormat::Raw));
        }
    }

    #[test]
    fn event_record_has_data_and_attributes() {
        let sent = [("ce_specversion", "1.0"), ("ce_id", "1"), ("ce_source", "/s"), ("ce_type", "t")];
        let headers: Vec<(String, Vec<u8>)> =
            sent.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
        let payload = parse(&headers, Some(b"[1]"), RecordFormat::CloudEvents).unwrap();
        assert_eq!((payload.value, payload.encoding), (json!([1]), None));
        assert_eq!(payload.event.unwrap()["id"], "1");
        let empty = parse(&headers, Some(b""), RecordFormat::CloudEvents).unwrap();
        assert_eq!((empty.value, empty.event.is_some()), (Value::Null, true));
        let refused = parse(&headers[1..], Some(b"[1]"), RecordFormat::CloudEvents).unwrap_err();
        assert!(refused.starts_with("the record is no CloudEvent: the header ce_specversion"), "{refused}");
    }

    #[test]
    fn record_without_a_value_is_null() {
        for format in [RecordFormat::Json, RecordFormat::Raw, RecordFormat::CloudEvents] {
            assert_eq!(parse(&[], None, format), Ok(RecordPayload::plain(Value::Null)));
        }
    }

    #[test]
    fn record_id_is_its_position_first_header_wins() {
        let record = record(None, None);
        assert_eq!(
            (record.run_key(), record.claim_owner()),
            ("orders:3:42".into(), "kafka:orders/3/42".into())
        );
        assert_eq!((record.header("idempotency-key"), record.header("x")), (Some("a"), None));
        assert_eq!(format!("{record:?}"), "TopicRecord(orders:3:42)");
    }
}
