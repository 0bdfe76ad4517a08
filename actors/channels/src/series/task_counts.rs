//! The runs of every task by version of its workflow, for those who look at one version.
//!
//! The metrics of tasks go on from one version to the next; these counts do not. Counting takes no lock and looks nothing
//! up, but for a run in which a task failed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use svc_engine::{CompiledWorkflow, RunOutcome, TaskTiming};
use svc_model::{Timestamp, WorkflowVersion};

/// The status from which on the record of a task is that of a failure.
const FAILED: u16 = 400;

/// The counts of a task since this node serves its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskTotals {
    /// Id of the task.
    pub task: String,
    /// The function that it calls.
    pub function: String,
    /// Number of times that it ran.
    pub runs: u64,
    /// Number of those in which it failed, tolerated or not.
    pub errors: u64,
    /// The time that they took together, in nanoseconds.
    pub nanoseconds: u64,
}

/// The counts of a version of a workflow since this node serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionTotals {
    /// The time since which the node counts.
    pub since: Timestamp,
    /// Number of runs that ended.
    pub runs: u64,
    /// Number of those that an error ended.
    pub failed: u64,
    /// The tasks, in the order of the workflow.
    pub tasks: Vec<TaskTotals>,
}

/// The counts of the versions that channels run. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct VersionCountsPool(Arc<Mutex<HashMap<WorkflowVersion, Weak<VersionCounts>>>>);

impl VersionCountsPool {
    /// Returns the counts of a version, which all channels that run it share.
    pub(crate) fn join(&self, workflow: &CompiledWorkflow) -> Arc<VersionCounts> {
        let version = workflow.identity();
        let mut counted = self.0.lock();
        if let Some(counts) = counted.get(&version).and_then(Weak::upgrade) {
            return counts;
        }
        let tasks = workflow.tasks().map(|task| TaskCounts {
            task: task.id.into(),
            function: task.function.into(),
            ..TaskCounts::default()
        });
        let counts = Arc::new(VersionCounts {
            pool: self.clone(),
            version: version.clone(),
            since: Timestamp::now(),
            tasks: tasks.collect(),
        });
        counted.insert(version, Arc::downgrade(&counts));
        counts
    }
}

/// The counts of one version. They end with the last channel that runs it.
#[derive(Debug)]
pub(crate) struct VersionCounts {
    pool: VersionCountsPool,
    version: WorkflowVersion,
    since: Timestamp,
    /// By the place of the task.
    tasks: Box<[TaskCounts]>,
}

#[derive(Debug, Default)]
struct TaskCounts {
    task: Box<str>,
    function: Box<str>,
    runs: AtomicU64,
    errors: AtomicU64,
    nanoseconds: AtomicU64,
}

impl VersionCounts {
    /// Counts a task that ran.
    pub(crate) fn count_task(&self, timing: &TaskTiming) {
        if let Some(counts) = self.tasks.get(timing.position) {
            let nanoseconds = u64::try_from(timing.duration.as_nanos()).unwrap_or(u64::MAX);
            counts.runs.fetch_add(1, Ordering::Relaxed);
            counts.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        }
    }

    /// Counts the failures of tasks in a run.
    pub(crate) fn count_failures(&self, outcome: &RunOutcome) {
        if outcome.errors.is_empty() {
            return;
        }
        for entry in outcome.audit_trail.iter().filter(|entry| entry.status >= FAILED) {
            if let Some(counts) = self.tasks.iter().find(|counts| *counts.task == *entry.task_id) {
                counts.errors.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Returns the counts with those of the runs of the version.
    pub(crate) fn totals(&self, runs: u64, failed: u64) -> VersionTotals {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let tasks = self.tasks.iter().map(|counts| TaskTotals {
            task: counts.task.to_string(),
            function: counts.function.to_string(),
            runs: load(&counts.runs),
            errors: load(&counts.errors),
            nanoseconds: load(&counts.nanoseconds),
        });
        VersionTotals { since: self.since, runs, failed, tasks: tasks.collect() }
    }
}

impl Drop for VersionCounts {
    fn drop(&mut self) {
        let mut counted = self.pool.0.lock();
        // Another channel may have joined anew since the last one left.
        if counted.get(&self.version).is_some_and(|counts| counts.strong_count() == 0) {
            counted.remove(&self.version);
        }
    }
}
