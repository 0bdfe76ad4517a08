//! Schedules and their occurrences.

use std::collections::BTreeMap;

use serde_json::Value;
use svc_model::Timestamp;

use crate::api_types::api_types;
use crate::entities::channels::PauseDetail;
use crate::names::{next_instants, rerun_version};

api_types! {
    /// An occurrence as it appears in lists.
    #[derive(Eq)]
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
        pub scheduled_for: Timestamp,
        /// `pending`, `claimed`, `running`, `completed`, `failed`, `skipped_misfire`, `skipped_singleton` or `cancelled`; more
        /// may follow.
        pub status: String,
        /// Number of attempts that ran or were requested.
        pub attempt: i64,
        /// Start of the latest run.
        pub started_at: nullable Timestamp,
        /// End of the occurrence.
        pub completed_at: nullable Timestamp,
        /// Group of the failure, as the list of errors names it.
        pub error_group: nullable String,
        /// Instant at which the row was recorded.
        pub created_at: Timestamp,
    }

    /// An occurrence with all its details.
    #[derive(Eq)]
    #[schema(as = Occurrence)]
    pub struct OccurrenceDetail {
        /// The fields that lists show.
        #[serde(flatten)]
        pub summary: OccurrenceSummary,
        /// Version of the channel that wrote the row.
        pub channel_version: i64,
        /// Version that ran it.
        pub executing_version: nullable i64,
        /// The workflow it was bound to when the row was written.
        pub workflow_id: nullable String,
        /// The current or last holder.
        pub claimed_by: nullable String,
        /// End of the lease.
        pub claimed_until: nullable Timestamp,
        /// Concurrency key it holds, or held last.
        pub singleton_key: nullable String,
        /// Number of takeovers of the slot.
        pub fencing_token: nullable i64,
        /// Number of the slot of the key.
        pub singleton_slot: nullable i64,
        /// Trace of the latest run.
        pub trace_id: nullable String,
        /// Reason for the failure or the skip.
        pub error_message: nullable String,
        /// Instant of the order to cancel it.
        pub cancel_requested_at: optional Timestamp,
        /// The principal who cancelled it.
        pub cancelled_by: optional String,
        /// Version of the workflow that its attempts run since its retry; absent for the one that serves.
        pub workflow_version: optional i64,
        /// Instant of the last write of the row.
        pub updated_at: Timestamp,
    }

    /// The body of a retry.
    #[schema(as = OccurrenceRetry)]
    pub struct OccurrenceRetryRequest {
        /// The version of the workflow: `same`, `current` or a number; `current` if absent.
        #[schema(schema_with = rerun_version)]
        pub version: Value,
    }

    /// A page of occurrences.
    #[derive(Eq)]
    #[schema(as = OccurrencePage)]
    pub struct OccurrenceListEnvelope {
        /// The rows of the page.
        pub data: Vec<OccurrenceSummary>,
        /// Number of matching rows on all pages, but for `include_total=false`.
        pub total: optional i64,
        /// The applied limit.
        pub limit: i64,
        /// The applied offset.
        pub offset: i64,
        /// Number of rows by status, with `include_counts=true`.
        pub counts: optional BTreeMap<String, i64>,
        /// Cursor of the next page, if more rows may follow.
        pub next_cursor: optional String,
        /// The instant up to which rows were read, if that many were read that the page is not full.
        pub scanned_until: optional Timestamp,
    }

    /// The state of a schedule that this node has loaded.
    #[derive(Eq)]
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
        pub next_fire_at: nullable Timestamp,
        /// Start of the pause; `null` while the schedule runs.
        pub paused_at: nullable Timestamp,
        /// The pause of the channel by an operator: instants are on record when it ends.
        pub paused: optional PauseDetail,
        /// Status of the newest occurrence.
        pub last_status: nullable String,
        /// Instant at which the newest occurrence was due.
        pub last_scheduled_for: nullable Timestamp,
        /// End of the newest occurrence.
        pub last_completed_at: nullable Timestamp,
        /// Occurrences that wait for a worker.
        pub pending: i64,
        /// `allow` or `forbid`.
        pub concurrency_policy: String,
        /// The concurrency key; only under `forbid`.
        pub singleton_key: optional String,
        /// Number of runs that may share the key; only under `forbid`.
        pub slots: optional u32,
        /// Number of runs that share it now; only under `forbid`.
        pub slots_held: optional i64,
        /// The next instants.
        #[schema(schema_with = next_instants)]
        pub next_fires: Vec<Timestamp>,
    }

    /// The explanation of an instant of a schedule.
    #[derive(Eq)]
    pub struct ScheduleExplanation {
        /// Id of the channel.
        pub channel_id: String,
        /// Name of the channel.
        pub channel_name: String,
        /// The instant that is explained.
        pub at: Timestamp,
        /// The status of the occurrence that has the reason; without one `not_due`, `ahead`, `archived`,
        /// `quarantined`, `paused`, `unplanned` (due, and not on record yet), `expired` (older than the rows that are kept) or
        /// `not_recorded` (the schedule passed it without a record).
        pub reason: String,
        /// The reason in one sentence.
        pub sentence: String,
        /// `true` if the schedule, as it is now, names the instant; `null` if it cannot be read.
        pub due: nullable bool,
        /// The occurrence that has the reason: that of the instant, or the row of the missed instants that it is one of.
        pub occurrence: optional OccurrenceExcerpt,
        /// Place of a pending occurrence among all that wait for a worker, from 1.
        pub position: optional i64,
        /// The runs that hold the slots of the concurrency key; of a skipped occurrence those that held them then.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub holders: Vec<SlotHolderDetail>,
        /// The last occurrence before the instant.
        pub previous: optional OccurrenceExcerpt,
        /// The next instant of the schedule.
        pub next: nullable Timestamp,
        /// Number of the version that serves; `null` for a channel that is archived or was never activated.
        pub active_version: nullable i64,
        /// Time since which it serves.
        pub active_since: optional Timestamp,
        /// The pause of the channel.
        pub paused: optional PauseDetail,
        /// Reason of the quarantine of the channel on the node that answers.
        pub quarantined: optional String,
        /// The position of the schedule in the ledger; absent until the schedule is planned for the first time.
        pub cursor: optional CursorDetail,
        /// The clocks of the database, by which schedules run, and of the node that answers.
        pub clock: ClockComparison,
    }

    /// An occurrence, as far as an explanation shows it.
    #[derive(Eq)]
    pub struct OccurrenceExcerpt {
        /// Its id.
        pub id: String,
        /// Instant at which it is due.
        pub scheduled_for: Timestamp,
        /// `cron` or `manual`.
        pub trigger: String,
        /// Its status.
        pub status: String,
        /// Number of attempts that ran or were requested.
        pub attempt: i64,
        /// The current or last holder.
        pub claimed_by: optional String,
        /// End of the lease.
        pub claimed_until: optional Timestamp,
        /// Trace of the latest run.
        pub trace_id: optional String,
        /// Reason for the failure or the skip.
        pub error_message: optional String,
        /// Start of the latest run.
        pub started_at: optional Timestamp,
        /// End of the occurrence.
        pub completed_at: optional Timestamp,
    }

    /// A run that holds or held a slot of the concurrency key.
    #[derive(Eq)]
    #[schema(as = SlotHolder)]
    pub struct SlotHolderDetail {
        /// Id of its occurrence.
        pub occurrence_id: String,
        /// Name of its channel when its row was written.
        pub channel_name: String,
        /// The worker that runs it, or ran it.
        pub claimed_by: optional String,
        /// Start of its run.
        pub started_at: optional Timestamp,
        /// End of its run; absent while it runs.
        pub completed_at: optional Timestamp,
    }

    /// The position of a schedule: every earlier instant is on record, no later one is.
    #[derive(Eq)]
    #[schema(as = ScheduleCursor)]
    pub struct CursorDetail {
        /// The next instant to record.
        pub next_fire_at: Timestamp,
        /// Time since which it is stopped, because the channel was archived or no node moved it.
        pub paused_at: optional Timestamp,
    }

    /// The clock of the database, compared with that of the node.
    #[derive(Eq)]
    pub struct ClockComparison {
        /// Time of the database.
        pub database: Timestamp,
        /// Milliseconds by which the clock of the node is ahead of it; 0 if the difference is less than the time of
        /// the answer.
        pub offset_ms: i64,
        /// `true` if they differ by more than a second.
        pub is_off: bool,
    }
}
