//! The reports of a node: what it has counted of both versions within the present step.

use std::collections::HashMap;

use parking_lot::Mutex;
use svc_channels::ChannelMetrics;
use svc_model::WorkflowVersion;
use svc_model::gate::{CanaryState, OutcomeCounts};
use svc_model::id::new_ordered_id;
use svc_store::{CanaryReport, CanaryRollout, Store, StoreError};

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
}

/// Reports the counts of this process. What it counted before it saw a step belongs to none.
pub(super) struct CanaryReporter {
    store: Store,
    channels: ChannelMetrics,
    /// A name that no other process has, because each counts from zero.
    id: String,
    reported: Mutex<HashMap<StepVersion, ReportedCounts>>,
}

impl CanaryReporter {
    pub(super) fn new(store: Store, channels: ChannelMetrics) -> Self {
        Self { store, channels, id: new_ordered_id().to_string(), reported: Mutex::default() }
    }

    /// Reports what was counted since the last report.
    pub(super) async fn report(&self, open: &[CanaryRollout]) -> Result<(), StoreError> {
        let reports = self.collect(open);
        if reports.is_empty() {
            return Ok(());
        }
        // A report that is lost is part of the next one.
        self.store.canary_rollouts().report(reports).await
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
                let known = reported
                    .entry(key)
                    .or_insert_with(|| ReportedCounts { first: counts.clone(), last_runs: counts.runs });
                if counts.runs == known.last_runs {
                    continue;
                }
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
