//! The reports of a node: what it has counted of both versions within the present step.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use svc_channels::ChannelMetrics;
use svc_model::WorkflowVersion;
use svc_model::gate::{CanaryState, CompareCounts, OutcomeCounts};
use svc_model::id::new_ordered_id;
use svc_store::{CanaryReport, CanaryRollout, ShadowReport, Store, StoreError};

/// A version within a step of a rollout.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct StepVersion {
    rollout: String,
    step: usize,
    version: i64,
}

/// The counts of a version when its step was first seen, and when they were last reported.
#[derive(Clone, Debug)]
struct ReportedCounts {
    first: OutcomeCounts,
    last_runs: u64,
    /// The last report may not have been stored.
    is_lost: bool,
}

/// A step of a rollout that compares runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ComparedStep {
    rollout: String,
    step: usize,
}

/// The compared runs when their step was first seen, and when they were last reported.
#[derive(Clone, Copy, Debug, Default)]
struct ReportedComparisons {
    first: CompareCounts,
    last: CompareCounts,
    /// The counts from before a pause, after which they began anew.
    carried: CompareCounts,
    /// The last report may not have been stored.
    is_lost: bool,
}

impl ReportedComparisons {
    /// Takes the present counts, and returns those of the step.
    fn follow(&mut self, counts: CompareCounts) -> CompareCounts {
        if counts.runs < self.last.runs {
            self.carried.add(self.last.since(self.first));
            self.first = CompareCounts::default();
        }
        self.last = counts;
        let mut all = self.carried;
        all.add(counts.since(self.first));
        all
    }
}

/// Reports the counts of this process. What it counted before it saw a step belongs to none.
pub(super) struct CanaryReporter {
    store: Store,
    channels: ChannelMetrics,
    /// A name that no other process has, because each counts from zero.
    id: String,
    reported: Mutex<HashMap<StepVersion, ReportedCounts>>,
    compared: Mutex<HashMap<ComparedStep, ReportedComparisons>>,
}

impl CanaryReporter {
    pub(super) fn new(store: Store, channels: ChannelMetrics) -> Self {
        Self {
            store,
            channels,
            id: new_ordered_id().to_string(),
            reported: Mutex::default(),
            compared: Mutex::default(),
        }
    }

    /// Reports what was counted since the last report.
    pub(super) async fn report(&self, open: &[CanaryRollout]) -> Result<(), StoreError> {
        let (reports, shadows) = (self.collect(open), self.collect_shadows(open));
        let stored = self.store_reports(reports, shadows).await;
        if stored.is_err() {
            self.mark_lost();
        }
        stored
    }

    async fn store_reports(
        &self,
        reports: Vec<CanaryReport>,
        shadows: Vec<ShadowReport>,
    ) -> Result<(), StoreError> {
        if !shadows.is_empty() {
            self.store.canary_rollouts().report_shadows(shadows).await?;
        }
        if reports.is_empty() {
            return Ok(());
        }
        self.store.canary_rollouts().report(reports).await
    }

    /// Lets the next reports hold what the last ones held, even if no run ends until then: each replaces the one before.
    fn mark_lost(&self) {
        self.reported.lock().values_mut().for_each(|known| known.is_lost = true);
        self.compared.lock().values_mut().for_each(|known| known.is_lost = true);
    }

    fn collect_shadows(&self, open: &[CanaryRollout]) -> Vec<ShadowReport> {
        let mut compared = self.compared.lock();
        compared.retain(|key, _| open.iter().any(|one| one.id == key.rollout && one.step == key.step));
        let has_shadow = |one: &&CanaryRollout| one.plan.shadow || one.plan.gate.compare.is_some();
        let watched: Vec<_> =
            open.iter().filter(|one| one.state == CanaryState::Watching).filter(has_shadow).collect();
        if watched.is_empty() {
            return Vec::new();
        }
        let counted: HashMap<Arc<str>, CompareCounts> = self.channels.compared_runs().into_iter().collect();
        let mut reports = Vec::new();
        for rollout in watched {
            let Some(counts) = counted.get(rollout.id.as_str()) else { continue };
            let key = ComparedStep { rollout: rollout.id.clone(), step: rollout.step };
            // The first step is seen before a shadow has run; of the others, what was counted before belongs to the last.
            let known = compared.entry(key).or_insert_with(|| match rollout.step {
                0 => ReportedComparisons::default(),
                _ => ReportedComparisons { first: *counts, last: *counts, ..ReportedComparisons::default() },
            });
            if counts.runs == known.last.runs && !known.is_lost {
                continue;
            }
            known.is_lost = false;
            reports.push(ShadowReport {
                rollout_id: rollout.id.clone(),
                step: rollout.step,
                reporter: self.id.clone(),
                counts: known.follow(*counts),
            });
        }
        reports
    }

    fn collect(&self, open: &[CanaryRollout]) -> Vec<CanaryReport> {
        let mut reported = self.reported.lock();
        reported.retain(|key, _| open.iter().any(|one| one.id == key.rollout && one.step == key.step));
        let watched: Vec<_> = open.iter().filter(|one| one.state == CanaryState::Watching).collect();
        if watched.is_empty() {
            return Vec::new();
        }
        let counted: HashMap<WorkflowVersion, OutcomeCounts> =
            self.channels.version_outcomes().into_iter().collect();
        let mut reports = Vec::new();
        for rollout in watched {
            for version in [rollout.canary_version, rollout.stable_version] {
                let named = WorkflowVersion { id: rollout.workflow_id.as_str().into(), version };
                let Some(counts) = counted.get(&named) else { continue };
                let key = StepVersion { rollout: rollout.id.clone(), step: rollout.step, version };
                let known = reported.entry(key).or_insert_with(|| ReportedCounts {
                    first: counts.clone(),
                    last_runs: counts.runs,
                    is_lost: false,
                });
                if counts.runs == known.last_runs && !known.is_lost {
                    continue;
                }
                known.is_lost = false;
                known.last_runs = counts.runs;
                reports.push(CanaryReport {
                    rollout_id: rollout.id.clone(),
                    step: rollout.step,
                    version,
                    reporter: self.id.clone(),
                    counts: counts.since(&known.first),
                });
            }
        }
        reports
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_go_on_after_a_pause() {
        let counts = |runs, different| CompareCounts { runs, different };
        let mut known =
            ReportedComparisons { first: counts(10, 1), last: counts(10, 1), ..Default::default() };
        assert_eq!(known.follow(counts(15, 3)), counts(5, 2));
        assert_eq!(known.follow(counts(4, 0)), counts(9, 2));
        assert_eq!(known.follow(counts(6, 1)), counts(11, 3));
    }
}
