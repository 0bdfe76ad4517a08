//! The life cycle of an occurrence.
//!
//! ```text
//! pending ─claim→ claimed ─start→ running ─settle→ completed | failed
//!    ↑               ├─ no slot → skipped_singleton, or pending again for one that waits
//!    └── give back ──┴── lease expired: claimed again, or failed after too many recoveries
//! failed, skipped_misfire, skipped_singleton, cancelled ─retry→ pending
//! pending, claimed, running ─cancel→ cancelled: at once without a live lease, else by the holder, as it settles
//! ```

use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDateTime;
use svc_model::{ErrorGroup, RunEnd};
use uuid::Uuid;

use crate::lease_end;
use crate::slot::{ConcurrencySlot, HeldSlot, Singleton, acquire_slot};
use crate::status::OccurrenceStatus;

/// Time for which a row without a free slot is not claimed again.
const SLOT_WAIT: Duration = Duration::from_secs(1);

/// An occurrence, reduced to the columns that the rules read and write. Instants are UTC of the database
/// clock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Occurrence {
    /// Its id. A retry keeps it.
    pub id: Uuid,
    /// The instant at which it is due. It never changes.
    pub scheduled_for: NaiveDateTime,
    pub status: OccurrenceStatus,
    /// Number of attempts that ran or were requested.
    pub attempt: i64,
    /// True if the attempt of the next claim is already counted.
    pub attempt_counted: bool,
    /// Leases that expired without a result since the last retry.
    pub recoveries: i64,
    /// Number of claims so far, including those given back. Distinguishes a claim from earlier ones.
    pub claims: i64,
    /// The current or last holder.
    pub claimed_by: Option<String>,
    /// End of the lease.
    pub claimed_until: Option<NaiveDateTime>,
    /// The slot it holds, or held last.
    pub slot: Option<HeldSlot>,
    /// Version of the channel that runs it, or ran it last.
    pub executing_version: Option<i64>,
    /// Trace of the latest run.
    pub trace_id: Option<Uuid>,
    /// Reason for the failure or the skip.
    pub error_message: Option<String>,
    /// Id of the group of the failure.
    pub error_group: Option<String>,
    /// Start of the latest run.
    pub started_at: Option<NaiveDateTime>,
    /// End of the occurrence.
    pub completed_at: Option<NaiveDateTime>,
}

/// A claim as its holder remembers it. It is the fencing token of every later write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClaimKey {
    /// Id of the occurrence.
    pub id: Uuid,
    /// Name of the worker.
    pub holder: String,
    /// Number of the attempt that this claim makes.
    pub attempt: i64,
    /// Number of the claim on the row. The number of an attempt that was given back is used again; this one
    /// never is.
    pub claim: i64,
}

/// The result of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The caller holds the row.
    Taken {
        /// True if the claim incremented `attempt`.
        raised: bool,
        /// True if the row was taken over from an expired lease.
        recovered: bool,
    },
    /// Too many leases expired; the row has failed.
    Exhausted,
    /// The row is not due, has a holder, or has ended.
    Unavailable,
}

/// The parameters of a start.
#[derive(Clone, Copy, Debug)]
pub struct StartRequest<'a> {
    /// Version of the channel that runs it.
    pub version: i64,
    /// The concurrency key of the run with the rows of its slots, if the channel limits concurrent runs.
    pub singleton: Option<(&'a Singleton, &'a [ConcurrencySlot])>,
    /// True if a run without a free slot waits for one in place of being skipped.
    pub waits_for_slot: bool,
    /// Trace of the run.
    pub trace_id: Option<Uuid>,
    /// Length of the lease.
    pub lease: Duration,
    /// The current instant.
    pub now: NaiveDateTime,
}

/// The result of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartOutcome {
    /// The occurrence runs, with the slot row to be written.
    Running(Option<ConcurrencySlot>),
    /// No slot was free; the occurrence is skipped.
    Saturated,
    /// No slot was free; the occurrence waits for one.
    Waits,
    /// The claim is no longer valid; nothing changed.
    Lost,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// The end of the run.
    pub end: RunEnd,
    /// Reason of a failure.
    pub message: Option<String>,
    /// Group of a failure.
    pub error_group: Option<Arc<ErrorGroup>>,
}

impl Settlement {
    /// Returns the outcome of a run that succeeded.
    pub const fn completed() -> Self {
        Self { end: RunEnd::Completed, message: None, error_group: None }
    }

    /// Returns the outcome of a run that was cancelled.
    pub const fn cancelled() -> Self {
        Self { end: RunEnd::Cancelled, message: None, error_group: None }
    }

