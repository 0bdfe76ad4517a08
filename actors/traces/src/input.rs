//! The input of a job as its row stores it: `{"data", "metadata", "bucket"?, "retry"?, "trace_headers"?}`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use svc_model::{heap_bytes, heap_bytes_of_members};

use crate::job::Job;

#[derive(Serialize)]
struct InputText<'a> {
    data: &'a Value,
    metadata: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bucket: Option<u8>,
    #[serde(skip_serializing_if = "is_first")]
    retry: u32,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    trace_headers: &'a BTreeMap<String, String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
const fn is_first(retry: &u32) -> bool {
    *retry == 0
}

/// The stored input of a job.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct StoredInput {
    pub(crate) data: Value,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) bucket: Option<u8>,
    /// Number of the retry of a dead letter; 0 for a first run.
    pub(crate) retry: u32,
    pub(crate) trace_headers: BTreeMap<String, String>,
}

/// Serializes the input of a run that was not accepted before, as accepted work stores it; `None` if it cannot be written.
pub fn write_run_input(payload: &Value, metadata: &Map<String, Value>, bucket: Option<u8>) -> Option<String> {
    let trace_headers = &BTreeMap::new();
    serde_json::to_string(&InputText { data: payload, metadata, bucket, retry: 0, trace_headers }).ok()
}

/// Serializes the input of a job for its row.
pub(crate) fn write(job: &Job, retry: u32) -> Result<String, serde_json::Error> {
    let Job { payload, metadata, bucket, trace_headers, .. } = job;
    serde_json::to_string(&InputText { data: payload, metadata, bucket: *bucket, retry, trace_headers })
}

/// Returns the bytes that the payload and the metadata of a waiting job take in memory.
pub(crate) fn held_bytes(job: &Job) -> usize {
    heap_bytes(&job.payload).saturating_add(heap_bytes_of_members(&job.metadata))
}

/// Parses the stored input.
pub(crate) fn read(text: &str) -> Result<StoredInput, serde_json::Error> {
    serde_json::from_str(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn written_input_is_read_back() {
        let metadata = Map::from_iter([("vars".to_owned(), json!({ "a": 1 }))]);
        let traced = BTreeMap::from([("traceparent".to_owned(), "00-a-b-01".to_owned())]);
        for (bucket, retry, trace_headers) in
            [(None, 0, traced.clone()), (Some(7), 0, BTreeMap::new()), (Some(99), 3, traced)]
        {
            let job = Job {
                trace_id: Uuid::nil(),
                channel_id: None,
                channel: "c".into(),
                payload: json!({ "x": "é" }),
                metadata: metadata.clone(),
                bucket,
                hold: None,
                attempt: None,
                trace_headers,
            };
            let input = read(&write(&job, retry).unwrap()).unwrap();
            assert_eq!(
                input,
                StoredInput {
                    data: job.payload,
                    metadata: job.metadata,
                    bucket,
                    retry,
                    trace_headers: job.trace_headers
                }
            );
        }
    }

    #[test]
    fn absent_input_is_empty_invalid_is_an_error() {
        assert_eq!(read("{}").unwrap(), StoredInput::default());
        assert!(read("[").is_err() && read(r#"{"metadata":1}"#).is_err());
    }
}
