//! Dead letters: records that could not be processed, written to a topic of their own.

use serde::Serialize;
use svc_channels::TopicRecord;
use svc_connectors::KafkaProducer;
use svc_model::Timestamp;
use svc_spans::TraceContext;

/// A record on its way to the topic of dead letters. Its key is the topic that it came from.
#[derive(Clone, Debug)]
pub(crate) struct RecordLetter {
    source_topic: String,
    value: String,
    headers: Vec<(String, String)>,
}

/// The value of a dead letter.
#[derive(Serialize)]
struct LetterText<'l> {
    source_topic: &'l str,
    error: &'l str,
    original_payload: &'l str,
    timestamp: String,
}

impl RecordLetter {
    /// Builds the letter of a record. `trace_id` is that of its last run, if it ran.
    pub(crate) fn new(record: &TopicRecord, error: &str, trace_id: Option<String>) -> Self {
        let payload = String::from_utf8_lossy(record.value.as_deref().unwrap_or_default());
        let mut letter = Self::build(&record.topic, (record.partition, record.offset), error, &payload);
        letter.headers.extend(trace_id.map(|id| ("trace_id".to_owned(), id)));
        letter
    }

    /// Builds the letter of records that cannot be unpacked, the first of which is at this place.
    pub(crate) fn without_payload(topic: &str, place: (i32, i64), error: &str) -> Self {
        Self::build(topic, place, error, "")
    }

    fn build(topic: &str, (partition, offset): (i32, i64), error: &str, payload: &str) -> Self {
        let text = LetterText {
            source_topic: topic,
            error,
            original_payload: payload,
            timestamp: Timestamp::now().to_string(),
        };
        let headers = vec![
            ("source_partition".to_owned(), partition.to_string()),
            ("source_offset".to_owned(), offset.to_string()),
        ];
        // Texts always serialize.
        let value = serde_json::to_string(&text).unwrap_or_default();
        Self { source_topic: topic.to_owned(), value, headers }
    }

    /// Writes the letter; when this returns, the brokers have acknowledged it.
    ///
    /// # Errors
    /// The reason why the brokers may not have it.
    pub(crate) async fn write(
        &self,
        producer: &KafkaProducer,
        topic: &str,
        trace_context: &TraceContext,
    ) -> Result<(), String> {
        let mut headers = self.headers.clone();
        let trace_headers = trace_context.headers();
        headers.extend(trace_headers.into_iter().map(|(name, value)| (name.to_owned(), value)));
        producer.publish(topic, &self.source_topic, self.value.clone(), headers).await
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn letter_has_source_error_and_payload_text() {
        let record = TopicRecord {
            topic: "orders".into(),
            partition: 2,
            offset: 9,
            key: None,
            value: Some(b"a\xff\"b".to_vec()),
            headers: vec![],
        };
        let letter = RecordLetter::new(&record, "it broke", Some("id".into()));
        let value: Value = serde_json::from_str(&letter.value).unwrap();
        assert_eq!((&value["source_topic"], &value["error"]), (&"orders".into(), &"it broke".into()));
        assert_eq!(value["original_payload"], "a\u{fffd}\"b");
        let timestamp = value["timestamp"].as_str().unwrap();
        assert!(timestamp.contains('T') && timestamp.ends_with('Z'), "{timestamp}");
        assert_eq!(value.as_object().unwrap().len(), 4);
        let headers: Vec<_> = letter.headers.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(headers, ["source_partition=2", "source_offset=9", "trace_id=id"]);
        let tombstone = TopicRecord { value: None, ..record };
        let letter = RecordLetter::new(&tombstone, "empty", None);
        assert!(letter.value.contains("\"original_payload\":\"\""));
    }
}
