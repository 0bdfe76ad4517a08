//! What an operator may set.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::policy::TracingDefaults;

/// All of it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What is traced where a channel does not say.
    pub tracing: TracingDefaults,
    /// How traces of synchronous runs are written behind the answer.
    pub recorder: RecorderSettings,
    /// Accepted work.
    pub queue: QueueSettings,
    /// Failed work.
    pub dead_letters: DeadLetterSettings,
    /// What all this stands on, such as the node of the store: started before it and drained after it.
    pub needs: Vec<String>,
    /// Counts a failure, by one of the words of `svc_errors_total`.
    pub errors: Callback,
    /// Notes the success of a recurring job: `dlq_retry`, after each look for dead letters.
    pub jobs: Callback,
}

/// How traces of synchronous runs are written in the modes `async` and `batch`.
#[derive(Clone, Debug)]
pub struct RecorderSettings {
    /// Traces that may wait, in each of the two modes.
    pub max_pending: usize,
    /// What happens when more would.
    pub overflow: OverflowPolicy,
    /// Concurrent writers of mode `async`.
    pub async_workers: usize,
    /// Traces of a batch, at most.
    pub batch_size: usize,
    /// How long a batch waits to be full.
    pub batch_flush_interval: Duration,
    /// Concurrent writers of mode `batch`.
    pub batch_workers: usize,
}

/// What happens to a trace when too many wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverflowPolicy {
    /// It is dropped.
    Drop,
    /// Its request waits, at most so long; then it is dropped.
    Block(Duration),
}

/// The queue of accepted work.
#[derive(Clone, Debug)]
pub struct QueueSettings {
    /// Jobs that run at the same time.
    pub workers: usize,
    /// Jobs that may wait.
    pub buffer_size: usize,
    /// Bytes of payload and metadata of all jobs that wait or run; 0 for any number.
    pub max_memory_bytes: usize,
    /// How long a job may run, at most.
    pub processing_timeout: Duration,
    /// How long running jobs may go on at shutdown.
    pub shutdown_timeout: Duration,
    /// How often a job is begun again whose node died, before it fails.
    pub max_recoveries: u32,
}

/// What becomes of failed jobs.
#[derive(Clone, Debug)]
pub struct DeadLetterSettings {
    /// Whether they are tried again by themselves.
    pub retry_enabled: bool,
    /// How often.
    pub max_retries: u32,
    /// Time between two looks for those that are due.
    pub poll_interval: Duration,
    /// How many are taken at once.
    pub batch_size: u32,
    /// How long they belong to who took them.
    pub lease: Duration,
}

/// Tells somebody a fixed word.
#[derive(Clone)]
pub struct Callback(Arc<dyn Fn(&'static str) + Send + Sync>);

impl Callback {
    /// Tells by `tell`.
    pub fn new(tell: impl Fn(&'static str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(crate) fn tell(&self, word: &'static str) {
        (self.0)(word);
    }
}

impl Default for Callback {
    /// Tells nobody.
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback")
    }
}
