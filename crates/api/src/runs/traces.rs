//! Traces: the stored records of runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_model::Timestamp;
use utoipa::ToSchema;

use crate::names::rerun_version;

/// A trace without payload and result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TraceSummary {
    /// Its id.
    pub id: String,
    /// Name of the channel.
    pub channel: String,
    /// Id of the channel.
    #[schema(required = true)]
    pub channel_id: Option<String>,
    /// Id of the workflow that was chosen for the run.
    #[schema(required = true)]
    pub workflow_id: Option<String>,
    /// Version of that workflow.
    #[schema(required = true)]
    pub workflow_version: Option<i64>,
    /// `sync`, `async`, `kafka` or `cron`.
    pub mode: String,
    /// `pending`, `scheduled`, `waiting`, `running`, `retrying`, `completed`, `failed` or `cancelled`.
    pub status: String,
    /// The value of `x-request-id` of the request that it came with.
    #[schema(required = true)]
    pub request_id: Option<String>,
    /// Code of the error that ended the run, or of the first one that it went on after.
    #[schema(required = true)]
    pub error_code: Option<String>,
    /// Group of the failure, as the list of errors names it.
    #[schema(required = true)]
    pub error_group: Option<String>,
    /// Reason of the failure.
    #[schema(required = true)]
    pub error_message: Option<String>,
    /// Duration of the run in milliseconds.
    #[schema(required = true)]
    pub duration_ms: Option<f64>,
    /// Start of the run.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub started_at: Option<Timestamp>,
    /// End of the run.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub completed_at: Option<Timestamp>,
    /// Instant of the first write.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Instant of the last write.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// Number of the newest attempt at this work; of a later attempt its own.
    pub attempt: i64,
    /// Id of the work that this is a later attempt of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub attempt_of: Option<String>,
    /// Instant at which the next attempt is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub next_retry_at: Option<Timestamp>,
}

/// An attempt at accepted work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = TraceAttempt)]
pub struct AttemptSummary {
    /// Its number, from 1.
    pub attempt: i64,
    /// Id of its trace.
    pub trace_id: String,
    /// `pending`, `scheduled`, `waiting`, `running`, `completed`, `failed` or `cancelled`.
    pub status: String,
    /// Reason of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<String>,
    /// Start of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub started_at: Option<Timestamp>,
    /// End of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub completed_at: Option<Timestamp>,
    /// Duration of the run in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub duration_ms: Option<f64>,
}

/// The reason for which accepted work does not run yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = TraceWait)]
pub struct WorkWaitDetail {
    /// `queue`, `scheduled`, `retry`, `paused`, `quarantined`, `share`, `permit` or `lease`; more may follow.
    pub reason: String,
    /// The reason in one sentence.
    pub sentence: String,
    /// Time since which it waits for this reason.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// Time until which it waits, if one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub until: Option<Timestamp>,
    /// Its place among the work that waits for the same, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub position: Option<i64>,
    /// The node that has it, or the trace of work that has the share that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub holder: Option<String>,
}

/// A page of traces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = TracePage)]
pub struct TraceListEnvelope {
    /// The rows of the page.
    pub data: Vec<TraceSummary>,
    /// The applied limit.
    pub limit: i64,
    /// The applied offset.
    pub offset: i64,
    /// Number of matching rows on all pages, with `include_total=true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub total: Option<i64>,
    /// Number of rows by status, with `include_counts=true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub counts: Option<BTreeMap<String, i64>>,
    /// Cursor of the next page, where more rows may follow in the default order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next_cursor: Option<String>,
    /// The instant up to which rows were read, if that many were read that the page is not full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub scanned_until: Option<Timestamp>,
}

/// A trace with its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Trace)]
pub struct TraceDetail {
    /// Its id.
    pub id: String,
    /// `pending`, `scheduled`, `waiting`, `running`, `retrying`, `completed`, `failed` or `cancelled`.
    pub status: String,
    /// `sync`, `async`, `kafka` or `cron`.
    pub mode: String,
    /// Name of the channel.
    pub channel: String,
    /// Id of the channel.
    #[schema(required = true)]
    pub channel_id: Option<String>,
    /// Id of the workflow that was chosen for the run.
    #[schema(required = true)]
    pub workflow_id: Option<String>,
    /// Version of that workflow.
    #[schema(required = true)]
    pub workflow_version: Option<i64>,
    /// The value of `x-request-id` of the request that it came with.
    #[schema(required = true)]
    pub request_id: Option<String>,
    /// Instant of the first write.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// The result of a completed run, without metadata. Its form depends on the mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Value>,
    /// Reason of the failure of the newest attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<String>,
    /// Code of the error that ended the run, or of the first one that it went on after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error_code: Option<String>,
    /// The errors of its tasks; of a completed run those that its workflow tolerated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>, nullable = false)]
    pub errors: Option<Value>,
    /// Start of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub started_at: Option<Timestamp>,
    /// End of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub completed_at: Option<Timestamp>,
    /// Duration of the run in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub duration_ms: Option<f64>,
    /// Number of the newest attempt at this work; of a later attempt its own.
    pub attempt: i64,
    /// Id of the work that this is a later attempt of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub attempt_of: Option<String>,
    /// Instant at which the next attempt is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub next_retry_at: Option<Timestamp>,
    /// Instant before which it does not run, if its submitter chose one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub deliver_at: Option<Timestamp>,
    /// The reason for which accepted work does not run yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub waits_for: Option<WorkWaitDetail>,
    /// Instant of the order to cancel it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub cancel_requested_at: Option<Timestamp>,
    /// The principal who cancelled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cancelled_by: Option<String>,
    /// The calls that had left when its run was cancelled: `task_id`, `function` and `connector` of each. The called
    /// systems may have carried them out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>, nullable = false)]
    pub in_flight: Option<Value>,
    /// Id of the trace that it runs again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub rerun_of: Option<String>,
    /// Ids of the traces that run it again, the oldest first, at most 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reruns: Vec<String>,
    /// The attempts at accepted work, the first one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<AttemptSummary>,
    /// The steps of the run, of the first attempt at accepted work; where the channel records them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub task_trace_json: Option<Value>,
}

/// The body of a rerun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RerunRequest {
    /// The version of the workflow: `same`, `current` or a number.
    #[schema(schema_with = rerun_version)]
    pub version: Value,
    /// The payload, in place of the stored one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
}

/// An accepted rerun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RerunAccepted {
    /// Id of its trace.
    pub trace_id: String,
}
