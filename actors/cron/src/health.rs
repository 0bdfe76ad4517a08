//! The health of the schedules of a node, readable without I/O.

use std::time::Duration;

use parking_lot::Mutex;
use svc_store::Backlog;
use tokio::time::Instant;

use crate::shared::CronShared;

/// Silence of the reaper after which schedules count as unwell, at least.
const SILENCE: Duration = Duration::from_secs(60);
/// The same, in polls.
const SILENT_POLLS: u32 = 10;
/// Seconds for which an occurrence may be due and wait before what is due counts as run too late.
const LATE: i64 = 10;

/// The health of the schedules of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronHealth {
    /// The reason for which due work is not run, or not in time; `None` while the ledger answers and is
    /// looked at often enough, no schedule of this node has been due for long, and no occurrence waits for
    /// long.
    pub trouble: Option<String>,
    /// Time of the last pass over the whole ledger: seconds since 1970 of the database clock.
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
pub(crate) struct ReconcilePasses {
    began: Instant,
    last: Mutex<Option<ReconcilePass>>,
}

#[derive(Clone, Copy, Debug)]
struct ReconcilePass {
    at: Instant,
    unix_seconds: Option<i64>,
    pending: i64,
    oldest_pending_secs: Option<i64>,
    /// True if schedules have been due for too long.
    behind: bool,
}

impl Default for ReconcilePasses {
    fn default() -> Self {
        Self { began: Instant::now(), last: Mutex::default() }
    }
}

impl ReconcilePasses {
    /// A look succeeded just now.
    pub(crate) fn record_success(&self, unix_seconds: Option<i64>, backlog: Backlog, behind: bool) {
        let Backlog { pending, oldest_pending_secs } = backlog;
        let pass = ReconcilePass { at: Instant::now(), unix_seconds, pending, oldest_pending_secs, behind };
        *self.last.lock() = Some(pass);
    }

    fn last(&self) -> Option<ReconcilePass> {
        *self.last.lock()
    }
}

impl CronShared {
    pub(crate) fn health(&self) -> CronHealth {
        let last = self.passes.last();
        CronHealth {
            trouble: self.trouble(last),
            last_reconcile_at: last.and_then(|pass| pass.unix_seconds),
            reconcile_age_secs: last.map(|pass| pass.at.elapsed().as_secs()),
            oldest_pending_age_secs: last.and_then(|pass| pass.oldest_pending_secs),
            lease_renewal_failures: self.metrics.renewal_failures.get(),
            scheduled_channels: self.schedules().len(),
        }
    }

    fn trouble(&self, last: Option<ReconcilePass>) -> Option<String> {
        if !self.is_available() {
            return Some("the ledger does not answer".to_owned());
        }
        let silence = last.map_or(self.passes.began, |pass| pass.at).elapsed();
        if silence >= SILENCE.max(self.settings.poll * SILENT_POLLS) {
            return Some(format!("the ledger was not looked at for {} seconds", silence.as_secs()));
        }
        let last = last?;
        if last.behind {
            return Some(
                "a schedule has been due for more than a minute and is not put on record".to_owned(),
            );
        }
        let late = last.oldest_pending_secs.filter(|seconds| *seconds > LATE)?;
        Some(format!("{} occurrences wait, one of them since it was due {late} seconds ago", last.pending))
    }
}
