//! The data types of traces: for writing and for reading.

use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDateTime;
use serde::Serialize;
use svc_model::{Page, Timestamp, WorkflowVersion};
use uuid::Uuid;

use crate::repo::RowKey;

/// The origin of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceMode {
    /// A request that waited for its answer.
    Sync,
    /// A submission that was answered before it ran.
    Async,
    /// A record of a topic.
    Kafka,
    /// An occurrence of a schedule.
    Cron,
}

impl TraceMode {
    /// The name in rows and answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Async => "async",
            Self::Kafka => "kafka",
            Self::Cron => "cron",
        }
    }

    /// The mode of that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Sync, Self::Async, Self::Kafka, Self::Cron].into_iter().find(|mode| mode.name() == name)
    }
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceStatus {
    /// Accepted, not begun.
    Pending,
    /// Begun.
    Running,
    /// Ended well.
    Completed,
    /// Ended otherwise.
    Failed,
}

impl TraceStatus {
    /// The name in rows and answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// The status of that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Pending, Self::Running, Self::Completed, Self::Failed]
            .into_iter()
            .find(|status| status.name() == name)
    }
}

/// A trace to be written. The database adds when it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTrace {
    /// Its id; best one that sorts by time.
    pub id: Uuid,
    /// Name of the channel.
    pub channel: Arc<str>,
    /// Id of the channel.
    pub channel_id: Option<Arc<str>>,
    /// The origin of a run.
    pub mode: TraceMode,
    /// Progress of the run.
    pub status: TraceStatus,
    /// Input of the run, JSON.
    pub input_json: Option<String>,
    /// Result of the run, JSON.
    pub result_json: Option<String>,
    /// Why it failed.
    pub error_message: Option<String>,
    /// Duration of the run, in milliseconds.
    pub duration_ms: Option<f64>,
    /// Start of the run, in UTC.
    pub started_at: Option<NaiveDateTime>,
    /// End of the run, in UTC.
    pub completed_at: Option<NaiveDateTime>,
    /// Execution trace of its tasks, JSON.
    pub task_trace_json: Option<String>,
    /// SHA-256 of the token that reads it, in hex.
    pub access_token_hash: Option<String>,
    /// The node that will run it; `None` for a run that is not handed from node to node.
    pub owner: Option<Arc<str>>,
    /// The version of the workflow that it was given to; `None` while it has not begun.
    pub workflow: Option<WorkflowVersion>,
}

impl NewTrace {
    /// A trace that says nothing but these; the rest is absent.
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
        }
    }

    /// Roughly what it takes in memory: the length of its texts.
    pub fn bytes(&self) -> usize {
        lengths([&self.input_json, &self.result_json, &self.error_message, &self.task_trace_json])
    }
}

fn lengths<const N: usize>(texts: [&Option<String>; N]) -> usize {
    texts.into_iter().flatten().map(String::len).sum()
}

/// The claim of a node on an accepted run. Every write of the node names it and changes no row of another claim.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ownership {
    /// Id of the node.
    pub owner: Arc<str>,
    /// Number of restarts of the run after its node died.
    pub recoveries: i64,
}

/// The end of a run that has a trace. The database's clock supplies the time.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceEnd {
    /// The trace.
    pub id: Uuid,
    /// [`Completed`](TraceStatus::Completed) or [`Failed`](TraceStatus::Failed).
    pub status: TraceStatus,
    /// Result of the run, JSON.
    pub result_json: Option<String>,
    /// Why it failed.
    pub error_message: Option<String>,
    /// Duration of the run, in milliseconds.
    pub duration_ms: Option<f64>,
    /// Execution trace of its tasks, JSON.
    pub task_trace_json: Option<String>,
    /// The version of the workflow that it was given to, where one was.
    pub workflow: Option<WorkflowVersion>,
    /// The claim that the row must still carry; `None` for a row that nobody claims.
    pub ownership: Option<Ownership>,
}

impl TraceEnd {
    /// Roughly what it takes in memory: the length of its texts.
    pub(crate) fn bytes(&self) -> usize {
        lengths([&self.result_json, &self.error_message, &self.task_trace_json])
    }
}

