//! Conversion of a dead letter into a job: pure, no clock, no I/O.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use svc_store::ClaimedLetter;
use uuid::Uuid;

use crate::job::Job;

/// Returns the job of a letter under a new trace id, and the number of this retry.
pub(crate) fn job(letter: &ClaimedLetter, trace_id: Uuid) -> (Job, u32) {
    // Text that is not JSON was inserted by hand. It is passed to the workflow as a string.
    let payload = serde_json::from_str(&letter.payload_json)
        .unwrap_or_else(|_| Value::String(letter.payload_json.clone()));
    let metadata: Map<_, _> = serde_json::from_str(&letter.metadata_json).unwrap_or_default();
    let job = Job {
        trace_id,
        channel_id: None,
        channel: letter.channel.as_str().into(),
        payload,
        metadata,
        bucket: None,
        hold: None,
        attempt: None,
        trace_headers: BTreeMap::new(),
    };
    (job, retries(letter).saturating_add(1))
}

/// Returns how many times the letter was retried before.
pub(crate) fn retries(letter: &ClaimedLetter) -> u32 {
    u32::try_from(letter.retry_count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn letter(payload: &str, metadata: &str, retry_count: i64) -> ClaimedLetter {
        ClaimedLetter {
            id: "l".into(),
            trace_id: "t".into(),
            attempt_of: None,
            channel: "c".into(),
            payload_json: payload.into(),
            metadata_json: metadata.into(),
            retry_count,
            max_retries: 5,
            share: None,
        }
    }

    #[test]
    fn letter_is_rerun_unchanged_with_one_more_retry() {
        let (job, retry) = job(&letter(r#"{"a":1}"#, r#"{"vars":{}}"#, 2), Uuid::nil());
        assert_eq!((&*job.channel, job.payload, retry), ("c", json!({ "a": 1 }), 3));
        assert_eq!(Value::Object(job.metadata), json!({ "vars": {} }));
        assert!(job.channel_id.is_none() && job.hold.is_none());
    }

    #[test]
    fn unreadable_letter_is_passed_on_as_text() {
        let (job, retry) = job(&letter("{", "[]", -1), Uuid::nil());
        assert_eq!((job.payload, job.metadata.len(), retry), (json!("{"), 0, 1));
    }
}
