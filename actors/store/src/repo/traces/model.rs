//! The data of a trace: to be written, and as read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDateTime;
use serde::{Deserialize, Serialize};
use svc_model::{ErrorGroup, Page, Timestamp, WorkflowVersion};
use uuid::Uuid;

use crate::repo::traces::{TraceMode, TraceStatus, WaitTerms};
use crate::repo::{AnyOf, RowKey};

/// A trace to be written. The database adds the time of the write.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTrace {
    /// Its id, preferably one that sorts by time.
    pub id: Uuid,
    /// Name of the channel.
    pub channel: Arc<str>,
    pub channel_id: Option<Arc<str>>,
    /// Origin of the run.
    pub mode: TraceMode,
    /// Status of the run.
    pub status: TraceStatus,
    /// The input, as JSON.
    pub input_json: Option<String>,
    /// The result, as JSON.
    pub result_json: Option<String>,
    /// Reason of the failure.
    pub error_message: Option<String>,
    /// Duration of the run in milliseconds.
    pub duration_ms: Option<f64>,
    /// Start of the run, in UTC.
    pub started_at: Option<NaiveDateTime>,
    /// End of the run, in UTC.
    pub completed_at: Option<NaiveDateTime>,
    /// The execution trace of the tasks, as JSON.
    pub task_trace_json: Option<String>,
    /// SHA-256 of the token that authorizes reading it, in hexadecimal.
    pub access_token_hash: Option<String>,
    /// The node that will run it; `None` for a run that is not taken over by other nodes.
    pub owner: Option<Arc<str>>,
    /// The workflow version that was chosen for it; `None` before its start.
    pub workflow: Option<WorkflowVersion>,
    /// The correlation id of the request that brought it; `None` if there was none.
    pub request_id: Option<String>,
    /// The key of the run; `None` for one that is the id of the row.
    pub run_key: Option<String>,
    /// Code of the error that ended the run, or of the first one that it went on after.
    pub error_code: Option<&'static str>,
    /// The terms under which it waits, of a [scheduled](TraceStatus::Scheduled) or [waiting](TraceStatus::Waiting)
    /// one.
    pub wait: Option<Box<WaitTerms>>,
    /// Group of the failure.
    pub error_group: Option<Arc<ErrorGroup>>,
    /// The id of its distributed trace, in hexadecimal; `None` if the spans of that trace are not exported.
    pub distributed_trace_id: Option<String>,
}

impl NewTrace {
    /// Creates a trace with these values and nothing else.
    pub fn new(id: Uuid, channel: Arc<str>, mode: TraceMode, status: TraceStatus) -> Self {
        Self {
            id,
            channel,
            channel_id: None,
            mode,
            status,
            input_json: None,
            result_json: None,
            error_message: None,
            duration_ms: None,
            started_at: None,
            completed_at: None,
            task_trace_json: None,
            access_token_hash: None,
            owner: None,
            workflow: None,
            request_id: None,
            run_key: None,
            error_code: None,
            wait: None,
            error_group: None,
            distributed_trace_id: None,
        }
    }

    /// Estimates its size in memory: the length of its texts.
    pub fn bytes(&self) -> usize {
        lengths([
            &self.input_json,
            &self.result_json,
            &self.error_message,
            &self.task_trace_json,
            &self.request_id,
            &self.run_key,
        ])
    }
}

fn lengths<const N: usize>(texts: [&Option<String>; N]) -> usize {
    texts.into_iter().flatten().map(String::len).sum()
}

/// The claim of a node on an accepted run. Every write of the node carries it, and changes no row with
/// another claim.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ownership {
    /// Id of the node.
    pub owner: Arc<str>,
    /// Number of restarts of the run after its node died.
    pub recoveries: i64,
}

/// The outcome of a traced run. The database adds the time of the end.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceEnd {
    /// Id of the trace.
    pub id: Uuid,
    /// One of the statuses that are ends.
    pub status: TraceStatus,
    /// The result, as JSON.
    pub result_json: Option<String>,
    /// Reason of the failure.
    pub error_message: Option<String>,
    /// Code of the error that ended the run.
    pub error_code: Option<&'static str>,
    /// Group of the failure.
    pub error_group: Option<Arc<ErrorGroup>>,
    /// Duration of the run in milliseconds.
    pub duration_ms: Option<f64>,
    /// The execution trace of the tasks, as JSON.
    pub task_trace_json: Option<String>,
    /// The workflow version that was chosen for the run, if it came that far.
    pub workflow: Option<WorkflowVersion>,
    /// The claim that the row must still have; `None` for an unclaimed row.
    pub ownership: Option<Ownership>,
}

impl TraceEnd {
    /// Returns the end of a run that was cancelled.
    pub const fn cancelled(id: Uuid, ownership: Option<Ownership>) -> Self {
        Self {
            id,
            status: TraceStatus::Cancelled,
            result_json: None,
            error_message: None,
            error_code: None,
            error_group: None,
            duration_ms: None,
            task_trace_json: None,
            workflow: None,
            ownership,
        }
    }

