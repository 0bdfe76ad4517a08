//! The metrics of webhooks.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use svc_model::DURATION_BUCKETS;
use svc_store::WebhookCounts;

/// Label for the outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct AttemptLabels {
    outcome: &'static str,
}

/// Label for the state of a delivery or an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RowLabels {
    state: &'static str,
}

/// The metric families. Cheap to clone.
#[derive(Clone, Debug)]
pub struct WebhookMetrics {
    pub(crate) events: Counter,
    attempts: Family<AttemptLabels, Counter>,
    pub(crate) attempt_duration: Histogram,
    pub(crate) in_flight: Gauge,
    pub(crate) exhausted: Counter,
    pub(crate) disabled: Counter,
    deliveries: Family<RowLabels, Gauge>,
    endpoints: Family<RowLabels, Gauge>,
}

impl Default for WebhookMetrics {
    fn default() -> Self {
        Self {
            events: Counter::default(),
            attempts: Family::default(),
            attempt_duration: Histogram::new(DURATION_BUCKETS),
            in_flight: Gauge::default(),
            exhausted: Counter::default(),
            disabled: Counter::default(),
            deliveries: Family::default(),
            endpoints: Family::default(),
        }
    }
}

impl WebhookMetrics {
    /// Registers the metrics. The registry adds its prefix to the names.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("webhook_events", "Events that were accepted for endpoints", self.events.clone());
        registry.register("webhook_attempts", "Attempts at deliveries, by outcome", self.attempts.clone());
        let duration = self.attempt_duration.clone();
        registry.register("webhook_attempt_duration_seconds", "Time of an attempt at a delivery", duration);
        registry.register("webhook_in_flight", "Attempts that go on at this node", self.in_flight.clone());
        let exhausted = self.exhausted.clone();
        registry.register("webhook_exhausted", "Deliveries that became dead letters", exhausted);
        let disabled = self.disabled.clone();
        registry.register(
            "webhook_endpoints_disabled",
            "Endpoints that were disabled after failures",
            disabled,
        );
        let deliveries = self.deliveries.clone();
        registry.register("webhook_deliveries", "Deliveries in the database, by state", deliveries);
        registry.register("webhook_endpoints", "Endpoints in the database, by state", self.endpoints.clone());
    }

    /// Returns the number of attempts that go on at this node.
    pub fn in_flight(&self) -> i64 {
        self.in_flight.get()
    }

    /// Counts an attempt: `delivered`, `failed`, `gone` or `deferred`.
    pub(crate) fn count_attempt(&self, outcome: &'static str) {
        self.attempts.get_or_create(&AttemptLabels { outcome }).inc();
    }

    /// Sets the numbers of the database.
    pub(crate) fn set_counts(&self, counts: &WebhookCounts) {
        for (state, number) in [("pending", counts.pending), ("failed", counts.failed)] {
            self.deliveries.get_or_create(&RowLabels { state }).set(number);
        }
        for (state, number) in
            [("enabled", counts.enabled), ("unverified", counts.unverified), ("disabled", counts.disabled)]
        {
            self.endpoints.get_or_create(&RowLabels { state }).set(number);
        }
    }
}
