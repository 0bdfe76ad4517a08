//! Durations of workflows and tasks, and runs by version of their workflow.
//!
//! A series is made when it is first counted and goes with the last definition that counts it, so that what
//! channels share is one series, a reload continues the same counts, and what was deleted leaves nothing
//! behind. Counting looks nothing up: every definition keeps the series of its tasks by their place.

mod task_counts;

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use svc_engine::{Flow, RunOutcome};
use svc_model::{DURATION_BUCKETS, WorkflowVersion};

use task_counts::VersionCounts;
pub(crate) use task_counts::VersionCountsPool;
pub use task_counts::{TaskTotals, VersionTotals};

/// Labels of `svc_workflow_duration_seconds`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct WorkflowLabels {
    workflow: String,
}

/// Labels of `svc_task_duration_seconds`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct TaskLabels {
    workflow: String,
    task: String,
    function: String,
}

/// Labels of `svc_workflow_runs_total`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct RunLabels {
    workflow: String,
    version: String,
    status: &'static str,
}

type Counted<L, M> = HashMap<L, Weak<Series<L, M>>>;

/// One metric and its series that are in use.
#[derive(Clone, Debug)]
pub(crate) struct SeriesPool<L: Clone + Debug + Eq + Hash, M: Clone + Debug = Histogram> {
    family: Family<L, M, fn() -> M>,
    counted: Arc<Mutex<Counted<L, M>>>,
}

impl<L: Clone + Debug + Eq + Hash> Default for SeriesPool<L> {
    fn default() -> Self {
        Self {
            family: Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS)),
            counted: Arc::default(),
        }
    }
}

impl<L: Clone + Debug + Eq + Hash> Default for SeriesPool<L, Counter> {
    fn default() -> Self {
        Self { family: Family::new_with_constructor(Counter::default), counted: Arc::default() }
    }
}

impl<L: Clone + Debug + Eq + Hash, M: Clone + Debug> SeriesPool<L, M> {
    /// The family to register.
    pub(crate) fn family(&self) -> Family<L, M, fn() -> M> {
        self.family.clone()
    }

    /// Returns the series of these labels, if it is in use.
    fn find(&self, labels: &L) -> Option<Arc<Series<L, M>>> {
        self.counted.lock().get(labels).and_then(Weak::upgrade)
    }

    /// The series of these labels.
    fn join(&self, labels: L) -> Arc<Series<L, M>> {
        let mut counted = self.counted.lock();
        if let Some(series) = counted.get(&labels).and_then(Weak::upgrade) {
            return series;
        }
        let metric = self.family.get_or_create_owned(&labels);
        let series = Arc::new(Series { pool: self.clone(), labels: labels.clone(), metric });
        counted.insert(labels, Arc::downgrade(&series));
        series
    }
}

/// One series. It is removed from its metric when it is dropped.
#[derive(Debug)]
struct Series<L: Clone + Debug + Eq + Hash, M: Clone + Debug> {
    pool: SeriesPool<L, M>,
    labels: L,
    metric: M,
}