    /// Estimates its size in memory: the length of its texts.
    pub(crate) fn bytes(&self) -> usize {
        lengths([&self.result_json, &self.error_message, &self.task_trace_json])
    }
}

/// The failure of an asynchronous run, with its next retry.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceFailure {
    /// Id of the trace.
    pub id: Uuid,
    /// The errors of the tasks, as JSON.
    pub result_json: Option<String>,
    /// Reason of the failure.
    pub error_message: String,
    /// Code of the error that ended the run.
    pub error_code: Option<&'static str>,
    /// Group of the failure; `None` for one that its channel and its message alone make.
    pub error_group: Option<Arc<ErrorGroup>>,
    /// Duration of the run in milliseconds.
    pub duration_ms: Option<f64>,
    /// The execution trace of the tasks, as JSON.
    pub task_trace_json: Option<String>,
    /// The workflow version that was chosen for the run, if it came that far.
    pub workflow: Option<WorkflowVersion>,
    /// Number of this retry; 0 for a first run.
    pub retry_count: i64,
    /// Maximum number of retries. After this number the dead letter is exhausted.
    pub max_retries: i64,
    /// Delay before the next retry.
    pub delay: Duration,
    /// True if retries are made at all. Without them a failure is an end, whatever its dead letter has left.
    pub retries: bool,
    /// The claim that the row must still have; `None` for an unclaimed row.
    pub ownership: Option<Ownership>,
    /// The report of the failure, accepted in the same transaction.
    pub report: Option<Box<NewTrace>>,
}

impl TraceFailure {
    /// Returns whether no retry follows.
    pub const fn is_exhausted(&self) -> bool {
        self.retry_count >= self.max_retries
    }

    /// Returns the delay of the retry that follows by itself, if one does.
    pub(crate) fn retry(&self) -> Option<Duration> {
        (self.retries && !self.is_exhausted()).then_some(self.delay)
    }
}

/// An unfinished asynchronous run whose node has no lease, or that has no node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedRun {
    /// Its position in the order, to continue after it.
    pub key: RowKey,
    /// Id of the trace.
    pub id: Uuid,
    pub channel_id: Option<String>,
    /// Name of its channel when it was accepted.
    pub channel: String,
    /// Id of the work, if the run is a later attempt at it.
    pub attempt_of: Option<Uuid>,
    /// The input, as JSON.
    pub input_json: Option<String>,
    /// Its node.
    pub owner: Option<String>,
    /// Number of restarts so far.
    pub recoveries: i64,
    /// True if it takes a share of its channel.
    pub is_shared: bool,
}

/// A run that a node took over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdoptedRun {
    /// Id of the trace.
    pub id: Uuid,
    /// Number of restarts so far.
    pub recoveries: i64,
    /// True if its former node released its lease, so that the next start is no recovery.
    pub is_handed_back: bool,
}

/// Filter and order of a list of traces. A row matches a condition with any of its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceQuery {
    /// Status of the run.
    pub status: Option<AnyOf>,
    /// Name of the channel.
    pub channel: Option<AnyOf>,
    /// Tags, of which the channel has one.
    pub tag: Option<AnyOf>,
    /// Origin of the run.
    pub mode: Option<AnyOf>,
    /// Id of the workflow that was chosen for the run.
    pub workflow_id: Option<AnyOf>,
    /// Versions of that workflow; any if there are none.
    pub workflow_versions: Vec<i64>,
    /// The correlation id of the request.
    pub request_id: Option<AnyOf>,
    pub trace_id: Option<AnyOf>,
    /// Id of the trace that the run is a rerun of.
    pub rerun_of: Option<AnyOf>,
    pub run_key: Option<AnyOf>,
    /// Code of the error of the run.
    pub error_code: Option<AnyOf>,
    /// Group of the failure.
    pub error_group: Option<AnyOf>,
    /// Task whose error the failure is.
    pub task: Option<AnyOf>,
    /// Least duration of the run in milliseconds.
    pub min_duration_ms: Option<i64>,
    /// Earliest instant of the first write.
    pub since: Option<Timestamp>,
    /// End of the instants of the first write, exclusive.
    pub until: Option<Timestamp>,
    /// `asc` or `desc`, of the time of the first write; goes with a cursor, and not with `sort_by`.
    pub order: Option<String>,
    /// `created_at`, `updated_at`, `status`, `channel`, `mode`, `duration_ms`, `workflow_version` or `error_code`;
    /// an unknown one means `created_at`. A value that a row lacks is the smallest.
    pub sort_by: Option<String>,
    /// `asc` or `desc`; any other value means `desc`.
    pub sort_order: Option<String>,
    /// Limit and offset.
    pub page: Page,
    /// The cursor of the previous page; not together with an offset or another order than the default.
    pub cursor: Option<String>,
    /// True to list later attempts at accepted work in addition to the work.
    pub attempts: bool,
    /// True to count the matching rows.
    pub include_total: bool,
    /// True to count rows by status.
    pub include_counts: bool,
}

