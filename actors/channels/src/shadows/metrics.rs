//! The metrics of shadows. Every kind and reason is there from the beginning.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// The results of a shadow run: it is the same as the run that it follows, or differs.
const SAME: &str = "same";
const DIFFERENT: &str = "different";

/// The reason for which a run has no shadow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShadowDropReason {
    /// As many shadows as permitted wait or run.
    Busy,
    /// The thread had other work.
    ThreadBusy,
    /// The run, or a call of it, is too large to be kept.
    TooLarge,
    /// The message holds secrets of a caller.
    Confidential,
    /// The run did not come to its end.
    Unfinished,
}

impl ShadowDropReason {
    pub(super) const ALL: [Self; 5] =
        [Self::Busy, Self::ThreadBusy, Self::TooLarge, Self::Confidential, Self::Unfinished];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::ThreadBusy => "thread_busy",
            Self::TooLarge => "too_large",
            Self::Confidential => "confidential",
            Self::Unfinished => "unfinished",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ShadowResultLabels {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ShadowKindLabels {
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ShadowDropLabels {
    reason: &'static str,
}

/// The metrics of the shadows of all channels. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ShadowMetrics {
    runs: Family<ShadowResultLabels, Counter>,
    differences: Family<ShadowKindLabels, Counter>,
    dropped: Family<ShadowDropLabels, Counter>,
    unanswered: Counter,
}

impl Default for ShadowMetrics {
    fn default() -> Self {
        let metrics = Self {
            runs: Family::default(),
            differences: Family::default(),
            dropped: Family::default(),
            unanswered: Counter::default(),
        };
        for result in [SAME, DIFFERENT] {
            drop(metrics.runs.get_or_create(&ShadowResultLabels { result }));
        }
        for reason in ShadowDropReason::ALL {
            drop(metrics.dropped.get_or_create(&ShadowDropLabels { reason: reason.name() }));
        }
        metrics
    }
}

impl ShadowMetrics {
    /// Registers `shadow_runs`, `shadow_differences`, `shadow_dropped` and `shadow_unanswered`.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register("shadow_runs", "Shadow runs by their result", self.runs.clone());
        registry.register(
            "shadow_differences",
            "Shadow runs by kind of difference",
            self.differences.clone(),
        );
        registry.register("shadow_dropped", "Runs without the shadow they should have", self.dropped.clone());
        registry.register(
            "shadow_unanswered",
            "Calls of shadows that were not made",
            self.unanswered.clone(),
        );
    }

    /// Makes the series of these kinds of differences.
    pub(crate) fn declare_kinds(&self, kinds: impl Iterator<Item = &'static str>) {
        for kind in kinds {
            drop(self.differences.get_or_create(&ShadowKindLabels { kind }));
        }
    }

    pub(super) fn count_run(&self, kinds: &[&'static str]) {
        let result = if kinds.is_empty() { SAME } else { DIFFERENT };
        self.runs.get_or_create(&ShadowResultLabels { result }).inc();
        for kind in kinds {
            self.differences.get_or_create(&ShadowKindLabels { kind }).inc();
        }
    }

    pub(super) fn count_dropped(&self, reason: &'static str) {
        self.dropped.get_or_create(&ShadowDropLabels { reason }).inc();
    }

    pub(super) fn count_unanswered(&self, calls: u64) {
        self.unanswered.inc_by(calls);
    }
}
