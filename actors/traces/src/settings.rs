//! Settings of traces, the queue and the dead letters.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::policy::{RecordPolicy, TracingDefaults};
use svc_model::ErrorReason;

/// All settings of the crate.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Defaults for channels without a `tracing` block.
    pub tracing: TracingDefaults,
    /// Writing of the traces of synchronous runs after the answer.
    pub recorder: RecorderSettings,
    /// The queue of accepted work.
    pub queue: QueueSettings,
    /// Retries of failed work.
    pub dead_letters: DeadLetterSettings,
    /// Paths of the nodes that the group needs, such as the node of the store: started before it and drained
    /// after it.
    pub needs: Vec<String>,
    /// Counts a failure in `svc_errors_total`.
    pub errors: Callback<ErrorReason>,
    /// Records the success of a recurring job: `dlq_retry`, after each poll for dead letters.
    pub jobs: Callback<&'static str>,
}

/// Writing of the traces of synchronous runs in the modes `async` and `batch`.
#[derive(Clone, Debug)]
pub struct RecorderSettings {
    /// Traces that may wait, in each of the two modes.
    pub max_pending: usize,
    /// Policy for a trace that finds the queue full.
    pub overflow: OverflowPolicy,
    /// Concurrent writers of mode `async`.
    pub async_workers: usize,
    /// Maximum number of traces in a batch.
    pub batch_size: usize,
    /// Time that a batch waits to become full.
    pub batch_flush_interval: Duration,
    /// Concurrent writers of mode `batch`.
    pub batch_workers: usize,
    /// The recordings of channels without a policy of their own.
    pub record: RecordPolicy,
}

/// Policy for a trace that finds the queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverflowPolicy {
    /// The trace is dropped.
    Drop,
    /// The request waits for at most this time, then the trace is dropped.
    Block(Duration),
}

/// The queue of accepted work.
#[derive(Clone, Debug)]
pub struct QueueSettings {
    /// Jobs that run at the same time.
    pub workers: usize,
    /// Jobs that may wait.
    pub buffer_size: usize,
    /// Bytes of payload and metadata of all jobs that wait or run; 0 means no limit.
    pub max_memory_bytes: usize,
    /// Longest run of a job.
    pub processing_timeout: Duration,
    /// Time that running jobs get to finish on shutdown.
    pub shutdown_timeout: Duration,
    /// Restarts of a job whose node died, before the job fails.
    pub max_recoveries: u32,
    /// True if a submission may begin before its row is on disk.
    pub early_start: bool,
    /// Rows of accepted work that may wait in the database, of the whole service.
    pub max_waiting: u64,
}

/// Retries of failed jobs.
#[derive(Clone, Debug)]
pub struct DeadLetterSettings {
    /// True if failed jobs are retried automatically.
    pub retry_enabled: bool,
    /// Maximum number of retries of a job.
    pub max_retries: u32,
    /// Time between two polls for letters that are due.
    pub poll_interval: Duration,
    /// Maximum number of letters claimed at once.
    pub batch_size: u32,
    /// Lease of the claim on a letter.
    pub lease: Duration,
}

/// A callback that takes note of an event.
pub struct Callback<T>(Arc<dyn Fn(T) + Send + Sync>);

impl<T> Clone for Callback<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Callback<T> {
    /// Wraps `tell`.
    pub fn new(tell: impl Fn(T) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(crate) fn tell(&self, event: T) {
        (self.0)(event);
    }
}

impl<T> Default for Callback<T> {
    /// Returns a callback that does nothing.
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl<T> fmt::Debug for Callback<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback")
    }
}
