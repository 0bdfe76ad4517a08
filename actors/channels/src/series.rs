//! Durations of workflows and tasks.
//!
//! A series is made when it is first counted and goes with the last definition that counts it, so that what channels
//! share is one series, a reload goes on counting where it was, and what was deleted leaves nothing behind. Counting
//! looks nothing up: every definition keeps the series of its tasks by their place.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use svc_engine::{Flow, Timings};

use crate::metrics::SECONDS;

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

pub(crate) type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// One metric and the series of it that somebody counts.
#[derive(Clone, Debug)]
pub(crate) struct Pool<L: Clone + Debug + Eq + Hash> {
    family: Histograms<L>,
    counted: Arc<Mutex<HashMap<L, Weak<Series<L>>>>>,
}

impl<L: Clone + Debug + Eq + Hash> Default for Pool<L> {
    fn default() -> Self {
        Self { family: Family::new_with_constructor(|| Histogram::new(SECONDS)), counted: Arc::default() }
    }
}

impl<L: Clone + Debug + Eq + Hash> Pool<L> {
    /// The family to register.
    pub(crate) fn family(&self) -> Histograms<L> {
        self.family.clone()
    }

    /// The series of these labels, if somebody counts it.
    fn find(&self, labels: &L) -> Option<Arc<Series<L>>> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).get(labels).and_then(Weak::upgrade)
    }

    /// The series of these labels.
    fn join(&self, labels: L) -> Arc<Series<L>> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(series) = counted.get(&labels).and_then(Weak::upgrade) {
            return series;
        }
        let histogram = self.family.get_or_create_owned(&labels);
        let series = Arc::new(Series { pool: self.clone(), labels: labels.clone(), histogram });
        counted.insert(labels, Arc::downgrade(&series));
        series
    }
}

/// One series, for as long as somebody counts it.
#[derive(Debug)]
struct Series<L: Clone + Debug + Eq + Hash> {
    pool: Pool<L>,
    labels: L,
    histogram: Histogram,
}

impl<L: Clone + Debug + Eq + Hash> Drop for Series<L> {
    fn drop(&mut self) {
        let mut counted = self.pool.counted.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody may have joined anew since the last one left.
        if counted.get(&self.labels).is_some_and(|series| series.strong_count() == 0) {
            counted.remove(&self.labels);
            self.pool.family.remove(&self.labels);
        }
    }
}

type Meter<L> = OnceLock<Arc<Series<L>>>;

/// What one definition counts of its workflow.
#[derive(Debug)]
pub(crate) struct FlowMeters {
    workflows: Pool<WorkflowLabels>,
    tasks: Pool<TaskLabels>,
    versions: Box<[VersionMeters]>,
}

#[derive(Debug)]
struct VersionMeters {
    id: Arc<str>,
    workflow: Meter<WorkflowLabels>,
    /// By the place of the task.
    tasks: Box<[Meter<TaskLabels>]>,
}

impl FlowMeters {
    pub(crate) fn new(workflows: Pool<WorkflowLabels>, tasks: Pool<TaskLabels>, flow: &Flow) -> Self {
        let versions = flow.running().map(|(id, version)| VersionMeters {
            id: Arc::clone(id),
            workflow: meter(workflows.find(&workflow_labels(id))),
            tasks: version
                .tasks()
                .map(|(task, function)| meter(tasks.find(&task_labels(id, task, function))))
                .collect(),
        });
        let versions = versions.collect();
        Self { workflows, tasks, versions }
    }

    /// Counts one run.
    pub(crate) fn count(&self, timings: &Timings) {
        let Some(id) = &timings.workflow_id else { return };
        let Some(version) = self.versions.iter().find(|version| version.id == *id) else { return };
        let series = version.workflow.get_or_init(|| self.workflows.join(workflow_labels(id)));
        series.histogram.observe(timings.workflow.as_secs_f64());
        for task in &timings.tasks {
            let Some(meter) = version.tasks.get(task.position) else { continue };
            let series =
                meter.get_or_init(|| self.tasks.join(task_labels(id, &task.task_id, &task.function)));
            series.histogram.observe(task.duration.as_secs_f64());
        }
    }
}

fn meter<L: Clone + Debug + Eq + Hash>(series: Option<Arc<Series<L>>>) -> Meter<L> {
    series.map_or_else(OnceLock::new, OnceLock::from)
}

fn workflow_labels(workflow: &str) -> WorkflowLabels {
    WorkflowLabels { workflow: workflow.to_owned() }
}

fn task_labels(workflow: &str, task: &str, function: &str) -> TaskLabels {
    TaskLabels { workflow: workflow.to_owned(), task: task.to_owned(), function: function.to_owned() }
}
