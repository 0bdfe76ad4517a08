//! The settings of traces, the queue and the dead letters.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::policy::TracingDefaults;

/// All of it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Tracing policy of channels that set none.
    pub tracing: TracingDefaults,
    /// Settings of the recorder, which stores traces of synchronous runs after their answer.
    pub recorder: RecorderSettings,
    /// Accepted work.
    pub queue: QueueSettings,
    /// Failed work.
    pub dead_letters: DeadLetterSettings,
    /// Paths of the nodes of the tree that are started before this and drained after it, such as the store.
    pub needs: Vec<String>,
    /// Counts a failure, by one of the words of `svc_errors_total`.
    pub errors: Callback,
    /// Notes the success of a recurring job: `dlq_retry`, after each look for dead letters.
    pub jobs: Callback,
}

/// The settings of the recorder in the modes `async` and `batch`.
#[derive(Clone, Debug)]
pub struct RecorderSettings {
    /// Traces that may wait, in each of the two modes.
    pub max_pending: usize,
    /// Handling of traces beyond that.
    pub overflow: OverflowPolicy,
    /// Concurrent writers of mode `async`.
    pub async_workers: usize,
    /// Traces of a batch, at most.
    pub batch_size: usize,
    /// Longest time that a batch waits to be full.
    pub batch_flush_interval: Duration,
    /// Concurrent writers of mode `batch`.
    pub batch_workers: usize,
}

/// The handling of a trace when the queue is full.
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
    /// Longest time that a job may run.
    pub processing_timeout: Duration,
    /// Time that running jobs get to finish at shutdown.
    pub shutdown_timeout: Duration,
    /// Restarts of a job whose node died, before it fails.
    pub max_recoveries: u32,
}

/// The settings of dead letters.
#[derive(Clone, Debug)]
pub struct DeadLetterSettings {
    /// True to retry them automatically.
    pub retry_enabled: bool,
    /// Retries of a failed job, at most.
    pub max_retries: u32,
    /// Time between two looks for those that are due.
    pub poll_interval: Duration,
    /// Letters claimed at once.
    pub batch_size: u32,
    /// Length of the lease on claimed letters.
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
