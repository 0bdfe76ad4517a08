//! The handle of the driver.

use std::sync::Arc;

use tokio::sync::Notify;

/// Wakes the driver of backtests of this node. Cheap to clone; survives restarts of the driver.
#[derive(Clone, Debug, Default)]
pub(crate) struct BacktestHandle {
    due: Arc<Notify>,
}

impl BacktestHandle {
    /// Reports a backtest that is to be made.
    pub(crate) fn wake(&self) {
        self.due.notify_one();
    }

    /// Waits for such a report.
    pub(super) async fn wait(&self) {
        self.due.notified().await;
    }
}
