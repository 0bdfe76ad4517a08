//! A workflow made ready to run: tasks in one flat list, groups as spans over it.

use std::fmt;
use std::sync::Arc;

use svc_model::WorkflowVersion;
use uuid::Uuid;

use crate::builtin::Builtin;
use crate::expression::Condition;
use crate::function::CompiledTask;
use crate::reads::Reads;
use crate::workflow::loop_spec::Loop;

/// A compiled workflow. Cheap to share between threads.
pub struct CompiledWorkflow {
    pub(crate) id: Arc<str>,
    /// `{id}:v{version}`: the name it runs under while versions share the traffic.
    pub(crate) versioned_id: Arc<str>,
    pub(crate) version: i64,
    /// Of what its author wrote.
    pub(crate) content_hash: Box<str>,
    pub(crate) condition: Condition,
    pub(crate) steps: Box<[CompiledStep]>,
    /// The union of everything that its conditions and built-ins read.
    pub(crate) reads: Reads,
    /// Sorted by start; an outer group comes before those inside it.
    pub(crate) spans: Box<[Span]>,
    pub(crate) looping: Option<Loop>,
    pub(crate) continue_on_error: bool,
}

impl CompiledWorkflow {
    /// Returns the workflow's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the workflow's version.
    pub fn version(&self) -> i64 {
        self.version
    }

    /// Names this version apart from the others of its workflow.
    pub fn identity(&self) -> WorkflowVersion {
        WorkflowVersion { id: Arc::clone(&self.id), version: self.version }
    }

    /// Returns the hash of what its author wrote.
    pub fn content_hash(&self) -> &str {
        &self.content_hash
    }

    /// Returns `true` if a run may look at the metadata of its message: an expression or a path reads there, or a task is
    /// none of the built-ins, which may read anything.
    pub fn reads_metadata(&self) -> bool {
        let is_task = |step: &CompiledStep| matches!(step.action, StepAction::Task(_));
        !self.reads.metadata.is_nothing() || self.steps.iter().any(is_task)
    }

    /// Ids of its tasks, in order.
    pub fn task_ids(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| &*step.id)
    }

    /// Its tasks, in order.
    pub fn tasks(&self) -> impl Iterator<Item = TaskNames<'_>> {
        self.steps.iter().map(CompiledStep::names)
    }

    /// Returns the task at a place among them.
    pub fn task(&self, position: usize) -> Option<TaskNames<'_>> {
        self.steps.get(position).map(CompiledStep::names)
    }
}

impl fmt::Debug for CompiledWorkflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledWorkflow")
            .field("id", &self.versioned_id)
            .field("tasks", &self.steps.len())
            .finish()
    }
}

/// The names of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskNames<'w> {
    /// Its id.
    pub id: &'w str,
    /// The function it calls.
    pub function: &'w str,
    /// The connector it calls it through, if its input names one.
    pub connector: Option<&'w str>,
}

/// One task.
pub(crate) struct CompiledStep {
    /// Its place among the tasks of the workflow.
    pub(crate) position: usize,
    pub(crate) id: Arc<str>,
    pub(crate) function: Arc<str>,
    /// The connector its input names.
    pub(crate) connector: Option<Arc<str>>,
    pub(crate) condition: Condition,
    pub(crate) action: StepAction,
    pub(crate) continue_on_error: bool,
    pub(crate) terminal: bool,
}

impl CompiledStep {
    fn names(&self) -> TaskNames<'_> {
        TaskNames { id: &self.id, function: &self.function, connector: self.connector.as_deref() }
    }
}

/// The action of a task.
pub(crate) enum StepAction {
    Builtin(Builtin),
    Task(Box<dyn CompiledTask>),
}

/// One group: the tasks from `start` to before `end`.
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) condition: Condition,
    pub(crate) terminal: bool,
}

/// The active versions of the workflow of a channel, with their shares of the traffic in percent.
#[derive(Debug, Clone, Default)]
pub struct Flow {
    /// The versions and their shares.
    pub versions: Vec<(Arc<CompiledWorkflow>, u8)>,
}

impl Flow {
    /// Creates a flow of one version that takes everything.
    pub fn single(workflow: CompiledWorkflow) -> Self {
        Self { versions: vec![(Arc::new(workflow), 100)] }
    }

    /// Returns `true` if a run of any version may look at the metadata of its message.
    pub fn reads_metadata(&self) -> bool {
        self.versions.iter().any(|(workflow, _)| workflow.reads_metadata())
    }

    /// Returns the versions with the ids they run under, as audit, traces and timings name them.
    pub fn running(&self) -> impl Iterator<Item = (&Arc<str>, &CompiledWorkflow)> {
        let alone = matches!(self.versions.as_slice(), [(_, 100)]);
        self.versions
            .iter()
            .map(move |(version, _)| (if alone { &version.id } else { &version.versioned_id }, &**version))
    }

    /// Returns the version that runs under an id.
    pub fn version(&self, running_id: &str) -> Option<&CompiledWorkflow> {
        self.running().find(|(id, _)| &***id == running_id).map(|(_, version)| version)
    }

    /// Returns the version that runs a message of that bucket, or without a bucket the one of that id.
    pub fn version_for(&self, bucket: Option<u8>, message: Uuid) -> Option<WorkflowVersion> {
        Some(self.pick(self.bucket_of(bucket, message))?.0.identity())
    }

    /// Returns that version and the id it runs under.
    pub(crate) fn pick_version(&self, version: i64) -> Option<(&CompiledWorkflow, &Arc<str>)> {
        self.running().find(|(_, workflow)| workflow.version == version).map(|(id, workflow)| (workflow, id))
    }

    /// Returns `true` if it has that version of the workflow with that id.
    pub fn has_version(&self, version: &WorkflowVersion) -> bool {
        self.versions.iter().any(|(workflow, _)| workflow.identity() == *version)
    }

    /// Returns the bucket of a message: its own, or the one of its id, which matters to several versions only.
    pub(crate) fn bucket_of(&self, bucket: Option<u8>, message: Uuid) -> u8 {
        match (bucket, self.versions.as_slice()) {
            (Some(bucket), _) => bucket,
            (None, [_]) => 0,
            (None, _) => svc_model::rollout::bucket(&message.to_string()),
        }
    }

    /// Returns the version that owns a bucket, and the id it runs under. The newest takes the lowest buckets.
    pub(crate) fn pick(&self, bucket: u8) -> Option<(&CompiledWorkflow, &Arc<str>)> {
        if let [(only, 100)] = self.versions.as_slice() {
            return Some((only, &only.id));
        }
        let mut newest_first: Vec<_> = self.versions.iter().collect();
        newest_first.sort_by_key(|(workflow, _)| std::cmp::Reverse(workflow.version));
        let index = svc_model::rollout::pick(newest_first.iter().map(|(_, share)| *share), bucket)?;
        let (workflow, _) = newest_first.get(index)?;
        Some((workflow, &workflow.versioned_id))
    }
}
