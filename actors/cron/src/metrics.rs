//! The metrics of schedules and their attempts.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use svc_ledger::OccurrenceStatus;
use svc_model::DURATION_BUCKETS;

/// The statuses that are counted; a claim and a start are not.
const COUNTED: [OccurrenceStatus; 6] = [
    OccurrenceStatus::Pending,
    OccurrenceStatus::Completed,
    OccurrenceStatus::Failed,
    OccurrenceStatus::SkippedMisfire,
    OccurrenceStatus::SkippedSingleton,
    OccurrenceStatus::Cancelled,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabels {
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ChannelLabels {
    channel: String,
}

/// The metric families. Cheap to clone; label values are channel names and fixed words.
#[derive(Clone, Debug)]
pub struct CronMetrics {
    occurrences: Family<StatusLabels, Counter>,
    executions: Family<ChannelLabels, Histogram, fn() -> Histogram>,
    /// The channels that have a series of `executions`, which ends with them.
    executed: Arc<Mutex<HashSet<ChannelLabels>>>,
    lag: Histogram,
    reconcile: Histogram,
    pub(crate) pending: Gauge,
    pub(crate) contention: Counter,
    pub(crate) renewal_failures: Counter,
}

impl Default for CronMetrics {
    fn default() -> Self {
        let occurrences = Family::<StatusLabels, Counter>::default();
        // Shown from the start, so that the first failure is a rise.
        for status in COUNTED {
            drop(occurrences.get_or_create(&StatusLabels { status: status.name() }));
        }
        Self {
            occurrences,
            executions: Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS)),
            executed: Arc::default(),
            lag: Histogram::new(DURATION_BUCKETS),
            reconcile: Histogram::new(DURATION_BUCKETS),
            pending: Gauge::default(),
            contention: Counter::default(),
            renewal_failures: Counter::default(),
        }
    }
}

impl CronMetrics {
    /// Registers `cron_…`; the prefix is the registry's.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "cron_occurrences",
            "Occurrences by the status they came to; of misfires every missed instant",
            self.occurrences.clone(),
        );
        registry.register(
            "cron_execution_duration_seconds",
            "Time an occurrence ran",
            self.executions.clone(),
        );
        registry.register("cron_schedule_lag_seconds", "Time from an instant to its run", self.lag.clone());
        registry.register(
            "cron_reconcile_duration_seconds",
            "Time of a look at the whole ledger",
            self.reconcile.clone(),
        );
        registry.register(
            "cron_pending_occurrences",
            "Occurrences that wait for a worker",
            self.pending.clone(),
        );
        registry.register(
            "cron_singleton_contention",
            "Occurrences skipped because their concurrency key was held",
            self.contention.clone(),
        );
        registry.register(
            "cron_lease_renewal_failures",
            "Renewals of a lease that the database did not take",
            self.renewal_failures.clone(),
        );
    }

    /// Counts an occurrence that an operator brought to `pending`, by a trigger or a retry.
    pub fn record_pending(&self) {
        self.record_several_pending(1);
    }

    /// Counts occurrences that an operator brought to `pending` at once.
    pub fn record_several_pending(&self, count: u64) {
        self.record_occurrences(OccurrenceStatus::Pending, count);
    }

    /// Counts an occurrence that ended by an operator's order.
    pub fn record_cancelled(&self) {
        self.record_occurrences(OccurrenceStatus::Cancelled, 1);
    }

    /// Returns the number of occurrences that are due and wait for a worker, as last counted.
    pub fn due_occurrences(&self) -> u64 {
        u64::try_from(self.pending.get()).unwrap_or(0)
    }

    pub(crate) fn record_occurrences(&self, status: OccurrenceStatus, count: u64) {
        if count > 0 {
            self.occurrences.get_or_create(&StatusLabels { status: status.name() }).inc_by(count);
        }
    }

    pub(crate) fn record_singleton_skips(&self, count: u64) {
        self.record_occurrences(OccurrenceStatus::SkippedSingleton, count);
        self.contention.inc_by(count);
    }

    pub(crate) fn record_duration(&self, channel: &str, took: Duration) {
        let labels = ChannelLabels { channel: channel.to_owned() };
        self.executions.get_or_create(&labels).observe(took.as_secs_f64());
        self.executed.lock().insert(labels);
    }

    /// Drops the series of the channels that `is_kept` does not accept.
    pub(crate) fn retain_channels(&self, is_kept: impl Fn(&str) -> bool) {
        self.executed.lock().retain(|labels| {
            let is_kept = is_kept(&labels.channel);
            if !is_kept {
                self.executions.remove(labels);
            }
            is_kept
        });
    }

    pub(crate) fn record_lag(&self, lag: Duration) {
        self.lag.observe(lag.as_secs_f64());
    }

    pub(crate) fn record_reconcile(&self, took: Duration) {
        self.reconcile.observe(took.as_secs_f64());
    }
}
