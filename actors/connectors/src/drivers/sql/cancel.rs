//! Cancellation at the server of statements whose caller left.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// Time limit of a cancellation. If the server does not receive it, it ends the statement when it misses
/// its client.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Cancels the running statements when it is dropped before their end.
pub(super) struct CancelGuard {
    /// The runtime that drives the connection.
    io: Handle,
    cancel: Option<BoxFuture<'static, ()>>,
}

impl CancelGuard {
    /// Creates the guard; `cancel` is polled only when the statements are to be cancelled.
    pub(super) fn new(io: Handle, cancel: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { io, cancel: Some(Box::pin(cancel)) }
    }

    /// Ends the guard. The statements are cancelled only if they may still run.
    pub(super) fn finish(mut self, may_still_run: bool) {
        self.cancel = self.cancel.take().filter(|_| may_still_run);
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        if let Some(cancel) = self.cancel.take() {
            self.io.spawn(timeout(CANCEL_TIMEOUT, cancel));
        }
    }
}
