//! Metrics of the watcher.

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The metric families. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct EpochMetrics {
    pub(crate) applied: Gauge,
    pub(crate) current: Gauge,
}

impl EpochMetrics {
    /// Registers the metrics. The registry adds its prefix to the names.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "config_epoch_applied",
            "Configuration epoch that this process serves",
            self.applied.clone(),
        );
        registry.register(
            "config_epoch_current",
            "Configuration epoch of the database",
            self.current.clone(),
        );
    }
}
