//! The metrics of the export itself.
#![cfg_attr(not(feature = "otlp"), expect(dead_code, reason = "without the feature nothing is exported"))]

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SignalLabels {
    signal: &'static str,
}

/// The kind of what is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TelemetrySignal {
    Metrics,
    Logs,
}

impl TelemetrySignal {
    /// Returns the word for it in metrics and messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::Logs => "logs",
        }
    }
}

/// Counters of what the collector took, and of what was dropped. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct TelemetryMetrics {
    exported: Family<SignalLabels, Counter>,
    dropped: Family<SignalLabels, Counter>,
}

impl TelemetryMetrics {
    /// Registers the metrics.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "telemetry_exported",
            "Points of metrics and messages of the log that the collector took",
            self.exported.clone(),
        );
        registry.register(
            "telemetry_dropped",
            "Points of metrics and messages of the log that were not exported",
            self.dropped.clone(),
        );
    }

    pub(crate) fn count_exported(&self, signal: TelemetrySignal, count: u64) {
        self.exported.get_or_create(&SignalLabels { signal: signal.name() }).inc_by(count);
    }

    pub(crate) fn count_dropped(&self, signal: TelemetrySignal, count: u64) {
        if count > 0 {
            self.dropped.get_or_create(&SignalLabels { signal: signal.name() }).inc_by(count);
        }
    }
}
