//! Accepted work that waits to run.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix_supervision::Placement;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use svc_model::{Cancellation, ErrorGroup, WorkflowVersion};
use svc_store::QueueShares;
use uuid::Uuid;

/// A resource that a job holds until it ends, such as a permit of its channel. Dropping the hold releases it.
pub struct JobHold(#[expect(dead_code, reason = "held for its drop")] Box<dyn Any + Send>);

impl JobHold {
    /// Holds `what` for the life of a job.
    pub fn new(what: impl Any + Send) -> Self {
        Self(Box::new(what))
    }
}

impl fmt::Debug for JobHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JobHold")
    }
}

/// The hold on one attempt at a job, with its cancellation.
#[derive(Debug)]
pub struct AttemptHold {
    #[expect(dead_code, reason = "held for its drop")]
    hold: JobHold,
    cancellation: Arc<dyn Cancellation>,
}

impl AttemptHold {
    /// Holds `what` until no part of the attempt runs any more.
    pub fn new(what: impl Any + Send, cancellation: Arc<dyn Cancellation>) -> Self {
        Self { hold: JobHold::new(what), cancellation }
    }

    /// Returns the cancellation of the attempt.
    pub fn cancellation(&self) -> &Arc<dyn Cancellation> {
        &self.cancellation
    }
}

/// An accepted submission that has passed the guards of its channel. It runs once, and again after a crash.
#[derive(Debug)]
pub struct Job {
    /// Id of its trace and of its message.
    pub trace_id: Uuid,
    /// Id of its channel; `None` for a dead letter, which stores only the name.
    pub channel_id: Option<Arc<str>>,
    /// Name of its channel at the time it was accepted.
    pub channel: Arc<str>,
    /// The payload of the submission.
    pub payload: Value,
    /// Request facts and stamps, including verified claims.
    pub metadata: Map<String, Value>,
    /// Traffic bucket of the caller, if the caller is identified.
    pub bucket: Option<u8>,
    /// The resource it holds of its channel; `None` for a job that is resumed after a crash or from the dead
    /// letters.
    pub hold: Option<JobHold>,
    /// Set by the queue for each attempt, and dropped when no part of the attempt runs any more on any
    /// thread.
    pub attempt: Option<AttemptHold>,
    /// The headers that name the place of the submission in a distributed trace; empty if spans are off. Those of
    /// a dead letter are lost.
    pub trace_headers: BTreeMap<String, String>,
}

impl Job {
    /// Returns the key of its runs; `None` for one that is the id of its trace.
    pub(crate) fn run_key(&self) -> Option<String> {
        let key = self.metadata.get("run")?.get("key")?.as_str()?;
        let id = self.trace_id.hyphenated();
        (key != &*id.encode_lower(&mut Uuid::encode_buffer())).then(|| key.to_owned())
    }

    /// Returns the id of the distributed trace of its submission; `None` if the spans of that trace are not exported.
    pub(crate) fn distributed_trace_id(&self) -> Option<String> {
        let mut parts = self.trace_headers.get("traceparent")?.split('-').skip(1);
        let (id, flags) = (parts.next()?, parts.nth(1)?);
        let is_exported = u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1);
        is_exported.then(|| id.to_owned())
    }
}

/// The outcome of one run of a job.
#[derive(Debug)]
pub enum JobOutcome {
    /// No task failed.
    Completed {
        /// The engine message as JSON; `None` if the channel keeps only the results of failures.
        result: Option<String>,
    },
    /// The run failed. The job becomes a dead letter.
    Failed(JobFailure),
    /// The result exceeds the size that may be stored. The job does not become a dead letter.
    TooLarge {
        /// The message for operators.
        message: String,
    },
    /// The channel cannot run on this node now; nothing was run. The job becomes a dead letter, and no
    /// attempt is counted.
    Unavailable {
        /// The message for operators.
        message: String,
    },
    /// The channel is paused, and nothing was run; or a channel that the run called is paused. The job waits in the
    /// database and runs again once that one is resumed, and no attempt is counted.
    Paused {
        /// The message for operators.
        message: String,
        /// Id of the paused channel.
        channel_id: Arc<str>,
    },
    /// The run ended in the middle of a computation, because the job is cancelled.
    Cancelled,
    /// The channel has no permit for the job now; nothing was run. Returned only for a job without a hold,
    /// which is queued again.
    Busy(Box<Job>),
}

/// The failure of a run.
#[derive(Debug)]
pub struct JobFailure {
    /// The message for operators.
    pub message: String,
    /// The code of the error, if a run had one.
    pub code: Option<&'static str>,
    /// The errors of the tasks, as JSON.
    pub errors: Option<String>,
    /// True if a later attempt may succeed. A permanent failure is not retried.
    pub is_transient: bool,
    /// The wait that a system which was called asked for before another attempt.
    pub retry_after: Option<Duration>,
}

impl JobFailure {
    /// Returns a failure that a later attempt may not repeat.
    pub fn transient(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: None, errors: None, is_transient: true, retry_after: None }
    }

    /// Returns a failure that every attempt repeats.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self { is_transient: false, ..Self::transient(message) }
    }
}

/// The result of an attempt to run a job.
#[derive(Debug)]
pub struct JobResult {
    /// The outcome.
    pub ended: JobOutcome,
    /// The execution trace as JSON, if the channel keeps one.
    pub task_trace: Option<String>,
    /// The workflow version that was chosen for the job, if it came that far.
    pub workflow: Option<WorkflowVersion>,
    /// Group of a failure; `None` for one that its channel and its message alone make.
    pub error_group: Option<Arc<ErrorGroup>>,
    /// Duration of the run.
    pub took: Duration,
}

