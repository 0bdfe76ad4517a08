//! Schedules and their occurrences.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_model::Timestamp;
use utoipa::ToSchema;

use crate::entities::channels::PauseDetail;
use crate::names::{next_instants, rerun_version};

/// An occurrence as it appears in lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OccurrenceSummary {
    /// Its id.
    pub id: String,
    /// Id of the channel.
    pub channel_id: String,
    /// Name of the channel when the row was written.
    pub channel_name: String,
    /// `cron`, `manual` or `backfill`.
    pub trigger: String,
    /// Instant at which it is due.
    #[schema(value_type = String, format = DateTime)]
    pub scheduled_for: Timestamp,
    /// `pending`, `claimed`, `running`, `completed`, `failed`, `skipped_misfire`, `skipped_singleton` or `cancelled`; more
    /// may follow.
    pub status: String,
    /// Number of attempts that ran or were requested.
    pub attempt: i64,
    /// Start of the latest run.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub started_at: Option<Timestamp>,
    /// End of the occurrence.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub completed_at: Option<Timestamp>,
    /// Group of the failure, as the list of errors names it.
    #[schema(required = true)]
    pub error_group: Option<String>,
    /// Instant at which the row was recorded.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// An occurrence with all its details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Occurrence)]
pub struct OccurrenceDetail {
    /// The fields that lists show.
    #[serde(flatten)]
    pub summary: OccurrenceSummary,
    /// Version of the channel that wrote the row.
    pub channel_version: i64,
    /// Version that ran it.
    #[schema(required = true)]
    pub executing_version: Option<i64>,
    /// The workflow it was bound to when the row was written.
    #[schema(required = true)]
    pub workflow_id: Option<String>,
    /// The current or last holder.
    #[schema(required = true)]
    pub claimed_by: Option<String>,
    /// End of the lease.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub claimed_until: Option<Timestamp>,
    /// Concurrency key it holds, or held last.
    #[schema(required = true)]
    pub singleton_key: Option<String>,
    /// Number of takeovers of the slot.
    #[schema(required = true)]
    pub fencing_token: Option<i64>,
    /// Number of the slot of the key.
    #[schema(required = true)]
    pub singleton_slot: Option<i64>,
    /// Trace of the latest run.
    #[schema(required = true)]
    pub trace_id: Option<String>,
    /// Reason for the failure or the skip.
    #[schema(required = true)]
    pub error_message: Option<String>,
    /// Instant of the order to cancel it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub cancel_requested_at: Option<Timestamp>,
    /// The principal who cancelled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cancelled_by: Option<String>,
    /// Version of the workflow that its attempts run since its retry; absent for the one that serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub workflow_version: Option<i64>,
    /// Instant of the last write of the row.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

/// The body of a retry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = OccurrenceRetry)]
pub struct OccurrenceRetryRequest {
    /// The version of the workflow: `same`, `current` or a number; `current` if absent.
    #[schema(schema_with = rerun_version)]
    pub version: Value,
}

/// A page of occurrences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = OccurrencePage)]
pub struct OccurrenceListEnvelope {
    /// The rows of the page.
    pub data: Vec<OccurrenceSummary>,
    /// Number of matching rows on all pages, but for `include_total=false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub total: Option<i64>,
    /// The applied limit.
    pub limit: i64,
    /// The applied offset.
    pub offset: i64,
    /// Number of rows by status, with `include_counts=true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub counts: Option<BTreeMap<String, i64>>,
    /// Cursor of the next page, where more rows may follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next_cursor: Option<String>,
    /// The instant up to which rows were read, if that many were read that the page is not full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub scanned_until: Option<Timestamp>,
}

/// The state of a schedule that this node has loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = CronStatus)]
pub struct ScheduleSummary {
    /// Id of the channel.
    pub channel_id: String,
    /// Name of the channel.
    pub channel_name: String,
    /// The expression as it was written.
    pub schedule: String,
    /// The time zone.
    pub timezone: String,
    /// The next instant; `null` until the schedule is planned for the first time.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub next_fire_at: Option<Timestamp>,
    /// Start of the pause; `null` while the schedule runs.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub paused_at: Option<Timestamp>,
    /// Status of the newest occurrence.
    #[schema(required = true)]
    pub last_status: Option<String>,
    /// Instant at which the newest occurrence was due.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub last_scheduled_for: Option<Timestamp>,
    /// End of the newest occurrence.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub last_completed_at: Option<Timestamp>,
    /// Occurrences that wait for a worker.
    pub pending: i64,
    /// `allow` or `forbid`.
    pub concurrency_policy: String,
    /// The concurrency key; only under `forbid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub singleton_key: Option<String>,
    /// Number of runs that may share the key; only under `forbid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub slots: Option<u32>,
    /// Number of runs that share it now; only under `forbid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub slots_held: Option<i64>,
    /// The next instants.
    #[schema(schema_with = next_instants)]
    pub next_fires: Vec<Timestamp>,
}

/// The explanation of an instant of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleExplanation {
    /// Id of the channel.
    pub channel_id: String,
    /// Name of the channel.
    pub channel_name: String,
    /// The instant that is explained.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The status of the occurrence that has the reason; without one `not_due`, `ahead`, `archived`,
    /// `quarantined`, `paused`, `unplanned` (due, and not on record yet), `expired` (older than the rows that are kept) or
    /// `not_recorded` (the schedule passed it without a record).
    pub reason: String,
    /// The reason in one sentence.
    pub sentence: String,
    /// `true` if the schedule, as it is now, names the instant; `null` if it cannot be read.
    #[schema(required = true)]
    pub due: Option<bool>,
    /// The occurrence that has the reason: that of the instant, or the row of the missed instants that it is one of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub occurrence: Option<OccurrenceExcerpt>,
    /// Place of a pending occurrence among all that wait for a worker, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub position: Option<i64>,
    /// The runs that hold the slots of the concurrency key; of a skipped occurrence those that held them then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<SlotHolderDetail>,
    /// The last occurrence before the instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub previous: Option<OccurrenceExcerpt>,
    /// The next instant of the schedule.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub next: Option<Timestamp>,
    /// Number of the version that serves; `null` for a channel that is archived or was never activated.
    #[schema(required = true)]
    pub active_version: Option<i64>,
    /// Time since which it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub active_since: Option<Timestamp>,
    /// The pause of the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub paused: Option<PauseDetail>,
    /// Reason of the quarantine of the channel on the node that answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub quarantined: Option<String>,
    /// The position of the schedule in the ledger; absent until the schedule is planned for the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cursor: Option<CursorDetail>,
    /// The clocks of the database, by which schedules run, and of the node that answers.
    pub clock: ClockComparison,
}

