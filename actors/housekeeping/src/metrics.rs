//! The metrics of jobs.

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

/// The time of each job's last success and the number of its failures. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct JobMetrics {
    successes: Family<JobLabels, Gauge>,
    failures: Family<JobLabels, Counter>,
}

impl JobMetrics {
    /// Registers `job_last_success_timestamp_seconds` and `job_failures`; the prefix is the registry's.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "job_last_success_timestamp_seconds",
            "When a recurring job last succeeded",
            self.successes.clone(),
        );
        registry.register("job_failures", "Runs of recurring jobs that failed", self.failures.clone());
    }

    /// Notes that a job has succeeded just now; also for jobs that run elsewhere.
    pub fn succeeded(&self, job: &'static str) {
        self.successes.get_or_create(&JobLabels { job }).set(seconds());
    }

    pub(crate) fn failed(&self, job: &'static str) {
        self.failures.get_or_create(&JobLabels { job }).inc();
    }

    #[cfg(test)]
    pub(crate) fn values(&self, job: &'static str) -> (i64, u64) {
        let labels = JobLabels { job };
        (self.successes.get_or_create(&labels).get(), self.failures.get_or_create(&labels).get())
    }
}

/// The wall clock, for who reads the metric: nothing is decided by it.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
fn seconds() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
