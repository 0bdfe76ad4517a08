//! The runs of every task by version of its workflow, for those who look at one version.
//!
//! The metrics of tasks go on from one version to the next; these counts do not. Counting takes no lock and looks nothing
//! up, but for a run in which a task failed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use svc_engine::{CompiledWorkflow, RunOutcome, TaskTiming};
use svc_model::gate::{OutcomeCounts, SLOTS, slot_of};
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
            outcomes: OnceLock::new(),
        });
        counted.insert(version, Arc::downgrade(&counts));
        counts
    }

    /// Returns the outcomes of the versions that are or were compared with another one.
    pub(crate) fn outcomes(&self) -> Vec<(WorkflowVersion, OutcomeCounts)> {
        // Held until the lock is free: the drop of the last holder takes it.
        let counted: Vec<_> = self.0.lock().values().filter_map(Weak::upgrade).collect();
        let measured =
            counted.iter().filter_map(|counts| Some((counts.version.clone(), counts.outcomes.get()?.read())));
        measured.collect()
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
    /// Made once two versions share the traffic.
    outcomes: OnceLock<OutcomeMeter>,
}

/// The outcomes of the runs of a version, since it first shared the traffic.
#[derive(Debug)]
struct OutcomeMeter {
    errors: AtomicU64,
    /// Runs by the slot of their duration.
    durations: Box<[AtomicU64]>,
}

impl OutcomeMeter {
    fn new() -> Self {
        Self { errors: AtomicU64::new(0), durations: (0..SLOTS).map(|_| AtomicU64::new(0)).collect() }
    }

    fn count(&self, is_error: bool, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        if let Some(count) = self.durations.get(slot_of(nanoseconds)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if is_error {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn read(&self) -> OutcomeCounts {
        // Errors first: a run that ends meanwhile is not one without a run.
        let errors = self.errors.load(Ordering::Relaxed);
        let durations: Vec<u64> = self.durations.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        OutcomeCounts { runs: durations.iter().sum(), errors, durations }
    }
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
    /// Counts the outcomes of runs from now on.
    pub(crate) fn measure_outcomes(&self) {
        self.outcomes.get_or_init(OutcomeMeter::new);
    }

    /// Counts the outcome of a run, if the version shares the traffic.
    pub(crate) fn count_outcome(&self, is_error: bool, duration: Duration) {
        if let Some(outcomes) = self.outcomes.get() {
            outcomes.count(is_error, duration);
        }
    }

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
