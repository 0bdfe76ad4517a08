//! The metrics of the registry.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use svc_model::DURATION_BUCKETS;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PausedLabels {
    channel: String,
}

/// The metrics of reloads and of paused channels. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RegistryMetrics {
    workflows: Gauge,
    reloads: Family<Labels, Counter>,
    durations: Histogram,
    paused: Family<PausedLabels, Gauge>,
}

impl Default for RegistryMetrics {
    fn default() -> Self {
        Self {
            workflows: Gauge::default(),
            reloads: Family::default(),
            durations: Histogram::new(DURATION_BUCKETS),
            paused: Family::default(),
        }
    }
}

impl RegistryMetrics {
    /// Registers `active_workflows`, `engine_reloads`, `engine_reload_duration_seconds` and `channel_paused`; the prefix
    /// is the registry's.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("active_workflows", "Loaded active workflows", self.workflows.clone());
        registry.register("engine_reloads", "Reloads by outcome", self.reloads.clone());
        registry.register("engine_reload_duration_seconds", "Time of a reload", self.durations.clone());
        registry.register("channel_paused", "1 for each channel that is paused", self.paused.clone());
    }

    pub(crate) fn record_reload(&self, success: bool, seconds: f64) {
        let status = if success { "success" } else { "failure" };
        self.reloads.get_or_create(&Labels { status }).inc();
        self.durations.observe(seconds);
    }

    pub(crate) fn set_workflow_count(&self, workflows: usize) {
        self.workflows.set(i64::try_from(workflows).unwrap_or(i64::MAX));
    }

    /// Shows a channel as paused, or not any more.
    pub(crate) fn set_paused(&self, channel: &str, is_paused: bool) {
        let labels = PausedLabels { channel: channel.to_owned() };
        if is_paused {
            self.paused.get_or_create(&labels).set(1);
        } else {
            self.paused.remove(&labels);
        }
    }
}
