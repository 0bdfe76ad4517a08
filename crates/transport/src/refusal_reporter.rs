//! Reports of connections that the service ends: all are counted, one of each kind and second is logged.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use slog::{Logger, warn};
use tokio::time::Instant;

use super::refusal::ConnectionRefusal;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusalLabels {
    reason: &'static str,
}

#[derive(Clone, Debug, Default)]
pub struct ConnectionMetrics {
    open: Gauge,
    refused: Family<RefusalLabels, Counter>,
}

impl ConnectionMetrics {
    /// Registers the families, each reason with its counter.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "http_connections",
            "Connections open on the listeners of this process",
            self.open.clone(),
        );
        registry.register(
            "http_connections_refused",
            "Connections that the service ended by itself, by reason",
            self.refused.clone(),
        );
        for refusal in ConnectionRefusal::ALL {
            drop(self.refused.get_or_create(&RefusalLabels { reason: refusal.name() }));
        }
    }

    /// Counts a connection as open until the guard is dropped.
    pub(super) fn open(&self) -> OpenConnection {
        self.open.inc();
        OpenConnection(self.open.clone())
    }
}

/// A connection in the gauge.
#[derive(Debug)]
pub(super) struct OpenConnection(Gauge);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Counts and logs refusals of one listener.
#[derive(Debug)]
pub struct RefusalReporter {
    metrics: ConnectionMetrics,
    log: Logger,
    started: Instant,
    lines: [LogThrottle; ConnectionRefusal::ALL.len()],
}

/// The log line of one kind.
#[derive(Debug, Default)]
struct LogThrottle {
    /// The second, counted from 1, in which the kind was last logged.
    logged: AtomicU64,
    suppressed: AtomicU64,
}

impl LogThrottle {
    /// Returns the number of suppressed events if this kind is to be logged in this second.
    fn admit(&self, second: u64) -> Option<u64> {
        let last = self.logged.load(Ordering::Relaxed);
        let is_first = last < second
            && self.logged.compare_exchange(last, second, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_first {
            return Some(self.suppressed.swap(0, Ordering::Relaxed));
        }
        self.suppressed.fetch_add(1, Ordering::Relaxed);
        None
    }
}

impl RefusalReporter {
    /// Makes the reporter of a listener.
    pub fn new(metrics: ConnectionMetrics, log: Logger) -> Arc<Self> {
        Arc::new(Self { metrics, log, started: Instant::now(), lines: Default::default() })
    }

    pub(super) fn metrics(&self) -> &ConnectionMetrics {
        &self.metrics
    }

    /// Counts a refusal, and logs it unless one of its kind was logged in this second.
    pub(super) fn record(&self, refusal: ConnectionRefusal, peer: Option<IpAddr>) {
        self.metrics.refused.get_or_create(&RefusalLabels { reason: refusal.name() }).inc();
        let Some(line) =
            ConnectionRefusal::ALL.iter().position(|kind| *kind == refusal).map(|at| &self.lines[at])
        else {
            return;
        };
        if let Some(suppressed) = line.admit(self.started.elapsed().as_secs() + 1) {
            warn!(self.log, "connection refused"; "reason" => refusal.name(),
                "peer" => peer.map(|peer| peer.to_canonical().to_string()), "suppressed" => suppressed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_kind_is_logged_once_a_second() {
        let line = LogThrottle::default();
        assert_eq!(line.admit(1), Some(0));
        assert_eq!((line.admit(1), line.admit(1)), (None, None));
        assert_eq!(line.admit(2), Some(2));
        assert_eq!(line.admit(2), None);
    }
}