/// A page of traces.
#[derive(Clone, Debug, PartialEq)]
pub struct TracePage {
    pub rows: Vec<TraceRow>,
    /// Number of matching rows on all pages, if requested.
    pub total: Option<i64>,
    /// Number of rows by status, if requested.
    pub counts: Option<BTreeMap<String, i64>>,
    /// Cursor of the next page, if the order is one of time and more rows may follow.
    pub next_cursor: Option<String>,
    /// The instant up to which the rows were read, if the page is not full because no more may be read at once.
    pub scanned_until: Option<Timestamp>,
}

/// A trace without input, result and execution trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceRow {
    pub id: String,
    /// Name of the channel.
    pub channel: String,
    pub channel_id: Option<String>,
    /// Id of the workflow that was chosen for the run.
    pub workflow_id: Option<String>,
    pub workflow_version: Option<i64>,
    /// Name of the [`TraceMode`], or any other text of the row.
    pub mode: String,
    /// Name of the [`TraceStatus`], or any other text of the row.
    pub status: String,
    /// The correlation id of the request; `None` if there was none.
    pub request_id: Option<String>,
    /// Code of the error that ended the run, or of the first one that it went on after.
    pub error_code: Option<String>,
    /// Group of the failure.
    pub error_group: Option<String>,
    /// Reason of the failure.
    pub error_message: Option<String>,
    /// Duration of the run in milliseconds.
    pub duration_ms: Option<f64>,
    /// Start of the run.
    pub started_at: Option<Timestamp>,
    /// End of the run.
    pub completed_at: Option<Timestamp>,
    /// Instant of the first write.
    pub created_at: Timestamp,
    /// Instant of the last write.
    pub updated_at: Timestamp,
    /// Number of the newest attempt at this work; of a later attempt its own.
    pub attempt: i64,
    /// Id of the work that this is a later attempt of.
    pub attempt_of: Option<String>,
    /// Instant at which the next attempt at this work is due.
    pub next_retry_at: Option<Timestamp>,
    /// The instant for which it was submitted.
    pub deliver_at: Option<Timestamp>,
    /// Id of the trace that it runs again.
    pub rerun_of: Option<String>,
}

/// An attempt at accepted work.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceAttempt {
    /// Its number, from 1.
    pub attempt: i64,
    pub trace_id: String,
    /// Name of its [`TraceStatus`], or any other text of the row.
    pub status: String,
    /// Reason of the failure.
    pub error_message: Option<String>,
    /// Duration of the run in milliseconds.
    pub duration_ms: Option<f64>,
    /// Start of the run.
    pub started_at: Option<Timestamp>,
    /// End of the run.
    pub completed_at: Option<Timestamp>,
}

/// The end of the first attempt at accepted work, as the row of the work keeps it: the row itself has the end of the
/// newest.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FirstAttempt {
    /// Name of its status; `None` in rows of the release before, which kept failures only.
    #[serde(default)]
    pub(super) status: Option<String>,
    pub(super) error_message: Option<String>,
    pub(super) duration_ms: Option<f64>,
    pub(super) started_at: Option<Timestamp>,
    pub(super) completed_at: Option<Timestamp>,
}

/// A trace with its result. The input is for the run only and is never read here.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceRecord {
    /// The fields that lists show.
    pub row: TraceRow,
    /// The result, as JSON.
    pub result_json: Option<String>,
    /// The execution trace of the tasks, as JSON.
    pub task_trace_json: Option<String>,
    /// The id of its distributed trace, in hexadecimal; of accepted work, that of its submission.
    pub distributed_trace_id: Option<String>,
    /// Instant of the order to cancel it.
    pub cancel_requested_at: Option<Timestamp>,
    /// The principal who gave that order.
    pub cancelled_by: Option<String>,
    /// The calls that had left when its run was cancelled, as JSON.
    pub in_flight_json: Option<String>,
    /// Ids of the traces that run it again, the oldest first.
    pub reruns: Vec<String>,
    /// The attempts at this work, the first one first; none for a later attempt.
    pub attempts: Vec<TraceAttempt>,
}

/// The part of a trace from which a report of its failure is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSource {
    pub id: String,
    pub channel_id: Option<String>,
    /// Name of the channel.
    pub channel: String,
    /// The input, as JSON.
    pub input_json: Option<String>,
}

/// The read access of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceAccess {
    /// SHA-256 of the token that authorizes reading it, in hexadecimal, to be compared in constant time;
    /// `None` if it has no token.
    pub token_hash: Option<String>,
}