/// An occurrence, as far as an explanation shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OccurrenceExcerpt {
    /// Its id.
    pub id: String,
    /// Instant at which it is due.
    #[schema(value_type = String, format = DateTime)]
    pub scheduled_for: Timestamp,
    /// `cron` or `manual`.
    pub trigger: String,
    /// Its status.
    pub status: String,
    /// Number of attempts that ran or were requested.
    pub attempt: i64,
    /// The current or last holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub claimed_by: Option<String>,
    /// End of the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub claimed_until: Option<Timestamp>,
    /// Trace of the latest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub trace_id: Option<String>,
    /// Reason for the failure or the skip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error_message: Option<String>,
    /// Start of the latest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub started_at: Option<Timestamp>,
    /// End of the occurrence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub completed_at: Option<Timestamp>,
}

/// A run that holds or held a slot of the concurrency key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = SlotHolder)]
pub struct SlotHolderDetail {
    /// Id of its occurrence.
    pub occurrence_id: String,
    /// Name of its channel when its row was written.
    pub channel_name: String,
    /// The worker that runs it, or ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub claimed_by: Option<String>,
    /// Start of its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub started_at: Option<Timestamp>,
    /// End of its run; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub completed_at: Option<Timestamp>,
}

/// The position of a schedule: every earlier instant is on record, no later one is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ScheduleCursor)]
pub struct CursorDetail {
    /// The next instant to record.
    #[schema(value_type = String, format = DateTime)]
    pub next_fire_at: Timestamp,
    /// Time since which it is stopped, because the channel was archived or no node moved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub paused_at: Option<Timestamp>,
}

/// The clock of the database, compared with that of the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClockComparison {
    /// Time of the database.
    #[schema(value_type = String, format = DateTime)]
    pub database: Timestamp,
    /// Milliseconds by which the clock of the node is ahead of it; 0 if the difference is less than the time of
    /// the answer.
    pub offset_ms: i64,
    /// `true` if they differ by more than a second.
    pub is_off: bool,
}
