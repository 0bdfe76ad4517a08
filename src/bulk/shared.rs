//! The services of the driver, which survive its restart.

use std::time::Duration;

use slog::Logger;
use svc_cluster::nodes::NodeHandle;
use svc_cron::{CronHandle, CronMetrics};
use svc_store::{BulkAction, BulkRun, OperatorRunClaim, Store};
use svc_traces::Traces;

use crate::driver_handle::DriverHandle;

/// Time for which a run is held without a step. Beyond it another node takes the run over.
pub(super) const LEASE: Duration = Duration::from_secs(10);

/// The services of the driver of bulk runs.
pub(crate) struct BulkShared {
    pub(crate) handle: DriverHandle,
    pub(crate) store: Store,
    pub(crate) nodes: NodeHandle,
    pub(crate) traces: Traces,
    /// The schedules; `None` on a node that runs none.
    pub(crate) cron: Option<CronHandle>,
    pub(crate) cron_metrics: CronMetrics,
    pub(crate) log: Logger,
}

impl BulkShared {
    /// Returns the proof of this node for a run at its position.
    pub(super) fn make_claim(&self, run: &BulkRun) -> OperatorRunClaim {
        let holder = self.nodes.id().as_ref().to_owned();
        OperatorRunClaim { id: run.id.clone(), holder, position: run.position.clone() }
    }

    /// Reports rows that an action has changed to those who act on them.
    pub(super) fn announce(&self, action: Option<BulkAction>, rows: usize) {
        if rows == 0 {
            return;
        }
        match action {
            Some(BulkAction::Requeue) => self.traces.look_for_dead_letters(),
            Some(BulkAction::Purge) => self.traces.count_dead_letters(),
            Some(BulkAction::Retry | BulkAction::Backfill) => {
                self.cron_metrics.record_several_pending(u64::try_from(rows).unwrap_or(u64::MAX));
                if let Some(cron) = &self.cron {
                    cron.nudge();
                }
            }
            Some(BulkAction::Cancel) => {
                self.traces.look_for_cancels();
                if let Some(cron) = &self.cron {
                    cron.look_for_cancels();
                }
            }
            // Each rerun was noted with its channel.
            Some(BulkAction::Rerun) | None => {}
        }
    }
}