/// The failure of an asynchronous run, and the delay of its retry.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceFailure {
    /// The trace.
    pub id: Uuid,
    /// The errors of its tasks, JSON.
    pub result_json: Option<String>,
    /// Why it failed.
    pub error_message: String,
    /// Duration of the run, in milliseconds.
    pub duration_ms: Option<f64>,
    /// Execution trace of its tasks, JSON.
    pub task_trace_json: Option<String>,
    /// The version of the workflow that it was given to, where one was.
    pub workflow: Option<WorkflowVersion>,
    /// Number of this retry; 0 for a first run.
    pub retry_count: i64,
    /// Retries at most; as many make the dead letter exhausted.
    pub max_retries: i64,
    /// After how long the next retry is due.
    pub delay: Duration,
    /// The claim that the row must still carry; `None` for a row that nobody claims.
    pub ownership: Option<Ownership>,
    /// Work that follows from the failure, accepted with it.
    pub report: Option<Box<NewTrace>>,
}

impl TraceFailure {
    /// True where no retry follows.
    pub const fn is_exhausted(&self) -> bool {
        self.retry_count >= self.max_retries
    }
}

/// An asynchronous run that has not ended and whose node has no lease, or that names no node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedRun {
    /// Position in the order, from which the next page continues.
    pub key: RowKey,
    /// The trace.
    pub id: Uuid,
    /// Id of its channel.
    pub channel_id: Option<String>,
    /// Name of its channel when it was accepted.
    pub channel: String,
    /// Input of the run, JSON.
    pub input_json: Option<String>,
    /// The node that it names.
    pub owner: Option<String>,
}

/// A run that a node took over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdoptedRun {
    /// The trace.
    pub id: Uuid,
    /// Number of restarts of the run so far.
    pub recoveries: i64,
    /// True if its former node handed it back in an orderly stop, so that starting it is no recovery.
    pub is_handed_back: bool,
}

/// The filter and order of a list of traces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceQuery {
    /// The progress of a run.
    pub status: Option<String>,
    /// Name of the channel.
    pub channel: Option<String>,
    /// The origin of a run.
    pub mode: Option<String>,
    /// Id of the workflow that it was given to.
    pub workflow_id: Option<String>,
    /// Version of that workflow.
    pub workflow_version: Option<i64>,
    /// `created_at`, `updated_at`, `status`, `channel` or `mode`; an unknown one reads as the first.
    pub sort_by: Option<String>,
    /// `asc` or `desc`; anything else reads as the latter.
    pub sort_order: Option<String>,
    /// Limit and offset of the page.
    pub page: Page,
    /// Cursor that the page before returned; not combined with an offset or another order than the default.
    pub cursor: Option<String>,
    /// True to count the rows that match.
    pub include_total: bool,
}

/// A page of traces.
#[derive(Clone, Debug, PartialEq)]
pub struct TracePage {
    /// The rows.
    pub rows: Vec<TraceRow>,
    /// Rows that match, on all pages, where that was asked for.
    pub total: Option<i64>,
    /// Cursor of the next page, if the order is the default and more rows may follow.
    pub next_cursor: Option<String>,
}

/// A trace without what it carried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceRow {
    /// Its id.
    pub id: String,
    /// Name of the channel.
    pub channel: String,
    /// Id of the channel.
    pub channel_id: Option<String>,
    /// Id of the workflow that it was given to.
    pub workflow_id: Option<String>,
    /// Version of that workflow.
    pub workflow_version: Option<i64>,
    /// Origin of the run: the name of a [`TraceMode`], or the stored text if it is another one.
    pub mode: String,
    /// Progress of the run: the name of a [`TraceStatus`], or the stored text if it is another one.
    pub status: String,
    /// Why it failed.
    pub error_message: Option<String>,
    /// Duration of the run, in milliseconds.
    pub duration_ms: Option<f64>,
    /// Start of the run.
    pub started_at: Option<Timestamp>,
    /// End of the latest attempt.
    pub completed_at: Option<Timestamp>,
    /// Time of the first write.
    pub created_at: Timestamp,
    /// Time of the latest write.
    pub updated_at: Timestamp,
}

/// A trace with what came out of it. What came in is for the run alone and never read again.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceRecord {
    /// The columns that lists show.
    pub row: TraceRow,
    /// Result of the run, JSON.
    pub result_json: Option<String>,
    /// Execution trace of its tasks, JSON.
    pub task_trace_json: Option<String>,
}

/// The access rule of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceAccess {
    /// SHA-256 of the token that reads it, in hex, to be compared in constant time; `None` where there is no token.
    pub token_hash: Option<String>,
}
