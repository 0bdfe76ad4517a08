//! The levels of the node as metrics: readiness, quarantine, open breakers, bounds. Read at the scrape, so that a series
//! ends with what it is about.

use std::fmt;

use actix_supervision::NodeState;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use svc_connectors::BreakerState;
use svc_store::DatabaseStatus;

use super::exposition::ExpositionFormat;
use crate::state::AppState;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QuarantineLabels {
    channel: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BreakerLabels {
    connector: String,
    channel: String,
}

/// Returns all metrics of a node in a format. `redis` is the answer of the Redis server of the cluster, if it was asked.
///
/// # Errors
/// A metric fails to write itself.
pub(crate) fn render(
    state: &AppState,
    format: ExpositionFormat,
    redis: Option<bool>,
) -> Result<String, fmt::Error> {
    // Sets the gauge of Kafka ingress.
    state.kafka_troubles();
    let mut levels = state.metrics.empty_registry();
    register(state, redis, &mut levels);
    state.metrics.render_as(format, &levels)
}

/// Registers the levels of a node as they are now.
fn register(state: &AppState, redis: Option<bool>, registry: &mut Registry) {
    registry.register("ready", "1 while this node is ready to serve", level(state.is_ready(redis)));
    let is_up = state.store.status() == DatabaseStatus::Ok;
    registry.register("database_up", "1 while the database answers", level(is_up));
    register_quarantine(state, registry);
    register_breakers(state, registry);
    register_bounds(state, registry);
    let expiry = state.process.certificates.as_ref().and_then(|certificates| certificates.expiry());
    if let Some(expiry) = expiry {
        registry.register(
            "tls_certificate_expiry_timestamp_seconds",
            "End of the validity of the certificate of the listeners",
            gauge(expiry),
        );
    }
    if let Some(dropped) = &state.process.dropped_messages {
        let counter = Counter::<u64>::default();
        counter.inc_by(dropped.count());
        registry.register(
            "log_messages_dropped",
            "Messages that the queue of the log had no room for",
            counter,
        );
    }
}

fn register_quarantine(state: &AppState, registry: &mut Registry) {
    let channels = Family::<QuarantineLabels, Gauge>::default();
    let snapshot = state.serving.registry.snapshot();
    for (entry, _) in snapshot.quarantined_channels() {
        channels.get_or_create(&QuarantineLabels { channel: entry.name().to_owned() }).set(1);
    }
    registry.register("channel_quarantined", "1 for each channel that is quarantined", channels);
    let tree = state.tree.snapshot();
    let actors = tree.nodes.iter().filter(|node| node.state == NodeState::Quarantined).count();
    registry.register("actors_quarantined", "Actors that failed too often and are stopped", gauge(actors));
}

fn register_breakers(state: &AppState, registry: &mut Registry) {
    let open = Family::<BreakerLabels, Gauge>::default();
    for status in state.serving.connectors.statuses() {
        let breakers = state.serving.connectors.breakers_of(&status.name);
        for breaker in breakers.into_iter().filter(|breaker| breaker.state != BreakerState::Closed) {
            let labels = BreakerLabels { connector: status.name.to_string(), channel: breaker.channel };
            open.get_or_create(&labels).set(1);
        }
    }
    registry.register("circuit_breaker_open", "1 for each breaker that is open or tries a call", open);
}

fn register_bounds(state: &AppState, registry: &mut Registry) {
    let queue = &state.config.trace_queue;
    let in_flight = state.edge.in_flight.limit();
    for (name, help, bound) in [
        ("trace_queue_max_jobs", "Accepted jobs that may wait on this node", Some(queue.buffer_size)),
        (
            "trace_queue_max_memory_bytes",
            "Bytes of accepted jobs that may wait on this node",
            Some(queue.max_queue_memory_bytes).filter(|bytes| *bytes > 0),
        ),
        (
            "trace_waiting_max",
            "Accepted work of the whole service that may wait in the database",
            usize::try_from(queue.max_waiting).ok(),
        ),
        ("in_flight_max_bytes", "Bytes that messages in flight may hold", in_flight),
    ] {
        if let Some(bound) = bound {
            registry.register(name, help, gauge(bound));
        }
    }
}

fn level(is_so: bool) -> Gauge {
    gauge(u8::from(is_so))
}

fn gauge(value: impl TryInto<i64>) -> Gauge {
    let gauge = Gauge::default();
    gauge.set(value.try_into().unwrap_or(i64::MAX));
    gauge
}
