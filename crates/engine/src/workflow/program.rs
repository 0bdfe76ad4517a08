//! A workflow made ready to run: tasks in one flat list, plain groups as spans over it. A fan-out, and a group that is
//! more than a list, is one step with programs of its own, so that workflows without them run as before.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use svc_model::WorkflowVersion;
use uuid::Uuid;

use crate::builtin::Builtin;
use crate::expression::{Condition, Expression};
use crate::function::CompiledTask;
use crate::path::{Path, Root};
use crate::reads::Reads;
use crate::recording::{MetadataReads, RecordableCall};
use crate::workflow::loop_spec::Loop;
use crate::workflow::retry_spec::TaskRetry;

/// A compiled workflow. Cheap to share between threads.
pub struct CompiledWorkflow {
    pub(crate) id: Arc<str>,
    /// `{id}:v{version}`: the name it runs under while versions share the traffic.
    pub(crate) versioned_id: Arc<str>,
    pub(crate) version: i64,
    /// Of what its author wrote.
    pub(crate) content_hash: Box<str>,
    pub(crate) condition: Condition,
    pub(crate) program: Program,
    /// The names of all tasks in the order of the document, those of nested programs included.
    pub(crate) names: Box<[StepNames]>,
    pub(crate) looping: Option<Loop>,
    pub(crate) continue_on_error: bool,
    /// The metadata that its document names.
    pub(crate) metadata_reads: MetadataReads,
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
        let looping = self.looping.as_ref();
        let setup = looping.and_then(|looping| looping.setup.as_ref());
        let list = looping.and_then(|looping| looping.list.as_ref());
        self.program.reads_metadata()
            || setup.is_some_and(Program::reads_metadata)
            || list.is_some_and(|list| !list.over.reads().metadata.is_nothing())
    }

    /// Returns `true` if a task calls a function of a plugin, which another version of the plugin may replace. Their
    /// names alone have a dot.
    pub fn calls_plugins(&self) -> bool {
        self.names.iter().any(|names| names.function.contains('.'))
    }

    /// Ids of its tasks, in order.
    pub fn task_ids(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|names| &*names.id)
    }

    /// Its tasks, in order.
    pub fn tasks(&self) -> impl Iterator<Item = TaskNames<'_>> {
        self.names.iter().map(StepNames::borrow)
    }

    /// Returns the task at a place among them.
    pub fn task(&self, position: usize) -> Option<TaskNames<'_>> {
        self.names.get(position).map(StepNames::borrow)
    }
}

impl fmt::Debug for CompiledWorkflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledWorkflow")
            .field("id", &self.versioned_id)
            .field("tasks", &self.names.len())
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

/// The names of a task, kept for metrics.
#[derive(Clone)]
pub(crate) struct StepNames {
    pub(crate) id: Arc<str>,
    pub(crate) function: Arc<str>,
    pub(crate) connector: Option<Arc<str>>,
}

impl StepNames {
    fn borrow(&self) -> TaskNames<'_> {
        TaskNames { id: &self.id, function: &self.function, connector: self.connector.as_deref() }
    }
}

/// A list of steps that runs from its first to its last one.
pub(crate) struct Program {
    pub(crate) steps: Box<[CompiledStep]>,
    /// Sorted by start; an outer group comes before those inside it.
    pub(crate) spans: Box<[Span]>,
    /// The union of everything that its own conditions and built-ins read; nested programs have their own.
    pub(crate) reads: Reads,
}

impl Program {
    fn reads_metadata(&self) -> bool {
        !self.reads.metadata.is_nothing() || self.steps.iter().any(|step| step.action.reads_metadata())
    }
}

/// One task, or a group that is more than a list.
pub(crate) struct CompiledStep {
    /// Its place among the tasks of the workflow; for a group, that of its first task.
    pub(crate) position: usize,
    pub(crate) id: Arc<str>,
    pub(crate) function: Arc<str>,
    /// The connector its input names.
    pub(crate) connector: Option<Arc<str>>,
    pub(crate) condition: Condition,
    pub(crate) action: StepAction,
    pub(crate) continue_on_error: bool,
    pub(crate) terminal: bool,
    /// True if a status of 400 and more ends the workflow.
    pub(crate) halts_on_failure: bool,
    /// Set for a call of a connector or channel that is carried out.
    pub(crate) recordable: Option<Box<RecordableCall>>,
}