impl JobResult {
    /// Returns a result without a trace and a workflow, for a job that did not run or whose run left nothing.
    pub const fn bare(ended: JobOutcome, took: Duration) -> Self {
        Self { ended, task_trace: None, workflow: None, error_group: None, took }
    }
}

/// The members of a job that decide which workflow runs it.
#[derive(Clone, Copy, Debug)]
pub struct JobKey<'j> {
    pub trace_id: Uuid,
    pub channel_id: Option<&'j str>,
    /// Name of its channel.
    pub channel: &'j str,
    /// Traffic bucket of the caller.
    pub bucket: Option<u8>,
}

/// A thread that runs channels.
#[derive(Clone, Debug)]
pub struct JobThread {
    /// Number by which the [`Runner`] knows it.
    pub id: usize,
    /// The thread.
    pub at: Placement,
}

/// Runs jobs. Implemented by the registry.
pub trait Runner: Send + Sync + 'static {
    /// Runs a job through the workflow of its channel, at most for `limit` and for the time that the channel
    /// allows. `thread` is the id of the calling thread, if it runs channels. The guards do not run again. A
    /// channel that no longer exists is a failure like any other; a quarantined channel is
    /// [`JobOutcome::Unavailable`], a paused one [`JobOutcome::Paused`].
    ///
    /// Dropping the future cancels the run at its current await point and drops [`Job::attempt`] with it.
    fn run(&self, job: Job, limit: Duration, thread: Option<usize>) -> BoxFuture<'static, JobResult>;

    /// Returns the threads that run channels, each in its turn, or `None` while there is none. A job that is
    /// started on one of them runs without changing threads.
    fn next_thread(&self) -> Option<JobThread> {
        None
    }

    /// Returns `true` while the thread of that id runs channels.
    fn has_thread(&self, id: usize) -> bool {
        let _ = id;
        false
    }

    /// Returns the version of the workflow that runs a job, for its trace while it runs. Its result has the one that ran.
    fn workflow_of(&self, job: JobKey<'_>) -> Option<WorkflowVersion> {
        let _ = job;
        None
    }

    /// Returns whether jobs of the channel with this name can run on this node now. While they cannot, its
    /// dead letters wait without being tried.
    fn is_available(&self, channel: &str) -> bool;

    /// Returns whether the channel with this id, or else with this name, is paused. While it is, accepted work of it
    /// waits.
    fn is_paused(&self, channel_id: Option<&str>, channel: &str) -> bool {
        let _ = (channel_id, channel);
        false
    }

    /// Returns the id of the channel with this name.
    fn find_id(&self, channel: &str) -> Option<Arc<str>> {
        let _ = channel;
        None
    }

    /// Returns whether this node serves the channel with this id, or else with this name.
    fn serves(&self, channel_id: Option<&str>, channel: &str) -> bool {
        let _ = (channel_id, channel);
        true
    }

    /// Returns whether this node serves every channel. If not, it retries the dead letters of its channels whatever other
    /// nodes do.
    fn serves_every_channel(&self) -> bool {
        true
    }

    /// Returns whether accepted work of a channel that this node does not serve is to begin here nevertheless: a new
    /// channel is loaded first, and work of a removed one ends as a failure. `false` for a channel that another node
    /// serves, and while that is not known.
    fn begins_unserved(&self, channel_id: Option<Arc<str>>, channel: Arc<str>) -> BoxFuture<'_, bool> {
        let _ = (channel_id, channel);
        Box::pin(std::future::ready(true))
    }

    /// Returns the number of jobs of the channel with this id, or else with this name, that may begin on this node now.
    fn free_permits(&self, channel_id: Option<&str>, channel: &str) -> usize {
        let _ = (channel_id, channel);
        usize::MAX
    }

    /// Returns the shares of the channel with this id: most of its accepted work that may run at once. A channel that
    /// has none, or no longer exists, has no bounds; `None` while this node can run nothing of it.
    fn shares(&self, channel_id: &str) -> Option<QueueShares> {
        Some(QueueShares { channel_id: channel_id.to_owned(), ..QueueShares::default() })
    }

    /// Returns the most accepted work of the channel with this id that may wait.
    fn max_waiting(&self, channel_id: &str) -> u64 {
        let _ = channel_id;
        u64::MAX
    }

    /// Counts a job of the channel with this id, or else with this name, that failed for good: a channel may pause itself
    /// after several. `run` is the id of its trace; the failure of a run counts once, however often it is reported.
    fn note_failure(&self, channel_id: Option<Arc<str>>, channel: Arc<str>, run: Uuid) -> BoxFuture<'_, ()> {
        let _ = (channel_id, channel, run);
        Box::pin(std::future::ready(()))
    }

    /// Returns the name of the channel that gets a report when a job of the channel with this id, or else with this
    /// name, fails for good. The channel may name one whether it serves or not. Waits while the answer must
    /// be read from a database that is away.
    fn on_failure(&self, channel_id: Option<Arc<str>>, channel: Arc<str>) -> BoxFuture<'_, Option<Arc<str>>> {
        let _ = (channel_id, channel);
        Box::pin(std::future::ready(None))
    }
}