    /// Returns the outcome of a run that failed, or could not be started.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { end: RunEnd::Failed, message: Some(message.into()), error_group: None }
    }
}

/// The status does not allow another attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an occurrence that is {0} cannot be retried")]
pub struct NotRetryable(pub OccurrenceStatus);

/// The row has ended, so that nothing is left to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an occurrence that is {0} cannot be cancelled")]
pub struct NotCancellable(pub OccurrenceStatus);

impl Occurrence {
    /// Creates a pending row.
    pub fn pending(id: Uuid, scheduled_for: NaiveDateTime) -> Self {
        Self {
            id,
            scheduled_for,
            status: OccurrenceStatus::Pending,
            attempt: 0,
            attempt_counted: false,
            recoveries: 0,
            claims: 0,
            claimed_by: None,
            claimed_until: None,
            slot: None,
            executing_version: None,
            trace_id: None,
            error_message: None,
            error_group: None,
            started_at: None,
            completed_at: None,
        }
    }

    /// Creates a skipped row, which runs only after a retry.
    pub fn skipped(
        id: Uuid,
        scheduled_for: NaiveDateTime,
        status: OccurrenceStatus,
        message: String,
        now: NaiveDateTime,
    ) -> Self {
        let mut row = Self::pending(id, scheduled_for);
        row.end(status, Some(message), now);
        row
    }

    /// Claims the row for a worker if it is due and has no holder, or if the lease of its holder has expired.
    /// The row fails after more than `max_recoveries` expired leases.
    pub fn claim(
        &mut self,
        holder: &str,
        lease: Duration,
        max_recoveries: u32,
        now: NaiveDateTime,
    ) -> ClaimOutcome {
        let recovered = match self.status {
            OccurrenceStatus::Pending if self.scheduled_for <= now && self.is_free(now) => false,
            OccurrenceStatus::Claimed | OccurrenceStatus::Running if self.is_free(now) => true,
            _ => return ClaimOutcome::Unavailable,
        };
        if recovered {
            self.recoveries += 1;
            if self.recoveries > i64::from(max_recoveries) {
                let message = format!(
                    "attempts_exhausted: the lease ended without a result {} times (cron.max_recoveries is {max_recoveries})",
                    self.recoveries
                );
                self.end(OccurrenceStatus::Failed, Some(message), now);
                return ClaimOutcome::Exhausted;
            }
        }
        let raised = recovered || !self.attempt_counted;
        self.attempt += i64::from(raised);
        self.attempt_counted = false;
        self.claims += 1;
        self.status = OccurrenceStatus::Claimed;
        self.claimed_by = Some(holder.to_owned());
        self.claimed_until = Some(lease_end(now, lease));
        ClaimOutcome::Taken { raised, recovered }
    }

    /// Returns the key of the current claim, for the holder to remember.
    pub fn key(&self) -> Option<ClaimKey> {
        let holder = self.claimed_by.clone()?;
        Some(ClaimKey { id: self.id, holder, attempt: self.attempt, claim: self.claims })
    }

    /// Starts the run of a claim.
    pub fn start(&mut self, key: &ClaimKey, start: StartRequest<'_>) -> StartOutcome {
        if !self.is_held(key) || self.status != OccurrenceStatus::Claimed {
            return StartOutcome::Lost;
        }
        let StartRequest { version, singleton, waits_for_slot, trace_id, lease, now } = start;
        let slot = match singleton {
            Some((singleton, rows)) => {
                match acquire_slot(rows, singleton.slots, self.id, &key.holder, lease, now) {
                    Some(slot) => Some((singleton, slot)),
                    None if waits_for_slot => {
                        self.wait_for_slot(now);
                        return StartOutcome::Waits;
                    }
                    None => {
                        self.end(OccurrenceStatus::SkippedSingleton, Some(singleton.skip_message()), now);
                        return StartOutcome::Saturated;
                    }
                }
            }
            None => None,
        };
        self.status = OccurrenceStatus::Running;
        self.claimed_until = Some(lease_end(now, lease));
        self.executing_version = Some(version);
        self.trace_id = trace_id;
        self.started_at = Some(now);
        self.slot = slot.as_ref().map(|(singleton, slot)| HeldSlot {
            key: singleton.key.clone(),
            slot: slot.slot,
            token: slot.token,
        });
        StartOutcome::Running(slot.map(|(_, slot)| slot))
    }