/// The action of a step.
pub(crate) enum StepAction {
    Builtin(Builtin),
    Task(Box<dyn CompiledTask>),
    /// A task with retries or a time of its own.
    Guarded(Box<GuardedTask>),
    /// A step of which a run is several runs, or a run within a frame.
    Composite(Box<Composite>),
}

impl StepAction {
    fn reads_metadata(&self) -> bool {
        match self {
            Self::Builtin(_) => false,
            Self::Task(_) => true,
            Self::Guarded(guarded) => matches!(guarded.call, TaskCall::Task(_)),
            Self::Composite(composite) => match &**composite {
                Composite::Each(fan_out) => {
                    !fan_out.over.reads().metadata.is_nothing()
                        || *fan_out.collect.root() == Root::Metadata
                        || fan_out.program.reads_metadata()
                }
                Composite::Group(frame) => frame.reads_metadata(),
            },
        }
    }
}

/// The function of a task, bound to its input.
pub(crate) enum TaskCall {
    Builtin(Builtin),
    Task(Box<dyn CompiledTask>),
}

impl From<TaskCall> for StepAction {
    fn from(call: TaskCall) -> Self {
        match call {
            TaskCall::Builtin(builtin) => Self::Builtin(builtin),
            TaskCall::Task(task) => Self::Task(task),
        }
    }
}

/// A task with `retry` or `timeout_ms`.
pub(crate) struct GuardedTask {
    pub(crate) call: TaskCall,
    pub(crate) retry: Option<TaskRetry>,
    /// The key without which there is no further attempt, for a task that is safe to repeat by its key alone.
    pub(crate) key: Option<Expression>,
    /// The time of one attempt.
    pub(crate) timeout: Option<Duration>,
}

/// A step that runs programs of its own.
pub(crate) enum Composite {
    /// `for_each`: the program runs for each element of a list.
    Each(FanOut),
    /// A group with a frame: `parallel`, `on_error`, `finally` or `timeout_ms`.
    Group(GroupFrame),
}

impl Composite {
    /// Returns the programs of its members, without those that follow them.
    pub(crate) fn members(&self) -> &[Program] {
        match self {
            Self::Each(fan_out) => std::slice::from_ref(&fan_out.program),
            Self::Group(frame) => frame.members.programs(),
        }
    }
}

/// A task or group with `for_each`.
pub(crate) struct FanOut {
    pub(crate) over: Expression,
    /// The path of the element, below `temp_data`.
    pub(crate) element: Path,
    /// The path of its index, below `temp_data`.
    pub(crate) index: Option<Path>,
    pub(crate) max_concurrency: usize,
    /// The path of the value that is kept of an element.
    pub(crate) collect: Path,
    /// The path of the list of those values.
    pub(crate) into: Path,
    /// A failed element leaves the others alone.
    pub(crate) continue_on_error: bool,
    pub(crate) program: Program,
}

/// A group with a frame around its members.
pub(crate) struct GroupFrame {
    pub(crate) members: GroupMembers,
    pub(crate) on_error: Option<Program>,
    /// Shared with the run while the group goes on, which runs it if the group is cut short.
    pub(crate) finally: Option<Arc<Program>>,
    /// The time of the members together.
    pub(crate) timeout: Option<Duration>,
}

impl GroupFrame {
    fn reads_metadata(&self) -> bool {
        self.members
            .programs()
            .iter()
            .chain(&self.on_error)
            .chain(self.finally.as_deref())
            .any(Program::reads_metadata)
    }
}

/// The members of a group.
pub(crate) enum GroupMembers {
    InOrder(Program),
    /// `parallel`: one program for each member.
    AtOnce(Box<[Program]>),
}

impl GroupMembers {
    fn programs(&self) -> &[Program] {
        match self {
            Self::InOrder(program) => std::slice::from_ref(program),
            Self::AtOnce(programs) => programs,
        }
    }
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
