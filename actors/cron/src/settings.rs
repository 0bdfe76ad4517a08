//! The settings of schedules and their attempts.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use svc_model::ErrorReason;

/// The settings of a node.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Name of this process in the ledger: unique among processes.
    pub holder: String,
    /// Time between two looks at the ledger without a notification.
    pub poll: Duration,
    /// Runs at the same time.
    pub workers: usize,
    /// Maximum number of rows in one claim.
    pub claim_batch: u32,
    /// For how long a claim holds without being renewed.
    pub lease: Duration,
    /// Time between two renewals; below the lease.
    pub heartbeat: Duration,
    /// Age up to which an instant does not count as missed.
    pub misfire_grace: Duration,
    /// Maximum number of missed instants of a schedule that are made up for.
    pub max_catch_up: u32,
    /// Leases of a row that may end before it fails.
    pub max_recoveries: u32,
    /// Time limit of a run whose channel sets none.
    pub default_timeout: Duration,
    /// Time that running attempts get to finish at shutdown.
    pub shutdown_timeout: Duration,
    /// Counts a failure in `svc_errors_total`.
    pub errors: EventCallback<ErrorReason>,
    /// Notes the success of a recurring job: `cron_reconcile`, after each pass of the reaper.
    pub jobs: EventCallback<&'static str>,
}

/// A callback that takes note of an event.
pub struct EventCallback<T>(Arc<dyn Fn(T) + Send + Sync>);

impl<T> Clone for EventCallback<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> EventCallback<T> {
    /// Notifies by `tell`.
    pub fn new(tell: impl Fn(T) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(crate) fn tell(&self, event: T) {
        (self.0)(event);
    }
}

impl<T> Default for EventCallback<T> {
    /// Notifies no one.
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl<T> fmt::Debug for EventCallback<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventCallback")
    }
}