impl<L: Clone + Debug + Eq + Hash, M: Clone + Debug> Drop for Series<L, M> {
    fn drop(&mut self) {
        let mut counted = self.pool.counted.lock();
        // Another user may have joined since the last one left.
        if counted.get(&self.labels).is_some_and(|series| series.strong_count() == 0) {
            counted.remove(&self.labels);
            self.pool.family.remove(&self.labels);
        }
    }
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunStatus {
    /// No task failed.
    Ok,
    /// Tasks failed and the workflow went on.
    Errors,
    /// An error stopped it.
    Failed,
}

impl RunStatus {
    const NAMES: [&'static str; 3] = ["ok", "errors", "failed"];

    const fn from_outcome(outcome: &RunOutcome) -> Self {
        match (&outcome.failure, outcome.errors.is_empty()) {
            (Some(_), _) => Self::Failed,
            (None, false) => Self::Errors,
            (None, true) => Self::Ok,
        }
    }
}

type Meter<L, M = Histogram> = OnceLock<Arc<Series<L, M>>>;

/// The meters of the workflow of one compiled channel.
#[derive(Debug)]
pub(crate) struct FlowMeters {
    workflows: SeriesPool<WorkflowLabels>,
    tasks: SeriesPool<TaskLabels>,
    runs: SeriesPool<RunLabels, Counter>,
    versions: Box<[VersionMeters]>,
}

#[derive(Debug)]
struct VersionMeters {
    /// The id it runs under.
    id: Arc<str>,
    version: WorkflowVersion,
    workflow: Meter<WorkflowLabels>,
    /// By status.
    runs: [Meter<RunLabels, Counter>; RunStatus::NAMES.len()],
    /// By the place of the task.
    tasks: Box<[Meter<TaskLabels>]>,
    /// The counts of this version alone.
    counts: Arc<VersionCounts>,
}

impl FlowMeters {
    pub(crate) fn new(
        workflows: SeriesPool<WorkflowLabels>,
        tasks: SeriesPool<TaskLabels>,
        runs: SeriesPool<RunLabels, Counter>,
        counts: &VersionCountsPool,
        flow: &Flow,
    ) -> Self {
        let versions = flow.running().map(|(id, version)| VersionMeters {
            id: Arc::clone(id),
            version: version.identity(),
            runs: RunStatus::NAMES.map(|status| meter(runs.find(&run_labels(&version.identity(), status)))),
            workflow: meter(workflows.find(&workflow_labels(id))),
            tasks: version
                .tasks()
                .map(|task| meter(tasks.find(&task_labels(id, task.id, task.function))))
                .collect(),
            counts: counts.join(version),
        });
        let versions: Box<[VersionMeters]> = versions.collect();
        if versions.len() > 1 {
            versions.iter().for_each(|version| version.counts.measure_outcomes());
        }
        Self { workflows, tasks, runs, versions }
    }

    /// Counts one run of the flow that these meters were made for.
    pub(crate) fn count(&self, flow: &Flow, outcome: &RunOutcome) {
        let timings = &outcome.timings;
        let Some(id) = &timings.workflow_id else { return };
        let Some(version) = self.versions.iter().find(|version| version.id == *id) else { return };
        let series = version.workflow.get_or_init(|| self.workflows.join(workflow_labels(id)));
        series.metric.observe(timings.workflow.as_secs_f64());
        let status = RunStatus::from_outcome(outcome);
        version.counts.count_outcome(status != RunStatus::Ok, timings.workflow);
        let status = status as usize;
        if let (Some(meter), Some(name)) = (version.runs.get(status), RunStatus::NAMES.get(status)) {
            meter.get_or_init(|| self.runs.join(run_labels(&version.version, name))).metric.inc();
        }
        version.counts.count_failures(outcome);
        for task in &timings.tasks {
            version.counts.count_task(task);
            let Some(meter) = version.tasks.get(task.position) else { continue };
            let series = meter.get().or_else(|| {
                let named = flow.version(id)?.task(task.position)?;
                Some(meter.get_or_init(|| self.tasks.join(task_labels(id, named.id, named.function))))
            });
            if let Some(series) = series {
                series.metric.observe(task.duration.as_secs_f64());
            }
        }
    }

    /// Returns the counts of a version; `None` if the flow does not have it.
    pub(crate) fn totals(&self, version: &WorkflowVersion) -> Option<VersionTotals> {
        let meters = self.versions.iter().find(|meters| meters.version == *version)?;
        // Another channel may have been the first to count a run that ended like this.
        let runs = RunStatus::NAMES.map(|status| {
            self.runs.find(&run_labels(version, status)).map_or(0, |series| series.metric.get())
        });
        let [.., failed] = runs;
        Some(meters.counts.totals(runs.iter().sum(), failed))
    }
}

fn meter<L, M>(series: Option<Arc<Series<L, M>>>) -> Meter<L, M>
where
    L: Clone + Debug + Eq + Hash,
    M: Clone + Debug,
{
    series.map_or_else(OnceLock::new, OnceLock::from)
}

fn workflow_labels(workflow: &str) -> WorkflowLabels {
    WorkflowLabels { workflow: workflow.to_owned() }
}

fn task_labels(workflow: &str, task: &str, function: &str) -> TaskLabels {
    TaskLabels { workflow: workflow.to_owned(), task: task.to_owned(), function: function.to_owned() }
}

fn run_labels(workflow: &WorkflowVersion, status: &'static str) -> RunLabels {
    RunLabels { workflow: workflow.id.to_string(), version: workflow.version.to_string(), status }
}
