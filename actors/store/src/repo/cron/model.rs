//! Requests to the ledger, and their results.

use std::collections::BTreeMap;

use chrono::NaiveDateTime;
use serde::Serialize;
use svc_ledger::{ClaimKey, HeldSlot, Missed, Singleton, Trigger};
use svc_model::Timestamp;
use uuid::Uuid;

use crate::repo::AnyOf;
use crate::repo::keyset::CursorKind;
use crate::repo::traces::{CancelStep, NewTrace};

/// The facts about its channel that a row keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelFacts {
    pub channel_id: String,
    /// Its current name.
    pub channel_name: String,
    /// The version that is being scheduled.
    pub channel_version: i64,
    /// The workflow it is bound to.
    pub workflow_id: Option<String>,
}

/// Instants to record, and the move of the cursor past them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaterialiseRequest {
    pub channel: ChannelFacts,
    /// Position of the cursor as the caller knows it, in UTC.
    pub from: NaiveDateTime,
    /// New position of the cursor, in UTC.
    pub next: NaiveDateTime,
    /// Instants that run, oldest first, in UTC.
    pub fire: Vec<NaiveDateTime>,
    /// Instants that do not run.
    pub missed: Option<Missed>,
    /// Limit on concurrent runs, if the channel has one: a run that could not begin now is skipped at once.
    pub singleton: Option<Singleton>,
}

/// Maximum number of instants of a request that is made together with others.
const MOST_GROUPED_INSTANTS: usize = 4;

impl MaterialiseRequest {
    /// Returns true if the request can share a transaction with others: it has few instants, none was missed, and there is
    /// no concurrency key.
    pub fn fits_group(&self) -> bool {
        self.fire.len() <= MOST_GROUPED_INSTANTS && self.missed.is_none() && self.singleton.is_none()
    }
}

/// The request for the facts about an instant of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstantRequest {
    pub channel_id: String,
    pub channel_name: String,
    /// The instant, in UTC; `None` for now.
    pub at: Option<NaiveDateTime>,
    /// The concurrency key of the channel, if it limits concurrent runs.
    pub singleton_key: Option<String>,
}

/// The result of an alignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlignOutcome {
    /// The cursor after the alignment.
    At(svc_ledger::Cursor),
    /// The version of the channel is not active: it was archived, deleted or replaced. Nothing was written.
    NotActive,
}

/// The result of recording instants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaterialiseOutcome {
    /// The instants are recorded.
    Written {
        /// Rows that wait for a worker.
        inserted: usize,
        /// Rows skipped at once because their concurrency key is held.
        skipped: usize,
    },
    /// The cursor is at another position, is paused, or belongs to a newer version. Nothing was written.
    Moved(svc_ledger::Cursor),
    /// There is no cursor. Nothing was written.
    Gone,
}

/// A claimed row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OccurrenceClaim {
    /// The fencing token of every later write.
    pub key: ClaimKey,
    pub channel_id: String,
    /// Name of the channel when the row was written.
    pub channel_name: String,
    /// The version that wrote the row.
    pub channel_version: i64,
    /// The workflow it was bound to at that time.
    pub workflow_id: Option<String>,
    /// The trigger of the occurrence.
    pub trigger: Trigger,
    /// The instant at which it is due, in UTC.
    pub scheduled_for: NaiveDateTime,
    /// True if the claim incremented the number of attempts.
    pub raised: bool,
    /// True if the row was taken over from an expired lease.
    pub recovered: bool,
    /// Version of that workflow that the attempt runs; `None` for the one that serves.
    pub workflow_version: Option<i64>,
}

/// The result of a claim by a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimBatch {
    /// Claimed rows, oldest first.
    pub claimed: Vec<OccurrenceClaim>,
    /// Rows with too many expired leases. They are not claimed; [`Ledger::exhaust`](super::Ledger::exhaust)
    /// fails them.
    pub exhausted: Vec<ExhaustedOccurrence>,
    /// Time of the database clock, in UTC.
    pub now: NaiveDateTime,
}

/// A row with too many expired leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExhaustedOccurrence {
    pub id: Uuid,
    pub channel_id: String,
    /// Name of the channel when the row was written.
    pub channel_name: String,
    /// Trace of the last run, if one began.
    pub trace_id: Option<Uuid>,
    /// The error message that the row gets.
    pub message: String,
}

/// The result of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartResult {
    /// The occurrence runs.
    Running {
        /// The slot it holds.
        slot: Option<HeldSlot>,
        /// Start of the run, in UTC.
        started_at: NaiveDateTime,
    },
    /// No slot was free; the row is skipped.
    Saturated,
    /// No slot was free; the row waits for one.
    Waits,
    /// The occurrence is to be cancelled; nothing was written, and the holder ends it.
    Cancelled {
        /// True if the occurrence is to be reported as failed.
        reports: bool,
    },
    /// The claim is no longer valid; nothing was written.
    Lost,
}

