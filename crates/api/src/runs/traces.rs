//! Traces: the stored records of runs.

use std::collections::BTreeMap;

use serde_json::Value;
use svc_model::Timestamp;

use crate::api_types::api_types;
use crate::names::rerun_version;

api_types! {
    /// A trace without payload and result.
    pub struct TraceSummary {
        /// Its id.
        pub id: String,
        /// Name of the channel.
        pub channel: String,
        /// Id of the channel.
        pub channel_id: nullable String,
        /// Id of the workflow that was chosen for the run.
        pub workflow_id: nullable String,
        /// Version of that workflow.
        pub workflow_version: nullable i64,
        /// `sync`, `async`, `kafka` or `cron`.
        pub mode: String,
        /// `pending`, `scheduled`, `waiting`, `running`, `retrying`, `completed`, `failed` or `cancelled`.
        pub status: String,
        /// The value of `x-request-id` of the request that it came with.
        pub request_id: nullable String,
        /// Code of the error that ended the run, or of the first one that it went on after.
        pub error_code: nullable String,
        /// Group of the failure, as the list of errors names it.
        pub error_group: nullable String,
        /// Reason of the failure.
        pub error_message: nullable String,
        /// Duration of the run in milliseconds.
        pub duration_ms: nullable f64,
        /// Start of the run.
        pub started_at: nullable Timestamp,
        /// End of the run.
        pub completed_at: nullable Timestamp,
        /// Instant of the first write.
        pub created_at: Timestamp,
        /// Instant of the last write.
        pub updated_at: Timestamp,
        /// Number of the newest attempt at this work; of a later attempt its own.
        pub attempt: i64,
        /// Id of the work that this is a later attempt of.
        pub attempt_of: optional String,
        /// Instant at which the next attempt is due.
        pub next_retry_at: optional Timestamp,
        /// Instant before which it does not run, if its submitter chose one.
        pub deliver_at: optional Timestamp,
        /// Id of the trace that it runs again.
        pub rerun_of: optional String,
    }

    /// An attempt at accepted work.
    #[schema(as = TraceAttempt)]
    pub struct AttemptSummary {
        /// Its number, from 1.
        pub attempt: i64,
        /// Id of its trace.
        pub trace_id: String,
        /// `pending`, `scheduled`, `waiting`, `running`, `completed`, `failed` or `cancelled`.
        pub status: String,
        /// Reason of the failure.
        pub error: optional String,
        /// Start of the run.
        pub started_at: optional Timestamp,
        /// End of the run.
        pub completed_at: optional Timestamp,
        /// Duration of the run in milliseconds.
        pub duration_ms: optional f64,
    }

    /// The reason for which accepted work does not run yet.
    #[derive(Eq)]
    #[schema(as = TraceWait)]
    pub struct WorkWaitDetail {
        /// `queue`, `scheduled`, `retry`, `paused`, `quarantined`, `share`, `permit` or `lease`; more may follow.
        pub reason: String,
        /// The reason in one sentence.
        pub sentence: String,
        /// Time since which it waits for this reason.
        pub since: Timestamp,
        /// Time until which it waits, if one is known.
        pub until: optional Timestamp,
        /// Its place among the work that waits for the same, from 1.
        pub position: optional i64,
        /// The node that has it, or the trace of work that has the share that it waits for.
        pub holder: optional String,
    }

    /// A page of traces.
    #[schema(as = TracePage)]
    pub struct TraceListEnvelope {
        /// The rows of the page.
        pub data: Vec<TraceSummary>,
        /// The applied limit.
        pub limit: i64,
        /// The applied offset.
        pub offset: i64,
        /// Number of matching rows on all pages, with `include_total=true`.
        pub total: optional i64,
        /// Number of rows by status, with `include_counts=true`.
        pub counts: optional BTreeMap<String, i64>,
        /// Cursor of the next page, if more rows may follow in the default order.
        pub next_cursor: optional String,
        /// The instant up to which rows were read, if that many were read that the page is not full.
        pub scanned_until: optional Timestamp,
    }

    /// A trace with its result.
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
        pub channel_id: nullable String,
        /// Id of the workflow that was chosen for the run.
        pub workflow_id: nullable String,
        /// Version of that workflow.
        pub workflow_version: nullable i64,
        /// The value of `x-request-id` of the request that it came with.
        pub request_id: nullable String,
        /// Instant of the first write.
        pub created_at: Timestamp,
        /// The result of a completed run, without metadata. Its form depends on the mode.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub message: Option<Value>,
        /// Reason of the failure of the newest attempt.
        pub error: optional String,
        /// Code of the error that ended the run, or of the first one that it went on after.
        pub error_code: optional String,
        /// The errors of its tasks; of a completed run those that its workflow tolerated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Vec<Object>>, nullable = false)]
        pub errors: Option<Value>,
        /// Start of the run.
        pub started_at: optional Timestamp,
        /// End of the run.
        pub completed_at: optional Timestamp,
        /// Duration of the run in milliseconds.
        pub duration_ms: optional f64,
        /// Number of the newest attempt at this work; of a later attempt its own.
        pub attempt: i64,
        /// Id of the work that this is a later attempt of.
        pub attempt_of: optional String,
        /// Instant at which the next attempt is due.
        pub next_retry_at: optional Timestamp,
        /// Instant before which it does not run, if its submitter chose one.
        pub deliver_at: optional Timestamp,
        /// The reason for which accepted work does not run yet.
        pub waits_for: optional WorkWaitDetail,
        /// Id of the distributed trace in which its spans are exported; of accepted work, that of its submission.
        pub distributed_trace_id: optional String,
        /// Address of that distributed trace, if the setting `tracing.ui_url` names one.
        pub distributed_trace_url: optional String,
        /// Instant of the order to cancel it.
        pub cancel_requested_at: optional Timestamp,
        /// The principal who cancelled it.
        pub cancelled_by: optional String,
        /// The calls that had left when its run was cancelled: `task_id`, `function` and `connector` of each. The called
        /// systems may have carried them out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Vec<Object>>, nullable = false)]
        pub in_flight: Option<Value>,
        /// Id of the trace that it runs again.
        pub rerun_of: optional String,
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
    pub struct RerunRequest {
        /// The version of the workflow: `same`, `current` or a number.
        #[schema(schema_with = rerun_version)]
        pub version: Value,
        /// The payload, in place of the stored one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub payload: Option<Value>,
    }

    /// An accepted rerun.
    #[derive(Eq)]
    pub struct RerunAccepted {
        /// Id of its trace.
        pub trace_id: String,
    }
}
