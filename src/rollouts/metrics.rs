//! Metrics of rollouts that move by themselves, and the names of those that wait for an operator.

use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use svc_model::gate::CanaryState;
use svc_store::CanaryRollout;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OpenCanaryLabels {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CanaryDecisionLabels {
    decision: &'static str,
}

/// The open rollouts by state, and the decisions of this node. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct CanaryMetrics {
    open: Family<OpenCanaryLabels, Gauge>,
    decisions: Family<CanaryDecisionLabels, Counter>,
    paused: Arc<Mutex<Vec<String>>>,
}

impl CanaryMetrics {
    /// Registers `canary_rollouts` and `canary_decisions`. The registry adds its prefix to the names.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register("canary_rollouts", "Rollouts that move by themselves, by state", self.open.clone());
        registry.register(
            "canary_decisions",
            "Decisions of this node over such rollouts",
            self.decisions.clone(),
        );
    }

    /// Returns the ids of the workflows whose rollouts are paused.
    pub(crate) fn list_paused(&self) -> Vec<String> {
        self.paused.lock().clone()
    }

    /// Stores the numbers of open rollouts, and the names of those that are paused.
    pub(super) fn set_open(&self, open: &[CanaryRollout]) {
        let paused = open.iter().filter(|rollout| rollout.state == CanaryState::Paused);
        *self.paused.lock() = paused.map(|rollout| rollout.workflow_id.clone()).collect();
        for state in [CanaryState::Watching, CanaryState::Paused] {
            let count = open.iter().filter(|rollout| rollout.state == state).count();
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.open.get_or_create(&OpenCanaryLabels { state: state.name() }).set(count);
        }
    }

    pub(super) fn count_decision(&self, decision: &'static str) {
        self.decisions.get_or_create(&CanaryDecisionLabels { decision }).inc();
    }
}
