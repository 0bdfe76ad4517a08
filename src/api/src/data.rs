//! The data plane.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The response of a synchronous run, unless the workflow shapes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub request_id: Option<String>,
    /// The profile of the run, for a caller that asked for it.
    #[serde(rename = "_svc", default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub platform: Option<Value>,
}

/// A task that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunError {
    /// The class of the error.
    pub code: String,
    /// A description; the same text for every error unless the service is verbose.
    pub message: String,
    /// The task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub task_id: Option<String>,
    /// Status of the outbound call, where the service is verbose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub status: Option<u16>,
    /// Body of the outbound response, where the service is verbose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
}

/// The response to an accepted asynchronous submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SubmissionReceipt {
    /// Id of the trace, which shows the result.
    pub trace_id: String,
    /// The token that reads it, in the header `x-trace-token`.
    pub trace_token: String,
}
