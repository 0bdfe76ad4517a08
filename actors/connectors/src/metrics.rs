//! Metrics of calls over connectors.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use svc_model::DURATION_BUCKETS;

/// The statuses of calls: succeeded, failed.
const STATUSES: [&str; 2] = ["ok", "error"];

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
    /// The labels that have series, which end with their connector and with their channel.
    counted: Arc<RwLock<HashSet<CallLabels>>>,
}

impl Default for ConnectorMetrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS)),
            trips: Family::default(),
            rejections: Family::default(),
            counted: Arc::default(),
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
        let [success, failure] = STATUSES;
        let status = if ok { success } else { failure };
        let labels = labels(channel, connector);
        self.requests.get_or_create(&labels.with_status(status)).inc();
        self.durations.get_or_create(&labels).observe(took.as_secs_f64());
        self.remember(labels);
    }

    pub(crate) fn record_trip(&self, channel: &str, connector: &str) {
        let labels = labels(channel, connector);
        self.trips.get_or_create(&labels).inc();
        self.remember(labels);
    }

    pub(crate) fn record_rejection(&self, channel: &str, connector: &str) {
        let labels = labels(channel, connector);
        self.rejections.get_or_create(&labels).inc();
        self.remember(labels);
    }

    /// Drops the series of the channels that `is_kept` does not accept.
    pub(crate) fn retain_channels(&self, is_kept: impl Fn(&str) -> bool) {
        self.retain(|labels| is_kept(&labels.channel));
    }

    /// Drops the series of the connectors that `is_kept` does not accept.
    pub(crate) fn retain_connectors(&self, is_kept: impl Fn(&str) -> bool) {
        self.retain(|labels| is_kept(&labels.connector));
    }

    /// Remembers labels once they have series, so that no series is missed by [`retain`](Self::retain).
    fn remember(&self, labels: CallLabels) {
        if !self.counted.read().contains(&labels) {
            self.counted.write().insert(labels);
        }
    }

    fn retain(&self, is_kept: impl Fn(&CallLabels) -> bool) {
        self.counted.write().retain(|labels| {
            let is_kept = is_kept(labels);
            if !is_kept {
                for status in STATUSES {
                    self.requests.remove(&labels.with_status(status));
                }
                self.durations.remove(labels);
                self.trips.remove(labels);
                self.rejections.remove(labels);
            }
            is_kept
        });
    }
}

impl CallLabels {
    fn with_status(&self, status: &'static str) -> OutcomeLabels {
        OutcomeLabels { connector: self.connector.clone(), channel: self.channel.clone(), status }
    }
}

fn labels(channel: &str, connector: &str) -> CallLabels {
    CallLabels { connector: connector.to_owned(), channel: channel.to_owned() }
}
