//! The rules of the cron ledger.
//!
//! An *occurrence* is the durable row of one instant of a schedule. A *cursor* is the instant up to which the
//! occurrences of a schedule are recorded. A *slot* is a place among the runs that share a concurrency key.
//! Every function here is a pure transition over plain values: it takes the instant and the rows, and returns
//! or applies the change. There is no clock, no I/O and no database. The store reads rows under lock, applies
//! these functions and writes the result; the model checker drives the same functions.
//!
//! Together the rules guarantee:
//! - There is one row per instant and channel.
//! - At most one claim of a row is valid, and every write of an earlier claim is refused.
//! - A key has at most as many live holders as it has slots.
//! - A row is never retried automatically, but a claim whose lease has expired is taken over, a bounded
//!   number of times.

mod backfill;
mod cursor;
mod fence;
mod instant_explanation;
pub mod memory;
mod occurrence;
mod plan;
mod slot;
mod status;
mod work_wait;

pub use backfill::{BackfillRange, BackfillRefusal, KeptOccurrences, MOST_BACKFILLED, plan_backfill};
pub use cursor::{AlignRequest, Cursor};
pub use fence::lease_fence;
pub use instant_explanation::{
    ActiveVersion, InstantExplanation, InstantFacts, InstantReason, InstantRow, SlotHolder,
};
pub use occurrence::{
    ClaimKey, ClaimOutcome, NotCancellable, NotRetryable, Occurrence, Settlement, StartOutcome, StartRequest,
};
pub use plan::{LONGEST_WALK, Misfire, MisfirePlan, MisfirePlanner, Missed, plan};
pub use slot::{ConcurrencySlot, HeldSlot, Singleton, acquire_slot, is_saturated};
pub use status::{OccurrenceStatus, Trigger};
pub use work_wait::{PausedCallee, WorkFacts, WorkOwner, WorkState, WorkWait, WorkWaitReason};

use std::time::Duration;

use chrono::{NaiveDateTime, TimeDelta};

/// Returns the end of a lease that starts now.
fn lease_end(now: NaiveDateTime, lease: Duration) -> NaiveDateTime {
    let lease = TimeDelta::from_std(lease).unwrap_or(TimeDelta::MAX);
    now.checked_add_signed(lease).unwrap_or(NaiveDateTime::MAX)
}
