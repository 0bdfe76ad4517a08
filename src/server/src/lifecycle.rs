//! Where the service stands between start and end, and how many requests it is answering.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// The level everyone may read; raised and lowered by the start, the shutdown and the edge.
#[derive(Debug, Default)]
pub struct Lifecycle {
    initialized: AtomicBool,
    draining: AtomicBool,
    in_flight: AtomicUsize,
    idle: Notify,
}

impl Lifecycle {
    /// Startup ended: the service may be called ready.
    pub(crate) fn initialized(&self) {
        self.initialized.store(true, Ordering::Release);
    }

    /// Shutdown started: not ready from now on, while requests are still answered.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    /// Whether startup ended and shutdown has not started.
    pub fn is_ready(&self) -> bool {
        self.initialized.load(Ordering::Acquire) && !self.is_draining()
    }

    /// Whether shutdown has started.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// Requests being answered now.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Acquire)
    }

    pub(crate) fn enter(&self) {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn leave(&self) {
        if self.in_flight.fetch_sub(1, Ordering::AcqRel) == 1 && self.is_draining() {
            self.idle.notify_waiters();
        }
    }

    /// Waits until no request is being answered.
    pub(crate) async fn idle(&self) {
        loop {
            let notified = self.idle.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if self.in_flight() == 0 {
                return;
            }
            notified.await;
        }
    }
}
