//! Metrics of recurring jobs.

use std::time::SystemTime;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JobLabels {
    job: &'static str,
}

/// The last success of each job and the number of its failures. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobMetrics {
    successes: Family<JobLabels, Gauge>,
    failures: Family<JobLabels, Counter>,
}

impl JobMetrics {
    /// Registers `job_last_success_timestamp_seconds` and `job_failures`. The registry adds its prefix to the
    /// names.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "job_last_success_timestamp_seconds",
            "When a recurring job last succeeded",
            self.successes.clone(),
        );
        registry.register("job_failures", "Runs of recurring jobs that failed", self.failures.clone());
    }

    /// Records that a job succeeded now. Also used for jobs that run elsewhere.
    pub(crate) fn record_success(&self, job: &'static str) {
        self.successes.get_or_create(&JobLabels { job }).set(seconds());
    }

    pub(crate) fn record_failure(&self, job: &'static str) {
        self.failures.get_or_create(&JobLabels { job }).inc();
    }

    #[cfg(test)]
    pub(crate) fn values(&self, job: &'static str) -> (i64, u64) {
        let labels = JobLabels { job };
        (self.successes.get_or_create(&labels).get(), self.failures.get_or_create(&labels).get())
    }
}

/// Returns the wall-clock time in seconds, for readers of the metric only: no decision depends on it.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
fn seconds() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
