//! Schedules: what is due is put on record, claimed by one worker anywhere, and run.
//!
//! The ledger in the database decides: this crate writes to it what is due, and runs what it grants. An
//! instant is a row before anything runs, and the instants of a schedule follow from the schedule and its
//! cursor alone, never from the end of an earlier run. A timer that fires late, twice or not at all therefore
//! changes only the time of the next check.
//!
//! ```text
//! cron
//! ├ reconciler      one schedule per channel that serves, in line with the registry's snapshot
//! ├ schedules/{id}  sleeps until the next instant and puts what passed on record
//! ├ claimer         claims what is due and runs it, each run under a lease it renews
//! └ reaper          pauses schedules that serve nowhere; measures what waits
//! ```
//!
//! No node leads: every node plans every schedule it serves, and the cursor's compare-and-set lets one of
//! them write. The database clock is the only clock that decides. A database that is away is waited out and
//! ends nothing. Nothing here survives the process but the ledger.

mod availability;
mod backfill;
mod backoff;
mod claimer;
mod clock;
mod handle;
mod health;
mod metrics;
mod reaper;
mod reconciler;
mod schedule;
mod schedule_handle;
mod settings;
mod shared;

pub use backfill::{BackfillRange, BackfillRefusal, plan_missed_instants};
pub use handle::{CronHandle, CronServices};
pub use health::CronHealth;
pub use metrics::CronMetrics;
pub use settings::{EventCallback, Settings};
