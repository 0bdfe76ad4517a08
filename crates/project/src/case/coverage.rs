//! The parts of workflows that the cases of a suite went through.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use parking_lot::Mutex;
use svc_engine::StepResult;
use svc_model::EntityKind;

use crate::outline::{PartReach, WorkflowOutline};
use crate::project::Project;
use crate::run::{OfflineRun, OfflineWorkflow};

/// Collects the parts of workflows that runs go through, from all threads.
#[derive(Debug, Default)]
pub struct CoverageCollector(Mutex<BTreeMap<String, CoveredWorkflow>>);

#[derive(Debug)]
struct CoveredWorkflow {
    outline: WorkflowOutline,
    /// For each part, true if a run went through it.
    reached: Vec<bool>,
}

/// The number of parts that runs went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoveredCount {
    /// The parts that a run went through.
    pub covered: usize,
    /// All parts.
    pub total: usize,
}

/// The coverage of one workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowCoverage {
    /// Its id.
    pub workflow: String,
    pub tasks: CoveredCount,
    /// Both ways of its conditions: of the workflow, of groups, of tasks.
    pub branches: CoveredCount,
    /// A line for each part that no run went through, in the order of the workflow.
    pub missing: Vec<String>,
}

/// The coverage of workflows by cases, by their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoverageReport {
    /// The workflows, in the order of their ids.
    pub workflows: Vec<WorkflowCoverage>,
}

impl CoverageCollector {
    /// Adds the workflows of a project, so that those without a case count.
    pub fn add_project(&self, project: &Project) {
        let mut workflows = self.0.lock();
        for entity in project.entities(EntityKind::Workflow) {
            let stem = || Path::new(&entity.file).file_stem().and_then(|stem| stem.to_str());
            let id = entity.key().or_else(stem).unwrap_or("workflow");
            let outline = WorkflowOutline::read(&entity.document);
            workflows.entry(id.to_owned()).or_insert_with(|| CoveredWorkflow::new(outline));
        }
    }

    /// Adds the parts that a run of a workflow went through.
    pub(super) fn record(&self, workflow: &OfflineWorkflow, run: &OfflineRun) {
        let passes = read_passes(run);
        let is_matched = run.outcome().matched;
        let mut workflows = self.0.lock();
        let covered = workflows
            .entry(workflow.id().to_owned())
            .or_insert_with(|| CoveredWorkflow::new(workflow.outline().clone()));
        for (part, reached) in covered.outline.parts.iter().zip(&mut covered.reached) {
            *reached |= has_reached(&part.reach, is_matched, &passes);
        }
    }

    /// Returns the coverage by what was recorded.
    pub fn report(&self) -> CoverageReport {
        let workflows = self.0.lock();
        CoverageReport { workflows: workflows.iter().map(|(id, covered)| covered.report(id)).collect() }
    }
}

impl CoveredWorkflow {
    fn new(outline: WorkflowOutline) -> Self {
        let reached = vec![false; outline.parts.len()];
        Self { outline, reached }
    }

    fn report(&self, id: &str) -> WorkflowCoverage {
        let mut coverage = WorkflowCoverage {
            workflow: id.to_owned(),
            tasks: CoveredCount::default(),
            branches: CoveredCount::default(),
            missing: Vec::new(),
        };
        for (part, reached) in self.outline.parts.iter().zip(&self.reached) {
            let count = if part.is_task { &mut coverage.tasks } else { &mut coverage.branches };
            count.total += 1;
            if *reached {
                count.covered += 1;
            } else {
                coverage.missing.push(part.missing.clone());
            }
        }
        coverage
    }
}

impl CoverageReport {
    /// Returns the tasks of all workflows.
    pub fn tasks(&self) -> CoveredCount {
        self.workflows.iter().map(|workflow| workflow.tasks).fold(CoveredCount::default(), CoveredCount::add)
    }

    /// Returns the ways of all conditions.
    pub fn branches(&self) -> CoveredCount {
        self.workflows
            .iter()
            .map(|workflow| workflow.branches)
            .fold(CoveredCount::default(), CoveredCount::add)
    }

    /// Returns the covered share of all tasks and branches in whole per cent, rounded down; 100 if there are none.
    pub fn percent(&self) -> u8 {
        let all = self.tasks().add(self.branches());
        let percent = (all.covered * 100).checked_div(all.total).unwrap_or(100);
        u8::try_from(percent).unwrap_or(100)
    }
}

impl CoveredCount {
    fn add(self, other: Self) -> Self {
        Self { covered: self.covered + other.covered, total: self.total + other.total }
    }
}

/// The tasks of a sweep of a loop, or of a run without one.
#[derive(Default)]
struct RunPass<'r> {
    ran: HashSet<&'r str>,
    skipped: HashSet<&'r str>,
}

impl RunPass<'_> {
    fn runs_any(&self, tasks: &[String]) -> bool {
        tasks.iter().any(|task| self.ran.contains(task.as_str()))
    }
}

fn read_passes(run: &OfflineRun) -> Vec<RunPass<'_>> {
    let mut passes: HashMap<Option<i64>, RunPass<'_>> = HashMap::new();
    for step in run.outcome().trace.iter().flat_map(|trace| &trace.steps) {
        let Some(task) = step.task_id.as_deref() else { continue };
        let pass = passes.entry(step.loop_counter).or_default();
        match step.result {
            StepResult::Skipped => pass.skipped.insert(task),
            StepResult::Executed | StepResult::Failed => pass.ran.insert(task),
        };
    }
    passes.into_values().collect()
}

fn has_reached(reach: &PartReach, is_matched: bool, passes: &[RunPass<'_>]) -> bool {
    match reach {
        PartReach::Admission(expected) => *expected == is_matched,
        PartReach::Runs(tasks) => passes.iter().any(|pass| pass.runs_any(tasks)),
        PartReach::Skips { tasks, others, once } => passes.iter().any(|pass| {
            tasks.iter().all(|task| pass.skipped.contains(task.as_str()))
                && (others.is_empty() || pass.runs_any(others))
                && !(*once && pass.runs_any(tasks))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_that_was_entered_is_not_skipped() {
        let passes = [RunPass { ran: HashSet::from(["x"]), skipped: HashSet::from(["x"]) }];
        let skips = |once| PartReach::Skips { tasks: vec!["x".to_owned()], others: Vec::new(), once };
        assert!(!has_reached(&skips(true), true, &passes));
        assert!(has_reached(&skips(false), true, &passes), "of another element");
    }
}
