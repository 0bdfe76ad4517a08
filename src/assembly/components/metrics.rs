//! Metrics of the calls of plugins.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use svc_model::DURATION_BUCKETS;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PluginCallLabels {
    function: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PluginFunctionLabels {
    function: &'static str,
}

/// The calls of plugins by function and outcome. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct PluginMetrics {
    calls: Family<PluginCallLabels, Counter>,
    durations: Family<PluginFunctionLabels, Histogram, fn() -> Histogram>,
}

impl Default for PluginMetrics {
    fn default() -> Self {
        Self {
            calls: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS)),
        }
    }
}

impl PluginMetrics {
    /// Registers the families. The registry adds its prefix to the names.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register("plugin_calls", "Calls of functions of plugins by outcome", self.calls.clone());
        registry.register(
            "plugin_call_duration_seconds",
            "Time a call of a function of a plugin took, its wait for a permit included",
            self.durations.clone(),
        );
    }
}

#[cfg(feature = "plugins")]
impl svc_plugins::PluginCallObserver for PluginMetrics {
    fn note_call(&self, function: &'static str, outcome: &'static str, duration: std::time::Duration) {
        self.calls.get_or_create(&PluginCallLabels { function, outcome }).inc();
        self.durations.get_or_create(&PluginFunctionLabels { function }).observe(duration.as_secs_f64());
    }
}
