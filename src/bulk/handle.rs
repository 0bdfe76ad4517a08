//! The handle of the driver.

use std::sync::Arc;

use tokio::sync::Notify;

/// Wakes the driver of bulk runs of this node. Cheap to clone; survives restarts of the driver.
#[derive(Clone, Debug, Default)]
pub(crate) struct BulkHandle {
    due: Arc<Notify>,
}

impl BulkHandle {
    /// Reports a run that may have begun, or is to be aborted.
    pub(crate) fn wake(&self) {
        self.due.notify_one();
    }

    /// Waits for such a report.
    pub(super) async fn wait(&self) {
        self.due.notified().await;
    }
}
