//! Metrics of the queue, the recorder and the dead letters.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use svc_store::{WaitReason, WaitingCounts};

/// Upper bounds of the histogram of batch sizes.
const SIZES: [f64; 9] = [1.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0];

/// Label for the reason why a trace is not stored or a submission is refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ReasonLabels {
    reason: &'static str,
}

/// Label for the outcome of the retry of a dead letter, or of the recording of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OutcomeLabels {
    outcome: &'static str,
}

/// Label that separates dead letters that are retried from those that are exhausted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    state: &'static str,
}

/// The label of dead letters that wait for a retry.
const WAITING: StateLabels = StateLabels { state: "waiting" };
/// The label of dead letters without a retry left.
const EXHAUSTED: StateLabels = StateLabels { state: "exhausted" };

/// The label of accepted work that waits for its next retry.
const RETRYING: &str = "retrying";

/// The numbers of work. Those of the queue and its workers are this node's, the others are the database's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkCounts {
    /// Accepted jobs in the queue.
    pub queue_depth: u64,
    /// Workers that run a job.
    pub workers_active: u64,
    pub workers_total: u64,
    /// Work that waits for the resume of its channel.
    pub paused: u64,
    /// Work that waits for its time.
    pub scheduled: u64,
    /// Work that waits for its share.
    pub share: u64,
    /// Work that waits for its next retry.
    pub retrying: u64,
    /// Dead letters that wait for a retry.
    pub letters_waiting: u64,
    /// Dead letters without a retry left.
    pub letters_exhausted: u64,
}

fn to_count(gauge: i64) -> u64 {
    u64::try_from(gauge).unwrap_or(0)
}

/// The metric families. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TraceMetrics {
    pub(crate) queue_depth: Gauge,
    pub(crate) queue_memory: Gauge,
    pub(crate) workers_active: Gauge,
    pub(crate) workers_total: Gauge,
    waiting: Family<ReasonLabels, Gauge>,
    rejected: Family<ReasonLabels, Counter>,
    /// Submissions that began and whose row was refused.
    pub(crate) uncertain: Counter,
    /// Jobs taken over from dead nodes.
    pub(crate) adopted: Counter,
    /// Jobs restarted because a node died while it ran them.
    pub(crate) recoveries: Counter,
    dlq_depth: Family<StateLabels, Gauge>,
    dlq_retries: Family<OutcomeLabels, Counter>,
    dropped: Family<ReasonLabels, Counter>,
    recordings: Family<OutcomeLabels, Counter>,
    pub(crate) persistence_depth: Gauge,
    pub(crate) batch_size: Histogram,
    pub(crate) persistence_failures: Counter,
}

impl Default for TraceMetrics {
    fn default() -> Self {
        Self {
            queue_depth: Gauge::default(),
            queue_memory: Gauge::default(),
            workers_active: Gauge::default(),
            workers_total: Gauge::default(),
            waiting: Family::default(),
            rejected: Family::default(),
            uncertain: Counter::default(),
            adopted: Counter::default(),
            recoveries: Counter::default(),
            dlq_depth: Family::default(),
            dlq_retries: Family::default(),
            dropped: Family::default(),
            recordings: Family::default(),
            persistence_depth: Gauge::default(),
            batch_size: Histogram::new(SIZES),
            persistence_failures: Counter::default(),
        }
    }
}

impl TraceMetrics {
    /// Registers the metrics. The registry adds its prefix to the names.
    pub fn register(&self, registry: &mut Registry) {
        let gauges = [
            ("trace_queue_depth", "Accepted jobs that wait", &self.queue_depth),
            ("trace_queue_memory_bytes", "Bytes of accepted jobs", &self.queue_memory),
            ("trace_workers_active", "Workers that run a job", &self.workers_active),
            ("trace_workers_total", "Workers", &self.workers_total),
            ("trace_persistence_queue_depth", "Traces that wait to be stored", &self.persistence_depth),
        ];
        for (name, help, gauge) in gauges {
            registry.register(name, help, gauge.clone());
        }
        let depth = self.dlq_depth.clone();
        registry.register("trace_dlq_depth", "Dead letters that wait for a retry, or have none left", depth);
        let waiting = self.waiting.clone();
        registry.register("trace_waiting", "Accepted work that waits in the database", waiting);
        let rejected = self.rejected.clone();
        registry.register("trace_queue_rejected", "Submissions the queue had no room for", rejected);
        let uncertain = self.uncertain.clone();
        registry.register("trace_uncertain", "Submissions that began and whose row was refused", uncertain);
        registry.register("trace_adopted", "Jobs taken over from nodes that are gone", self.adopted.clone());
        let recoveries = self.recoveries.clone();
        registry.register("trace_recoveries", "Jobs begun again after the end of their node", recoveries);
        registry.register("trace_dlq_retries", "Dead letters tried again", self.dlq_retries.clone());
        registry.register("trace_dropped", "Traces that were not stored", self.dropped.clone());
        let recordings = self.recordings.clone();
        registry.register("trace_recordings", "Runs that were to be recorded", recordings);
        registry.register("trace_persistence_batch_size", "Traces per write", self.batch_size.clone());
        let failures = self.persistence_failures.clone();
        registry.register("trace_persistence_failures", "Traces lost to the database", failures);
    }

