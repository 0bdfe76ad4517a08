//! Work that was accepted and waits to be run.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use svc_model::WorkflowVersion;
use uuid::Uuid;

/// A resource that a job keeps until it ends, such as a permit of its channel. Dropping it releases the resource.
pub struct JobHold(#[expect(dead_code, reason = "held for its drop")] Box<dyn Any + Send>);

impl JobHold {
    /// Keeps `what` for the life of a job.
    pub fn new(what: impl Any + Send) -> Self {
        Self(Box::new(what))
    }
}

impl fmt::Debug for JobHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hold")
    }
}

/// One accepted submission. Guards have passed; it is to be run once, or again after a crash.
#[derive(Debug)]
pub struct Job {
    /// The trace of it, and the id of its message.
    pub trace_id: Uuid,
    /// Id of its channel; `None` for a dead letter, which knows the name alone.
    pub channel_id: Option<Arc<str>>,
    /// Name of its channel when it was accepted.
    pub channel: Arc<str>,
    /// Payload of the submission.
    pub payload: Value,
    /// Request facts and stamps, verified claims included.
    pub metadata: Map<String, Value>,
    /// Rollout bucket, if the caller is identified.
    pub bucket: Option<u8>,
    /// Permit of its channel; `None` for a job restarted after a crash or from the dead letters.
    pub hold: Option<JobHold>,
    /// Dropped when nothing of the attempt goes on, wherever it runs; set by the queue for each attempt.
    pub attempt: Option<JobHold>,
}

/// The outcome of a run of a job.
#[derive(Debug)]
pub enum JobOutcome {
    /// Without a failed task: the text of the result, JSON.
    Completed {
        /// The engine message, JSON; `None` where the channel keeps the results of failures alone.
        result: Option<String>,
    },
    /// With a failure; goes to the dead letters.
    Failed(JobFailure),
    /// Its result is larger than may be stored; does not go to the dead letters.
    TooLarge {
        /// The message for operators.
        message: String,
    },
    /// Its channel cannot run on this node now; nothing was run. Goes to the dead letters, but counts as no attempt.
    Unavailable {
        /// The message for operators.
        message: String,
    },
    /// The channel has no permit for it now; nothing was run. Only for a job without a hold, which comes back.
    Busy(Box<Job>),
}

/// A failed run.
#[derive(Debug)]
pub struct JobFailure {
    /// The message for operators.
    pub message: String,
    /// The errors of its tasks, JSON.
    pub errors: Option<String>,
    /// True where a later attempt may succeed. Where none can, there is none.
    pub is_transient: bool,
}

impl JobFailure {
    /// A failure that time may heal.
    pub fn transient(message: impl Into<String>) -> Self {
        Self { message: message.into(), errors: None, is_transient: true }
    }

    /// A failure that every attempt repeats.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self { message: message.into(), errors: None, is_transient: false }
    }
}

/// The result of a job.
#[derive(Debug)]
pub struct JobResult {
    /// Outcome of the run.
    pub ended: JobOutcome,
    /// The execution trace, JSON, where the channel keeps one.
    pub task_trace: Option<String>,
    /// The version of the workflow that it was given to, where one was.
    pub workflow: Option<WorkflowVersion>,
    /// Duration of the run.
    pub took: Duration,
}

impl JobResult {
    /// An end without a run, or of one that left nothing.
    pub const fn bare(ended: JobOutcome, took: Duration) -> Self {
        Self { ended, task_trace: None, workflow: None, took }
    }
}

/// Runs jobs: the registry, seen from the queue.
pub trait Runner: Send + Sync + 'static {
    /// Runs a job through the workflow of its channel, no longer than `limit` and than the channel allows. Guards are
    /// not asked again. A channel that is gone is a failure like any other; one that is quarantined is
    /// [`JobOutcome::Unavailable`]. Dropping the future drops the
    /// run where it stands; [`Job::attempt`] is dropped with it.
    fn run(&self, job: Job, limit: Duration) -> BoxFuture<'static, JobResult>;

    /// Tells whether jobs of the channel of that name can run on this node now. While they cannot, dead letters of it
    /// wait without being tried.
    fn is_available(&self, channel: &str) -> bool;

    /// Returns the name of the channel that is told when the job fails for good, where the channel of the job names
    /// one.
    fn on_failure(&self, job: &Job) -> Option<Arc<str>> {
        let _ = job;
        None
    }
}
