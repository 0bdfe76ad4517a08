//! The service's own recurring jobs.

use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{GroupSpec, Placement, SpawnError, Tree};
use futures_util::future::BoxFuture;

/// Why a run of a job failed; goes to the log.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What a job does when it is due. Runs of one job never overlap.
pub type Work = Arc<dyn Fn() -> BoxFuture<'static, Result<(), Failure>> + Send + Sync>;

/// One recurring job.
#[derive(Clone)]
pub struct JobSpec {
    /// Its name, in the tree and in metrics.
    pub name: &'static str,
    /// Time between two starts, whole seconds.
    pub every: Duration,
    /// What it does.
    pub work: Work,
}

/// When jobs last succeeded. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct JobMetrics {}

impl JobMetrics {
    /// Registers `job_last_success_timestamp_seconds`; the prefix is the registry's.
    pub fn register(&self, _registry: &mut prometheus_client::registry::Registry) {}

    /// Notes that a job has succeeded just now; for jobs that run elsewhere.
    pub fn succeeded(&self, _job: &'static str) {}
}

/// The jobs.
#[derive(Clone, Debug)]
pub struct Housekeeping {}

impl Housekeeping {
    /// Adds the group `path` with the scheduler and one actor per job. Each job runs soon after the start, then at its
    /// interval.
    ///
    /// # Errors
    /// The path is taken or the place is gone.
    pub async fn supervise(
        tree: &Tree,
        path: &str,
        _at: Placement,
        _jobs: Vec<JobSpec>,
        _metrics: JobMetrics,
        _log: slog::Logger,
    ) -> Result<Self, SpawnError> {
        tree.group(path, GroupSpec::new()).await?;
        Ok(Self {})
    }
}
