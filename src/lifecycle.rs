//! The lifecycle of the service, and the number of requests in progress.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use svc_model::ServiceError;
use tokio::sync::{Notify, watch};

/// The phase of the service and its requests in progress; set by the start, the shutdown and the edge, read
/// by anyone.
#[derive(Debug, Default)]
pub struct Lifecycle {
    initialized: AtomicBool,
    draining: AtomicBool,
    in_flight: AtomicUsize,
    idle: Notify,
    /// Wakes what waits for the begin of the shutdown.
    drain_begins: Notify,
    /// `true` once bodies that are still arriving are given up.
    uploads_end: watch::Sender<bool>,
}

impl Lifecycle {
    /// Records the end of the start: the service may be ready.
    pub(crate) fn mark_initialized(&self) {
        self.initialized.store(true, Ordering::Release);
    }

    /// Records the begin of the shutdown: not ready from now on, while requests are still answered.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
        self.drain_begins.notify_waiters();
    }

    /// Waits for the begin of the shutdown.
    pub(crate) async fn wait_until_draining(&self) {
        let notified = self.drain_begins.notified();
        tokio::pin!(notified);
        notified.as_mut().enable();
        if !self.is_draining() {
            notified.await;
        }
    }

    /// Returns `true` between the end of the start and the begin of the shutdown.
    pub fn is_ready(&self) -> bool {
        self.initialized.load(Ordering::Acquire) && !self.is_draining()
    }

    /// Returns `true` once shutdown has started.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// Returns the number of requests in progress.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Acquire)
    }

    pub(crate) fn begin_request(&self) {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn end_request(&self) {
        if self.in_flight.fetch_sub(1, Ordering::AcqRel) == 1 && self.is_draining() {
            self.idle.notify_waiters();
        }
    }

    /// Waits for a body to arrive, unless the service stops waiting for bodies first.
    ///
    /// # Errors
    /// The error of `body`, or 503.
    pub(crate) async fn receive_body<T>(
        &self,
        body: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, ServiceError> {
        let given_up = async {
            // The sender is part of `self`, so that it is still there.
            let _ = self.uploads_end.subscribe().wait_for(|ended| *ended).await;
        };
        tokio::select! {
            biased;
            received = body => received,
            () = given_up => Err(ServiceError::unavailable("The service is stopping")),
        }
    }

    /// Gives up every body that has not arrived whole.
    pub(crate) fn end_uploads(&self) {
        self.uploads_end.send_replace(true);
    }

    /// Waits until no request is in progress.
    pub(crate) async fn wait_until_idle(&self) {
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