    /// Renews the lease of a claim and of its slot. Returns whether both still belong to the caller; if one
    /// does not, neither changes.
    pub fn renew(
        &mut self,
        key: &ClaimKey,
        slot: Option<(&HeldSlot, Option<&mut ConcurrencySlot>)>,
        lease: Duration,
        now: NaiveDateTime,
    ) -> bool {
        if !self.is_held(key) {
            return false;
        }
        match slot {
            None => {}
            Some((held, Some(row))) if row.is_held(held, self.id) => row.renew(lease, now),
            Some(_) => return false,
        }
        self.claimed_until = Some(lease_end(now, lease));
        true
    }

    /// Ends the run of a claim. Returns whether the claim was still valid; the caller then frees its slot.
    pub fn settle(&mut self, key: &ClaimKey, settlement: Settlement, now: NaiveDateTime) -> bool {
        let settles = self.is_held(key)
            && (self.status == OccurrenceStatus::Running || settlement.end != RunEnd::Completed);
        if settles {
            self.end(settlement.end.into(), settlement.message, now);
            self.error_group = settlement.error_group.map(|group| group.id.clone());
            if settlement.end == RunEnd::Cancelled {
                self.claimed_by = None;
            }
        }
        settles
    }

    /// Cancels a row that no process holds under a live lease, and clears its claim, so that no late write of a former
    /// holder counts; the caller then frees its slot. Returns `false` if somebody holds it: the holder ends its run first, and
    /// [settles](Self::settle) it as cancelled.
    ///
    /// # Errors
    /// [`NotCancellable`] if the row has ended.
    pub fn cancel(&mut self, now: NaiveDateTime) -> Result<bool, NotCancellable> {
        if self.status.is_terminal() {
            return Err(NotCancellable(self.status));
        }
        let is_held = self.status != OccurrenceStatus::Pending && !self.is_free(now);
        if !is_held {
            self.end(OccurrenceStatus::Cancelled, None, now);
            self.claimed_by = None;
        }
        Ok(!is_held)
    }

    /// Gives back a claim that led to no run. Returns whether the claim was still valid; the caller then
    /// frees its slot. The attempt of the claim is not counted, but a lease that expired before it stays
    /// counted.
    pub fn give_back(&mut self, key: &ClaimKey, raised: bool) -> bool {
        if !self.is_held(key) {
            return false;
        }
        if raised {
            self.attempt -= 1;
        } else {
            self.attempt_counted = true;
        }
        if self.status == OccurrenceStatus::Running {
            self.executing_version = None;
            self.trace_id = None;
            self.started_at = None;
        }
        self.free();
        self.status = OccurrenceStatus::Pending;
        true
    }

    /// Makes another attempt possible, which counts at once.
    ///
    /// # Errors
    /// [`NotRetryable`] if the status allows no retry.
    pub fn retry(&mut self) -> Result<(), NotRetryable> {
        if !self.status.is_retryable() {
            return Err(NotRetryable(self.status));
        }
        self.free();
        self.status = OccurrenceStatus::Pending;
        self.attempt += 1;
        self.attempt_counted = true;
        self.recoveries = 0;
        self.completed_at = None;
        self.error_message = None;
        self.error_group = None;
        Ok(())
    }

    /// Returns whether the claim is the valid one: its lease may have expired, but no other worker has taken
    /// the row over.
    pub fn is_held(&self, key: &ClaimKey) -> bool {
        matches!(self.status, OccurrenceStatus::Claimed | OccurrenceStatus::Running)
            && self.id == key.id
            && self.claimed_by.as_deref() == Some(&*key.holder)
            && self.attempt == key.attempt
            && self.claims == key.claim
    }

    fn is_free(&self, now: NaiveDateTime) -> bool {
        self.claimed_until.is_none_or(|until| until < now)
    }

    /// Puts a claimed row back until a slot may be free. Its attempt stays counted.
    fn wait_for_slot(&mut self, now: NaiveDateTime) {
        self.free();
        self.status = OccurrenceStatus::Pending;
        self.attempt_counted = true;
        self.claimed_until = Some(lease_end(now, SLOT_WAIT));
    }

    /// Clears the record of the last holder.
    fn free(&mut self) {
        self.claimed_by = None;
        self.claimed_until = None;
        self.slot = None;
    }

    /// Ends the row. Clears the lease and keeps the rest of the record of the last holder.
    fn end(&mut self, status: OccurrenceStatus, message: Option<String>, now: NaiveDateTime) {
        self.status = status;
        self.error_message = message;
        self.error_group = None;
        self.completed_at = Some(now);
        self.claimed_until = None;
    }
}

#[cfg(test)]
mod tests;
