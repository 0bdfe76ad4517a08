//! The metrics of the registry.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use svc_model::DURATION_BUCKETS;

/// The outcome of a reload that took effect.
const SUCCESS: &str = "success";
/// The outcome of a reload that left the definitions of before.
const FAILURE: &str = "failure";

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
        let reloads = Family::<Labels, Counter>::default();
        // Shown from the start, so that the first failure is a rise.
        for status in [SUCCESS, FAILURE] {
            drop(reloads.get_or_create(&Labels { status }));
        }
        Self {
            workflows: Gauge::default(),
            reloads,
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
        let status = if success { SUCCESS } else { FAILURE };
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

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn outcomes_are_shown_before_the_first_reload() {
        let mut registry = Registry::default();
        RegistryMetrics::default().register(&mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for status in [SUCCESS, FAILURE] {
            assert!(text.contains(&format!("engine_reloads_total{{status=\"{status}\"}} 0")), "{text}");
        }
    }
}
