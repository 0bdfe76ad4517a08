//! The data plane.

use serde_json::Value;
use svc_model::Timestamp;

use crate::api_types::api_types;

api_types! {
    /// The response of a synchronous run, unless the workflow shapes it.
    pub struct RunResponse {
        /// Id of the message.
        pub id: String,
        /// `ok`, also if tasks failed and the workflow went on.
        pub status: String,
        /// The `data` of the message after the run.
        #[schema(value_type = Value)]
        pub data: Value,
        /// The tasks that failed.
        pub errors: Vec<RunError>,
        /// The value of the header `x-request-id`, if tasks failed.
        pub request_id: optional String,
        /// The profile of the run, for a caller that asked for it.
        #[serde(rename = "_svc", default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>, nullable = false)]
        pub platform: Option<Value>,
    }

    /// A task that failed.
    pub struct RunError {
        /// The class of the error.
        pub code: String,
        /// A description; the same text for every error unless the service is verbose.
        pub message: String,
        /// The task.
        pub task_id: optional String,
        /// The index of the element of a `for_each`; of several within one another, of the innermost.
        pub index: optional u32,
        /// The indexes of the elements of several `for_each` within one another, the outermost first.
        pub indexes: optional Vec<u32>,
        /// Status of the outbound call, where the service is verbose.
        pub status: optional u16,
        /// Body of the outbound response, where the service is verbose.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub body: Option<Value>,
    }

    /// The response to an accepted asynchronous submission.
    #[derive(Eq)]
    pub struct SubmissionReceipt {
        /// Id of the trace, which shows the result.
        pub trace_id: String,
        /// The token that reads it, in the header `x-trace-token`.
        pub trace_token: String,
    }

    /// The state of a submission, as the holder of its token sees it.
    pub struct SubmissionState {
        /// Its id: the trace that the 202 named.
        pub id: String,
        /// `pending`, `scheduled`, `waiting`, `running`, `retrying`, `completed`, `failed` or `cancelled`.
        pub status: String,
        /// `async`.
        pub mode: String,
        /// Name of the channel.
        pub channel: String,
        /// Number of the newest attempt, from 1.
        pub attempt: i64,
        /// Instant at which the next attempt is due.
        pub next_retry_at: optional Timestamp,
        /// Instant before which it does not run, if its submitter chose one.
        pub deliver_at: optional Timestamp,
        /// Instant of the acceptance.
        pub created_at: Timestamp,
        /// Start of the first attempt.
        pub started_at: optional Timestamp,
        /// End of the last attempt.
        pub completed_at: optional Timestamp,
        /// Duration of the newest attempt in milliseconds.
        pub duration_ms: optional f64,
        /// The result of a completed submission: the `data` that a synchronous run answers with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub data: Option<Value>,
        /// The same in the form in which a trace shows it to operators: `{"context": {"data": …}}`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>, nullable = false)]
        pub message: Option<Value>,
        /// The errors of the newest attempt.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub errors: Vec<SubmissionError>,
    }

    /// An error of a submission.
    #[derive(Eq)]
    pub struct SubmissionError {
        /// The class of the error.
        pub code: String,
        /// The task.
        pub task_id: optional String,
    }
}
