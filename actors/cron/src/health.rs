//! How the schedules of a node fare, readable without asking anybody.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::desk::Desk;

/// Silence of the reaper after which schedules count as unwell, at least.
const SILENCE: Duration = Duration::from_secs(60);
/// The same, in polls.
const SILENT_POLLS: u32 = 10;

/// How the schedules of a node fare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CronHealth {
    /// Whether the ledger answers and is looked at often enough, and no schedule of this node has been due for long.
    pub is_well: bool,
    /// When the ledger was last looked at as a whole: seconds since 1970 of the database clock.
    pub last_reconcile_at: Option<i64>,
    /// Seconds since then.
    pub reconcile_age_secs: Option<u64>,
    /// For how long the oldest occurrence that waits has been due, in seconds; as of the last look.
    pub oldest_pending_age_secs: Option<i64>,
    /// Renewals of leases that failed since the start.
    pub lease_renewal_failures: u64,
    /// Channels this node schedules.
    pub scheduled_channels: usize,
}

/// The looks at the whole ledger.
#[derive(Debug)]
pub(crate) struct Passes {
    began: Instant,
    last: Mutex<Option<Pass>>,
}

#[derive(Clone, Copy, Debug)]
struct Pass {
    at: Instant,
    unix_seconds: Option<i64>,
    oldest_pending_secs: Option<i64>,
    /// Whether schedules have been due for too long.
    behind: bool,
}

impl Default for Passes {
    fn default() -> Self {
        Self { began: Instant::now(), last: Mutex::default() }
    }
}

impl Passes {
    /// A look succeeded just now.
    pub(crate) fn succeeded(
        &self,
        unix_seconds: Option<i64>,
        oldest_pending_secs: Option<i64>,
        behind: bool,
    ) {
        let pass = Pass { at: Instant::now(), unix_seconds, oldest_pending_secs, behind };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(pass);
    }

    fn last(&self) -> Option<Pass> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Desk {
    pub(crate) fn health(&self) -> CronHealth {
        let last = self.passes.last();
        let silence = last.map_or(self.passes.began, |pass| pass.at).elapsed();
        let patience = SILENCE.max(self.settings.poll * SILENT_POLLS);
        CronHealth {
            is_well: self.answers() && silence < patience && !last.is_some_and(|pass| pass.behind),
            last_reconcile_at: last.and_then(|pass| pass.unix_seconds),
            reconcile_age_secs: last.map(|pass| pass.at.elapsed().as_secs()),
            oldest_pending_age_secs: last.and_then(|pass| pass.oldest_pending_secs),
            lease_renewal_failures: self.metrics.renewal_failures.get(),
            scheduled_channels: self.seats().len(),
        }
    }
}
