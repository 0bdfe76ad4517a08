//! The metrics of the live data.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The metric families. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct ConsoleMetrics {
    pub(crate) viewers: Gauge,
    pub(crate) is_sampling: Gauge,
    pub(crate) samples: Counter,
    pub(crate) renewed_pictures: Counter,
    pub(crate) figure_failures: Counter,
}

impl ConsoleMetrics {
    /// Registers the metrics. The registry adds its prefix to the names.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("console_viewers", "Open streams of live data", self.viewers.clone());
        registry.register(
            "console_sampling",
            "1 while the process is sampled for viewers, else 0",
            self.is_sampling.clone(),
        );
        registry.register("console_samples", "Samples taken for viewers", self.samples.clone());
        registry.register(
            "console_renewed_pictures",
            "Pictures sent to viewers that read too slowly for the events before",
            self.renewed_pictures.clone(),
        );
        registry.register(
            "console_figure_failures",
            "Writes of the figures of this node that failed",
            self.figure_failures.clone(),
        );
    }
}
