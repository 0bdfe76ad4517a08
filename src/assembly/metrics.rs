//! The metrics of the parts.

use prometheus_client::registry::Registry;
use svc_channels::ChannelMetrics;
use svc_cluster::epoch::EpochMetrics;
use svc_cluster::nodes::NodeMetrics;
use svc_connectors::ConnectorMetrics;
use svc_console::ConsoleMetrics;
use svc_credentials::tokens::TokenMetrics;
use svc_cron::CronMetrics;
use svc_registry::RegistryMetrics;
use svc_spans::SpanMetrics;
use svc_traces::TraceMetrics;
use svc_transport::ConnectionMetrics;
use svc_webhooks::WebhookMetrics;

use crate::assembly::components::PluginMetrics;
use crate::config::Config;
use crate::housekeeping::JobMetrics;
use crate::http::{InFlightBytes, Metrics, RefusalPacer};
use crate::rollouts::CanaryMetrics;
use crate::telemetry::TelemetryMetrics;

/// The metrics of every part, registered.
pub(crate) struct ServiceMetrics {
    pub(crate) registry: Metrics,
    pub(crate) channels: ChannelMetrics,
    pub(crate) reloads: RegistryMetrics,
    pub(crate) traces: TraceMetrics,
    pub(crate) jobs: JobMetrics,
    pub(crate) rollouts: CanaryMetrics,
    pub(crate) nodes: NodeMetrics,
    pub(crate) cron: CronMetrics,
    pub(crate) connectors: ConnectorMetrics,
    pub(crate) console: ConsoleMetrics,
    pub(crate) webhooks: WebhookMetrics,
    pub(crate) plugins: PluginMetrics,
    pub(crate) epoch: EpochMetrics,
    pub(crate) tokens: TokenMetrics,
    pub(crate) spans: SpanMetrics,
    pub(crate) telemetry: TelemetryMetrics,
    pub(crate) connections: ConnectionMetrics,
    pub(crate) in_flight: InFlightBytes,
    pub(crate) pacer: RefusalPacer,
}

impl ServiceMetrics {
    /// Registers all of them; the order is that of the exposition. `host` are the metrics of an embedding application,
    /// and `instance` the name that every sample carries.
    pub(crate) fn register(config: &Config, host: Registry, instance: Option<&str>) -> Self {
        let mut metrics = Self {
            registry: Metrics::new(host, instance),
            channels: ChannelMetrics::default(),
            reloads: RegistryMetrics::default(),
            traces: TraceMetrics::default(),
            jobs: JobMetrics::default(),
            rollouts: CanaryMetrics::default(),
            nodes: NodeMetrics::default(),
            cron: CronMetrics::default(),
            connectors: ConnectorMetrics::default(),
            console: ConsoleMetrics::default(),
            webhooks: WebhookMetrics::default(),
            plugins: PluginMetrics::default(),
            epoch: EpochMetrics::default(),
            tokens: TokenMetrics::default(),
            spans: SpanMetrics::default(),
            telemetry: TelemetryMetrics::default(),
            connections: ConnectionMetrics::default(),
            in_flight: InFlightBytes::new(config.server.max_in_flight_bytes),
            pacer: RefusalPacer::new(),
        };
        metrics.nodes.register(metrics.registry.registry_mut());
        metrics.registry.register_channels(&metrics.channels);
        let registry = metrics.registry.registry_mut();
        metrics.in_flight.register(registry);
        metrics.pacer.register(registry);
        metrics.reloads.register(registry);
        metrics.traces.register(registry);
        metrics.cron.register(registry);
        metrics.jobs.register(registry);
        metrics.rollouts.register(registry);
        metrics.connectors.register(registry);
        metrics.console.register(registry);
        metrics.webhooks.register(registry);
        metrics.plugins.register(registry);
        metrics.epoch.register(registry);
        metrics.tokens.register(registry);
        metrics.spans.register(registry);
        metrics.telemetry.register(registry);
        metrics.connections.register(registry);
        metrics
    }
}