/// A filter on occurrences. All given conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OccurrenceFilter {
    pub channel_id: Option<AnyOf>,
    /// Name of the channel when the row was written.
    pub channel: Option<AnyOf>,
    /// Tags, of which the channel has one.
    pub tag: Option<AnyOf>,
    /// Name of the status.
    pub status: Option<AnyOf>,
    /// Id of the workflow that the channel had when the row was written.
    pub workflow: Option<AnyOf>,
    /// Versions of the channel that ran it; any if there are none.
    pub versions: Vec<i64>,
    /// Task whose error the failure is.
    pub task: Option<AnyOf>,
    pub error_code: Option<AnyOf>,
    /// Group of the failure.
    pub error_group: Option<AnyOf>,
    /// Id of the trace of the latest run.
    pub trace_id: Option<AnyOf>,
    /// Key of the runs: the id of the occurrence.
    pub run_key: Option<AnyOf>,
    /// Due at this instant or later.
    pub since: Option<Timestamp>,
    /// Due at this instant or earlier.
    pub until: Option<Timestamp>,
    /// True to list the oldest first.
    pub oldest_first: bool,
    /// True to count the rows by status.
    pub include_counts: bool,
    /// True to leave out the number of all rows.
    pub without_total: bool,
}

impl OccurrenceFilter {
    pub(super) const fn cursor_kind(&self) -> CursorKind {
        if self.oldest_first { CursorKind::OccurrencesOldestFirst } else { CursorKind::Occurrences }
    }
}

/// An order to cancel an occurrence.
#[derive(Clone, Debug, PartialEq)]
pub struct OccurrenceCancel {
    /// Id of the occurrence.
    pub id: String,
    /// The principal who gives it.
    pub principal: String,
    /// True if the occurrence is to be reported as failed.
    pub reports: bool,
    /// The report, if its channel names a receiver; accepted only if the occurrence ends at once.
    pub report: Option<NewTrace>,
}

/// An order to cancel an occurrence that is not carried out yet, as far as it concerns one holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOccurrenceCancel {
    /// Id of the occurrence.
    pub id: Uuid,
    /// The principal who gave it.
    pub principal: String,
    /// True if the occurrence is to be reported as failed.
    pub reports: bool,
    /// The next step.
    pub step: CancelStep,
}

/// A page of occurrences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OccurrencePage {
    pub rows: Vec<OccurrenceRow>,
    /// Number of matching rows on all pages, unless it is left out.
    pub total: Option<i64>,
    /// Number of rows by status, if requested.
    pub counts: Option<BTreeMap<String, i64>>,
    /// Cursor of the next page; `None` on the last one.
    pub next_cursor: Option<String>,
    /// The instant up to which rows were read, for a page that is not full although more may match.
    pub scanned_until: Option<Timestamp>,
}

/// An occurrence as it appears in lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OccurrenceRow {
    pub id: String,
    pub channel_id: String,
    /// Name of the channel when the row was written.
    pub channel_name: String,
    /// Name of the [`Trigger`].
    pub trigger: String,
    /// Instant at which it is due.
    pub scheduled_for: Timestamp,
    /// Name of the [`OccurrenceStatus`](svc_ledger::OccurrenceStatus), or any other text of the row.
    pub status: String,
    /// Number of attempts that ran or were requested.
    pub attempt: i64,
    /// Start of the latest run.
    pub started_at: Option<Timestamp>,
    /// End of the occurrence.
    pub completed_at: Option<Timestamp>,
    /// Group of the failure.
    pub error_group: Option<String>,
    /// Instant at which the row was recorded.
    pub created_at: Timestamp,
}

/// An occurrence with all its details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OccurrenceRecord {
    /// The fields that lists show.
    #[serde(flatten)]
    pub row: OccurrenceRow,
    /// Version of the channel that wrote the row.
    pub channel_version: i64,
    /// Version that ran it.
    pub executing_version: Option<i64>,
    /// The workflow it was bound to when the row was written.
    pub workflow_id: Option<String>,
    /// The current or last holder.
    pub claimed_by: Option<String>,
    /// End of the lease.
    pub claimed_until: Option<Timestamp>,
    /// Concurrency key it holds, or held last.
    pub singleton_key: Option<String>,
    /// Number of takeovers of the slot.
    pub fencing_token: Option<i64>,
    /// Number of the slot of the key.
    pub singleton_slot: Option<i64>,
    /// Trace of the latest run.
    pub trace_id: Option<String>,
    /// Reason for the failure or the skip.
    pub error_message: Option<String>,
    /// Instant of the order to cancel it.
    pub cancel_requested_at: Option<Timestamp>,
    /// The principal who gave that order.
    pub cancelled_by: Option<String>,
    /// Version of the workflow that its attempts run; `None` for the one that serves.
    pub workflow_version: Option<i64>,
    /// Instant of the last write of the row.
    pub updated_at: Timestamp,
}

/// The state of a schedule in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleStatus {
    pub channel_id: String,
    /// The next instant.
    pub next_fire_at: Timestamp,
    /// Start of the pause; `None` while the schedule runs.
    pub paused_at: Option<Timestamp>,
    /// Status of the newest occurrence.
    pub last_status: Option<String>,
    /// Instant at which the newest occurrence was due.
    pub last_scheduled_for: Option<Timestamp>,
    /// End of the newest occurrence.
    pub last_completed_at: Option<Timestamp>,
    /// Occurrences that wait for a worker.
    pub pending: i64,
}

/// The occurrences that wait for a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of pending occurrences.
    pub pending: i64,
    /// Time in seconds for which the oldest of them has been due.
    pub oldest_pending_secs: Option<i64>,
}
