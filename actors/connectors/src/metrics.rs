//! Metrics of calls over connectors.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use svc_model::DURATION_BUCKETS;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    connector: String,
    channel: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    connector: String,
    channel: String,
    status: &'static str,
}

/// The metric families of all connectors. Cheap to clone; labels are names of definitions, never text of
/// callers.
#[derive(Clone, Debug)]
pub struct ConnectorMetrics {
    requests: Family<OutcomeLabels, Counter>,
    durations: Family<CallLabels, Histogram, fn() -> Histogram>,
    trips: Family<CallLabels, Counter>,
    rejections: Family<CallLabels, Counter>,
}

impl Default for ConnectorMetrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS)),
            trips: Family::default(),
            rejections: Family::default(),
        }
    }
}

impl ConnectorMetrics {
    /// Registers the families; the prefix is the registry's.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("connector_requests", "Calls of connectors by outcome", self.requests.clone());
        registry.register(
            "connector_request_duration_seconds",
            "Time a call of a connector took, with everything it tried again",
            self.durations.clone(),
        );
        registry.register("circuit_breaker_trips", "Times a breaker opened", self.trips.clone());
        registry.register(
            "circuit_breaker_rejections",
            "Calls held back by a breaker",
            self.rejections.clone(),
        );
    }

    pub(crate) fn record_call(&self, channel: &str, connector: &str, ok: bool, took: Duration) {
        let status = if ok { "ok" } else { "error" };
        let CallLabels { connector, channel } = labels(channel, connector);
        let outcome = OutcomeLabels { connector: connector.clone(), channel: channel.clone(), status };
        self.requests.get_or_create(&outcome).inc();
        self.durations.get_or_create(&CallLabels { connector, channel }).observe(took.as_secs_f64());
    }

    pub(crate) fn record_trip(&self, channel: &str, connector: &str) {
        self.trips.get_or_create(&labels(channel, connector)).inc();
    }

    pub(crate) fn record_rejection(&self, channel: &str, connector: &str) {
        self.rejections.get_or_create(&labels(channel, connector)).inc();
    }
}

fn labels(channel: &str, connector: &str) -> CallLabels {
    CallLabels { connector: connector.to_owned(), channel: channel.to_owned() }
}
