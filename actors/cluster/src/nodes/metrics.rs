//! Metrics of a node.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

/// The metric families. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct NodeMetrics {
    pub(crate) renewal_failures: Counter,
    pub(crate) leases_lost: Counter,
}

impl NodeMetrics {
    /// Registers the metrics. The registry adds its prefix to the names.
    pub fn register(&self, registry: &mut Registry) {
        let failures = self.renewal_failures.clone();
        registry.register(
            "node_lease_renewal_failures",
            "Renewals of the node's lease that failed",
            failures,
        );
        let leases_lost = self.leases_lost.clone();
        registry.register("node_leases_lost", "Leases of the node that ended while it lived", leases_lost);
    }
}
