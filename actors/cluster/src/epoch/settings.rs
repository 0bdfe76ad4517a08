//! Settings and dependencies of the watcher.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use slog::Logger;
use svc_model::ErrorReason;
use svc_store::{ConfigEpoch, EpochNumbers};

use crate::epoch::local::LocalChanges;
use crate::epoch::metrics::EpochMetrics;
use crate::epoch::state::ChangedEntities;
use crate::nodes::NodeHandle;

/// Counts a failure by its reason.
pub type ErrorCallback = Arc<dyn Fn(ErrorReason) + Send + Sync>;
/// Records the success of a recurring job by its name.
pub type JobCallback = Arc<dyn Fn(&'static str) + Send + Sync>;

/// The part of the service that changes are applied to.
pub trait ConfigApplier: Send + Sync {
    /// Loads the stored form of what changed. Loading twice does no harm.
    ///
    /// # Errors
    /// The reason why something was not loaded; the previous configuration serves on.
    fn apply(&self, changed: ChangedEntities) -> BoxFuture<'_, Result<(), String>>;

    /// Closes a circuit breaker of this process, if it has one of that key.
    fn reset_breaker(&self, key: &str);

    /// Closes every circuit breaker of this process.
    fn reset_all_breakers(&self);

    /// Looks for orders to cancel the work of this process. Must return at once. Called for each announcement, which may be
    /// about one, and before each read of the epoch.
    fn look_for_cancels(&self) {}
}

/// The settings of the watcher.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Longest time between two polls.
    pub poll_interval: Duration,
    /// The numbers before the first load of the configuration.
    pub seed: EpochNumbers,
    /// Paths of the nodes of the tree that start before the watcher and are drained after it.
    pub needs: Vec<String>,
}

/// The dependencies of the watcher.
pub struct EpochServices {
    /// The epoch in the database.
    pub epoch: ConfigEpoch,
    /// The node in whose row the applied epoch is stored.
    pub nodes: NodeHandle,
    /// The consumer of changes.
    pub applier: Arc<dyn ConfigApplier>,
    /// The changes that this process makes itself.
    pub local: LocalChanges,
    pub settings: Settings,
    pub metrics: EpochMetrics,
    /// Called for each failure.
    pub errors: ErrorCallback,
    /// Called for each successful pass.
    pub jobs: JobCallback,
    /// The logger.
    pub log: Logger,
}
