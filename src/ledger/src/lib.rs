//! The rules of the cron ledger.
//!
//! An *occurrence* is the durable row of one instant of a schedule; a *cursor* is how far a schedule has been written
//! down; a *slot* is a place among the runs that share a concurrency key. Everything here is a pure transition over
//! plain values: it is handed the instant and the rows, and says what they become. No clock, no I/O, no database: the
//! store reads rows under lock, applies these very functions and writes what they leave, and the model checker drives
//! the same functions.
//!
//! The rules together guarantee: one row per instant and channel; at most one claim of a row counts, and every write
//! of an earlier one is refused; a key has at most as many live holders as it has slots; a row is never retried by
//! itself, but a claim whose lease ended is taken over, a bounded number of times.

mod cursor;
mod fence;
mod occurrence;
mod plan;
mod slot;
mod status;

pub use cursor::{AlignRequest, Cursor};
pub use fence::lease_fence;
pub use occurrence::{
    ClaimKey, ClaimOutcome, NotRetryable, Occurrence, Settlement, StartOutcome, StartRequest,
};
pub use plan::{LONGEST_WALK, Misfire, MisfirePlan, MisfirePlanner, Missed, plan};
pub use slot::{ConcurrencySlot, HeldSlot, Singleton, acquire_slot, is_saturated};
pub use status::{OccurrenceStatus, Trigger};

use std::time::Duration;

use chrono::{NaiveDateTime, TimeDelta};

/// The end of a lease that begins now.
fn lease_end(now: NaiveDateTime, lease: Duration) -> NaiveDateTime {
    let lease = TimeDelta::from_std(lease).unwrap_or(TimeDelta::MAX);
    now.checked_add_signed(lease).unwrap_or(NaiveDateTime::MAX)
}
