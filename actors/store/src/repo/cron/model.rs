//! What is asked of the ledger, and what it answers.

use chrono::NaiveDateTime;
use serde::Serialize;
use svc_ledger::{ClaimKey, HeldSlot, Missed, Singleton, Trigger};
use svc_model::Timestamp;
use uuid::Uuid;

/// What a row keeps of the channel it belongs to.
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
    /// Where the cursor stands, as far as the caller knows, in UTC.
    pub from: NaiveDateTime,
    /// Where it moves, in UTC.
    pub next: NaiveDateTime,
    /// Instants that run, oldest first, in UTC.
    pub fire: Vec<NaiveDateTime>,
    /// Instants that do not.
    pub missed: Option<Missed>,
    /// Where runs beside each other are forbidden: a run that could not begin now is skipped at once.
    pub singleton: Option<Singleton>,
}

/// Where a schedule stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlignOutcome {
    /// There.
    At(svc_ledger::Cursor),
    /// Nowhere: that version of the channel is not active. It was archived, deleted or followed by another one.
    NotActive,
}

/// What became of it.
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
    /// How the occurrence came about.
    pub trigger: Trigger,
    /// When it is due, in UTC.
    pub scheduled_for: NaiveDateTime,
    /// Whether the claim raised the attempt.
    pub raised: bool,
    /// Whether it was taken over from a lease that had ended.
    pub recovered: bool,
}

/// What a worker got.
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
    /// What it says now.
    pub message: String,
}

/// What became of a start.
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

/// Which occurrences. All that are given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OccurrenceFilter {
    /// Id of the channel.
    pub channel_id: Option<String>,
    /// Where it stands.
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
    /// Where the next page begins; `None` on the last.
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
    /// How it came about: the name of a [`Trigger`].
    pub trigger: String,
    /// When it is due.
    pub scheduled_for: Timestamp,
    /// Where it stands: the name of a [`OccurrenceStatus`](svc_ledger::OccurrenceStatus), or what else the row says.
    pub status: String,
    /// Attempts that ran or were asked for.
    pub attempt: i64,
    /// When the latest run began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
    /// When it was put on record.
    pub created_at: Timestamp,
}

/// An occurrence with everything that is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OccurrenceRecord {
    /// What lists show.
    #[serde(flatten)]
    pub row: OccurrenceRow,
    /// Version of the channel that wrote the row.
    pub channel_version: i64,
    /// Version that ran it.
    pub executing_version: Option<i64>,
    /// The workflow it was bound to when the row was written.
    pub workflow_id: Option<String>,
    /// Who has it, or had it last.
    pub claimed_by: Option<String>,
    /// Until when.
    pub claimed_until: Option<Timestamp>,
    /// Concurrency key it holds, or held last.
    pub singleton_key: Option<String>,
    /// Counts who took the slot over.
    pub fencing_token: Option<i64>,
    /// Which slot of the key.
    pub singleton_slot: Option<i64>,
    /// Trace of the latest run.
    pub trace_id: Option<String>,
    /// Why it failed or was skipped.
    pub error_message: Option<String>,
    /// When the row was written last.
    pub updated_at: Timestamp,
}

/// What the ledger knows of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleStatus {
    /// The channel.
    pub channel_id: String,
    /// The next instant.
    pub next_fire_at: Timestamp,
    /// Since when it stands still.
    pub paused_at: Option<Timestamp>,
    /// Where the newest occurrence stands.
    pub last_status: Option<String>,
    /// When it was due.
    pub last_scheduled_for: Option<Timestamp>,
    /// When it ended.
    pub last_completed_at: Option<Timestamp>,
    /// Occurrences that wait for a worker.
    pub pending: i64,
}

/// What waits for a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Occurrences that are pending.
    pub pending: i64,
    /// For how long the oldest of them has been due, in seconds.
    pub oldest_pending_secs: Option<i64>,
}
