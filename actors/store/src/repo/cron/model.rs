//! The requests to the ledger and its results.

use chrono::NaiveDateTime;
use serde::Serialize;
use svc_ledger::{ClaimKey, HeldSlot, Missed, Singleton, Trigger};
use svc_model::Timestamp;
use uuid::Uuid;

/// The columns of a channel that an occurrence copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelFacts {
    /// Its id.
    pub channel_id: String,
    /// Its name now.
    pub channel_name: String,
    /// The version that is being scheduled.
    pub channel_version: i64,
    /// The workflow it is bound to.
    pub workflow_id: Option<String>,
}

/// Instants to be put on record, and how far the cursor moves with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaterialiseRequest {
    /// The channel.
    pub channel: ChannelFacts,
    /// Position of the cursor as the caller knows it, in UTC.
    pub from: NaiveDateTime,
    /// New position of the cursor, in UTC.
    pub next: NaiveDateTime,
    /// Instants that run, oldest first, in UTC.
    pub fire: Vec<NaiveDateTime>,
    /// Instants that do not.
    pub missed: Option<Missed>,
    /// Concurrency key, if runs beside each other are forbidden: a run that could not begin now is skipped at once.
    pub singleton: Option<Singleton>,
}

/// The result of aligning a cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlignOutcome {
    /// There.
    At(svc_ledger::Cursor),
    /// Nowhere: that version of the channel is not active. It was archived, deleted or followed by another one.
    NotActive,
}

/// The result of writing occurrences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaterialiseOutcome {
    /// It is on record.
    Written {
        /// Rows that wait for a worker.
        inserted: usize,
        /// Rows skipped at once, because their concurrency key is held.
        skipped: usize,
    },
    /// The cursor stands elsewhere, is paused, or belongs to a newer version; nothing was written.
    Moved(svc_ledger::Cursor),
    /// There is no cursor; nothing was written.
    Gone,
}

/// A row in the hands of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OccurrenceClaim {
    /// The fence of every later write.
    pub key: ClaimKey,
    /// The channel.
    pub channel_id: String,
    /// Its name when the row was written.
    pub channel_name: String,
    /// The version that wrote the row.
    pub channel_version: i64,
    /// The workflow it was bound to then.
    pub workflow_id: Option<String>,
    /// Origin of the occurrence.
    pub trigger: Trigger,
    /// Instant at which it is due, in UTC.
    pub scheduled_for: NaiveDateTime,
    /// True if the claim raised the attempt number.
    pub raised: bool,
    /// True if the claim took the row over from an expired lease.
    pub recovered: bool,
}

/// The result of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimBatch {
    /// Rows that are its own now, oldest first.
    pub claimed: Vec<OccurrenceClaim>,
    /// Rows that had too many leases end and have failed.
    pub exhausted: Vec<ExhaustedOccurrence>,
    /// The database clock, in UTC.
    pub now: NaiveDateTime,
}

/// A row that had too many leases end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExhaustedOccurrence {
    /// Its id.
    pub id: Uuid,
    /// The channel.
    pub channel_id: String,
    /// Its name when the row was written.
    pub channel_name: String,
    /// Its error message.
    pub message: String,
}

/// The outcome of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartResult {
    /// It runs.
    Running {
        /// The slot it holds.
        slot: Option<HeldSlot>,
        /// Since when, in UTC.
        started_at: NaiveDateTime,
    },
    /// No slot was free: the row is skipped.
    Saturated,
    /// The claim does not count any more; nothing was written.
    Lost,
}

/// The filter of a list of occurrences. All given conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OccurrenceFilter {
    /// Id of the channel.
    pub channel_id: Option<String>,
    /// Status of the occurrence.
    pub status: Option<String>,
    /// Due at this instant or later.
    pub since: Option<Timestamp>,
    /// Due at this instant or earlier.
    pub until: Option<Timestamp>,
}

/// One page of occurrences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OccurrencePage {
    /// The rows.
    pub rows: Vec<OccurrenceRow>,
    /// Rows that match, on all pages.
    pub total: i64,
    /// Cursor of the next page; `None` on the last.
    pub next_cursor: Option<String>,
}

/// An occurrence as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OccurrenceRow {
    /// Its id.
    pub id: String,
    /// The channel.
    pub channel_id: String,
    /// Its name when the row was written.
    pub channel_name: String,
    /// Name of the [`Trigger`] that created the occurrence.
    pub trigger: String,
    /// Instant at which it is due.
    pub scheduled_for: Timestamp,
    /// Name of an [`OccurrenceStatus`](svc_ledger::OccurrenceStatus), or the stored text if it is another one.
    pub status: String,
    /// Attempts that ran or were asked for.
    pub attempt: i64,
    /// Start of the latest attempt.
    pub started_at: Option<Timestamp>,
    /// End of the latest attempt.
    pub completed_at: Option<Timestamp>,
    /// Time at which the row was written.
    pub created_at: Timestamp,
}

/// An occurrence with everything that is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OccurrenceRecord {
    /// The columns that lists show.
    #[serde(flatten)]
    pub row: OccurrenceRow,
    /// Version of the channel that wrote the row.
    pub channel_version: i64,
    /// Version that ran it.
    pub executing_version: Option<i64>,
    /// The workflow it was bound to when the row was written.
    pub workflow_id: Option<String>,
    /// Holder of the claim, now or last.
    pub claimed_by: Option<String>,
    /// Until when.
    pub claimed_until: Option<Timestamp>,
    /// Concurrency key it holds, or held last.
    pub singleton_key: Option<String>,
    /// Counts who took the slot over.
    pub fencing_token: Option<i64>,
    /// Number of the slot of the key.
    pub singleton_slot: Option<i64>,
    /// Trace of the latest run.
    pub trace_id: Option<String>,
    /// Why it failed or was skipped.
    pub error_message: Option<String>,
    /// Time of the latest write of the row.
    pub updated_at: Timestamp,
}

/// The status of a schedule in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleStatus {
    /// The channel.
    pub channel_id: String,
    /// The next instant.
    pub next_fire_at: Timestamp,
    /// Since when it stands still.
    pub paused_at: Option<Timestamp>,
    /// Status of the newest occurrence.
    pub last_status: Option<String>,
    /// Instant at which the newest occurrence was due.
    pub last_scheduled_for: Option<Timestamp>,
    /// End of the latest attempt.
    pub last_completed_at: Option<Timestamp>,
    /// Occurrences that wait for a worker.
    pub pending: i64,
}

/// The occurrences that wait for a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Occurrences that are pending.
    pub pending: i64,
    /// For how long the oldest of them has been due, in seconds.
    pub oldest_pending_secs: Option<i64>,
}