    /// Sets the gauges of dead letters: all letters, and those without a retry left.
    pub(crate) fn set_dead_letters(&self, depth: i64, exhausted: i64) {
        self.dlq_depth.get_or_create(&WAITING).set(depth - exhausted);
        self.dlq_depth.get_or_create(&EXHAUSTED).set(exhausted);
    }

    /// Sets the gauges of the accepted work that waits in the database.
    pub(crate) fn set_waiting(&self, counts: &WaitingCounts) {
        let set = |reason, rows: u64| {
            self.waiting.get_or_create(&ReasonLabels { reason }).set(i64::try_from(rows).unwrap_or(i64::MAX));
        };
        for reason in WaitReason::ALL {
            let of_reason = counts.waiting.iter().filter(|count| count.reason == reason);
            let resting = if reason == WaitReason::Paused { counts.resting_retries } else { 0 };
            set(reason.name(), of_reason.map(|count| count.rows).sum::<u64>() + resting);
        }
        set(RETRYING, counts.retrying.saturating_sub(counts.resting_retries));
    }

    /// Returns the number of dead letters without a retry left, as last counted.
    pub(crate) fn exhausted_letters(&self) -> u64 {
        self.dlq_depth.get(&EXHAUSTED).map_or(0, |count| u64::try_from(count.get()).unwrap_or(0))
    }

    /// Returns the numbers that the gauges show.
    pub(crate) fn work_counts(&self) -> WorkCounts {
        let waiting =
            |reason| self.waiting.get(&ReasonLabels { reason }).map_or(0, |gauge| to_count(gauge.get()));
        let letters =
            |state: &StateLabels| self.dlq_depth.get(state).map_or(0, |gauge| to_count(gauge.get()));
        WorkCounts {
            queue_depth: to_count(self.queue_depth.get()),
            workers_active: to_count(self.workers_active.get()),
            workers_total: to_count(self.workers_total.get()),
            paused: waiting(WaitReason::Paused.name()),
            scheduled: waiting(WaitReason::Scheduled.name()),
            share: waiting(WaitReason::Share.name()),
            retrying: waiting(RETRYING),
            letters_waiting: letters(&WAITING),
            letters_exhausted: letters(&EXHAUSTED),
        }
    }

    pub(crate) fn record_rejection(&self, reason: &'static str) {
        self.rejected.get_or_create(&ReasonLabels { reason }).inc();
    }

    pub(crate) fn record_drop(&self, reason: &'static str) {
        self.dropped.get_or_create(&ReasonLabels { reason }).inc();
    }

    pub(crate) fn count_recording(&self, outcome: &'static str) {
        self.recordings.get_or_create(&OutcomeLabels { outcome }).inc();
    }

    pub(crate) fn record_dead_letter_retry(&self, outcome: &'static str) {
        self.dlq_retries.get_or_create(&OutcomeLabels { outcome }).inc();
    }
}

/// Counts a worker as active while it runs a job.
pub(crate) struct ActiveWorker<'a>(&'a TraceMetrics);

impl<'a> ActiveWorker<'a> {
    pub(crate) fn new(metrics: &'a TraceMetrics) -> Self {
        metrics.workers_active.inc();
        Self(metrics)
    }
}

impl Drop for ActiveWorker<'_> {
    fn drop(&mut self) {
        self.0.workers_active.dec();
    }
}
