//! The metrics of spans.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DropLabels {
    reason: &'static str,
}

/// The reason why a span was not exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropReason {
    /// Too many spans waited.
    QueueFull,
    /// The collector did not take them.
    ExportFailed,
    /// The process ended.
    Shutdown,
}

impl DropReason {
    const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::ExportFailed => "export_failed",
            Self::Shutdown => "shutdown",
        }
    }
}

/// Counters of exported and dropped spans. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct SpanMetrics {
    exported: Counter,
    dropped: Family<DropLabels, Counter>,
}

impl SpanMetrics {
    /// Registers the metrics.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("spans_exported", "Spans that the collector took", self.exported.clone());
        registry.register("spans_dropped", "Spans that were not exported", self.dropped.clone());
    }

    pub(crate) fn count_exported(&self, spans: u64) {
        self.exported.inc_by(spans);
    }

    pub(crate) fn count_dropped(&self, reason: DropReason, spans: u64) {
        if spans > 0 {
            self.dropped.get_or_create(&DropLabels { reason: reason.name() }).inc_by(spans);
        }
    }

    #[cfg(test)]
    pub(crate) fn counts(&self) -> (u64, [u64; 3]) {
        let dropped = [DropReason::QueueFull, DropReason::ExportFailed, DropReason::Shutdown]
            .map(|reason| self.dropped.get_or_create(&DropLabels { reason: reason.name() }).get());
        (self.exported.get(), dropped)
    }
}
