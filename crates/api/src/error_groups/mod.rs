//! Groups of errors: failures with one cause.

use serde::{Deserialize, Serialize};
use svc_model::Timestamp;
use utoipa::ToSchema;

use crate::server::audit::AuditLogEntry;

/// Failures of one channel, workflow and task with one code, and messages that differ in values alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = ErrorGroup)]
pub struct ErrorGroupSummary {
    /// Its id, a filter of every list of runs.
    pub group: String,
    /// Name of the channel.
    pub channel: String,
    /// Id of the workflow, if one was chosen.
    #[schema(required = true)]
    pub workflow: Option<String>,
    /// Id of the task whose error it is, if a task failed.
    #[schema(required = true)]
    pub task: Option<String>,
    /// Code of the error.
    #[schema(required = true)]
    pub code: Option<String>,
    /// The message, with ids, numbers and quoted texts replaced.
    pub message: String,
    /// Number of failures, each counted once: as a dead letter, an occurrence, a trace or a held record.
    pub count: i64,
    /// Instant of the first failure, whether its row is still there or not.
    #[schema(value_type = String, format = DateTime)]
    pub first_seen: Timestamp,
    /// Instant of the last failure that is counted; of an occurrence the one at which it was due.
    #[schema(value_type = String, format = DateTime)]
    pub last_seen: Timestamp,
    /// Versions of the workflow that failed.
    pub versions: Vec<i64>,
    /// Ids of the newest traces, at most five.
    pub samples: Vec<String>,
    /// The last change of the channel, its workflow or a connector that they use before the first failure; `null` if the
    /// audit log has none.
    #[schema(required = true)]
    pub change: Option<AuditLogEntry>,
    /// The node that holds the records; absent for failures in the database, which belong to no node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub node: Option<String>,
}

/// The failures of the last minutes, by their counts: no row of a failure is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = RecentErrors)]
pub struct RecentErrorCounts {
    /// Length of the window in minutes; the last one goes on.
    pub minutes: u32,
    /// Failures of all groups in the window.
    pub failures: i64,
    /// Number of groups with failures in the window.
    pub total: i64,
    /// The groups with the most failures, the most frequent first.
    pub groups: Vec<RecentErrorGroup>,
}

/// The failures of one group in the last minutes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecentErrorGroup {
    /// Its id, a filter of every list of runs.
    pub group: String,
    /// Name of the channel.
    pub channel: String,
    /// Id of the workflow, if one was chosen.
    #[schema(required = true)]
    pub workflow: Option<String>,
    /// Id of the task whose error it is, if a task failed.
    #[schema(required = true)]
    pub task: Option<String>,
    /// Code of the error.
    #[schema(required = true)]
    pub code: Option<String>,
    /// The message, with ids, numbers and quoted texts replaced.
    pub message: String,
    /// Failures in the window. Each attempt at accepted work counts.
    pub count: i64,
    /// Instant of the first failure, whether it is in the window or not.
    #[schema(value_type = String, format = DateTime)]
    pub first_seen: Timestamp,
    /// Begin of the last minute with a failure, or `first_seen` if that is later.
    #[schema(value_type = String, format = DateTime)]
    pub last_seen: Timestamp,
    /// Failures of each minute of the window, the oldest first.
    pub per_minute: Vec<i64>,
}
