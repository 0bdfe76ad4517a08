//! Actions on many rows, and backfills of schedules.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_model::Timestamp;
use utoipa::ToSchema;

use crate::names::{bulk_action, bulk_kind, bulk_state};

/// An action on many rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BulkRequest {
    /// The kind of the rows.
    #[schema(schema_with = bulk_kind)]
    pub kind: String,
    /// The action: `requeue` or `purge` dead letters, `retry` or `cancel` occurrences, `cancel` or `rerun` traces.
    #[schema(schema_with = bulk_action)]
    pub action: String,
    /// The words of the list of that kind, each with a value or a list of values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub filter: Option<Value>,
    /// Rows a second, 500 unless given; 0 for no pace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0)]
    pub rate_per_second: Option<u32>,
    /// `true` to show the number of the rows and some of them, and to do nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub dry_run: Option<bool>,
    /// `true` to permit an empty filter, which selects every row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub all: Option<bool>,
}

/// A row that a bulk run would act on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BulkSample {
    /// Its id.
    pub id: String,
    /// Name of the channel.
    pub channel: String,
    /// Its status; `null` for a dead letter.
    #[schema(required = true)]
    pub status: Option<String>,
    /// Reason of its failure, if the list shows it.
    #[schema(required = true)]
    pub error: Option<String>,
    /// Instant at which the row was written.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// The rows that a bulk run would act on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BulkDryRun {
    /// Number of the rows that match.
    pub matched: i64,
    /// The oldest of them, at most twenty.
    pub samples: Vec<BulkSample>,
}

/// A bulk run that began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BulkStarted {
    /// Id of the run.
    pub id: String,
    /// Number of instants; of a backfill alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub planned: Option<usize>,
}

/// A row at which the action failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = BulkError)]
pub struct BulkErrorDetail {
    /// Id of the row.
    pub id: String,
    /// The reason.
    pub message: String,
}

/// The progress of a bulk run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = BulkRun)]
pub struct BulkRunDetail {
    /// Its id.
    pub id: String,
    /// The kind of the rows.
    #[schema(schema_with = bulk_kind)]
    pub kind: String,
    /// The action; `backfill` for a backfill.
    #[schema(schema_with = bulk_action)]
    pub action: String,
    /// The filter, with instants in place of times ago; of a backfill the channel and the range.
    #[schema(value_type = Object)]
    pub filter: Value,
    /// Rows a second; 0 for no pace.
    pub rate_per_second: i64,
    /// `running`; `aborting` until its driver has noticed; `aborted`, `completed` or `failed` once it has ended.
    #[schema(schema_with = bulk_state)]
    pub state: String,
    /// Number of the rows that matched at its start.
    pub matched: i64,
    /// Number of the rows on which it acted.
    pub done: i64,
    /// Number of the rows at which the action failed.
    pub failed: i64,
    /// Number of the rows that changed since they matched.
    pub skipped: i64,
    /// The first failures, at most a hundred.
    pub errors: Vec<BulkErrorDetail>,
    /// The reason of a run that failed.
    #[schema(required = true)]
    pub reason: Option<String>,
    /// The node that drives it, or did last.
    #[schema(required = true)]
    pub node: Option<String>,
    /// The principal that started it.
    pub started_by: String,
    /// Its start by the clock of the database. It acts on rows that matched then.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// Its end.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub ended_at: Option<Timestamp>,
}

/// A range of instants of a schedule that are to be made up for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BackfillRequest {
    /// The first instant, inclusive.
    #[schema(value_type = String, format = DateTime)]
    pub from: Timestamp,
    /// The last instant, inclusive.
    #[schema(value_type = String, format = DateTime)]
    pub until: Timestamp,
    /// `true` to list the instants, and to do nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub dry_run: Option<bool>,
    /// Occurrences of the backfill that may be open at the same time, 1 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1, maximum = 64)]
    pub max_parallel: Option<u32>,
    /// `true` to take instants before the oldest kept occurrence as missed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub assume_missed: Option<bool>,
}

/// The instants that a backfill would put on record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BackfillDryRun {
    /// Their number.
    pub planned: usize,
    /// The instants, ascending.
    #[schema(value_type = Vec<String>)]
    pub instants: Vec<Timestamp>,
}
