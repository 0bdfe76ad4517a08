//! The handle of a driver of runs of operators: of bulk runs, and of backtests.

use std::sync::Arc;

use tokio::sync::Notify;

/// Wakes the driver of this node. Cheap to clone; survives restarts of the driver.
#[derive(Clone, Debug, Default)]
pub(crate) struct DriverHandle {
    due: Arc<Notify>,
}

impl DriverHandle {
    /// Reports a run that may have begun, or is to be aborted.
    pub(crate) fn wake(&self) {
        self.due.notify_one();
    }

    /// Waits for such a report.
    pub(crate) async fn wait(&self) {
        self.due.notified().await;
    }
}
