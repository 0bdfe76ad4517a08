//! Recurring jobs of the service itself, such as the removal of old rows.
//!
//! Each job is an actor of its own, so that it appears in the tree; a scheduler notifies it when a run is due. A
//! job runs once soon after the start and then at its interval, never twice at the same time. A run that
//! fails or panics is logged and counted, and the next one starts when it is due.
//!
//! ```text
//! housekeeping
//! ├ {job} …      runs the work of one job
//! └ scheduler    notifies jobs that are due; restarted when it stops ticking        needs the jobs
//! ```
//!
//! Use it only for work that may run late: a process that dies between two runs delays the next one.

mod job;
mod metrics;
mod scheduler;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{Address, ChildSpec, GroupSpec, Placement, SpawnError, Tree};
use futures_util::future::BoxFuture;
use slog::Logger;

use job::RecurringJob;
pub use metrics::JobMetrics;
use scheduler::{JobInterval, JobTimer};

/// The reason why a run of a job failed, for the log.
pub type JobError = Box<dyn std::error::Error + Send + Sync>;

/// The result of a run that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobPass {
    /// The work was done.
    Done,
    /// Another process does the work.
    Skipped,
}

/// The work of a job.
pub type JobWork = Arc<dyn Fn() -> BoxFuture<'static, Result<JobPass, JobError>> + Send + Sync>;

/// The specification of a recurring job.
#[derive(Clone)]
pub struct JobSpec {
    /// Name of the job in the tree and in metrics.
    pub name: &'static str,
    /// Time between two starts. Fractions of a second are dropped; the minimum is one second.
    pub every: Duration,
    /// The work of one run.
    pub work: JobWork,
}

impl fmt::Debug for JobSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobSpec")
            .field("name", &self.name)
            .field("every", &self.every)
            .finish_non_exhaustive()
    }
}

/// The recurring jobs of a process.
#[derive(Debug)]
pub struct Housekeeping;

impl Housekeeping {
    /// Adds the group `path` with one actor per job and the scheduler, all on the thread `at`. The runtime of
    /// that thread must run spawned tasks: the library of the scheduler spawns some.
    ///
    /// # Errors
    /// Returns a [`SpawnError`] if a path is taken or the placement is gone.
    pub async fn supervise(
        tree: &Tree,
        path: &str,
        at: Placement,
        jobs: Vec<JobSpec>,
        metrics: JobMetrics,
        log: Logger,
    ) -> Result<(), SpawnError> {
        tree.add_group(path, GroupSpec::new()).await?;
        let mut rhythms = Vec::with_capacity(jobs.len());
        let mut spec = ChildSpec::new();
        for job in jobs {
            spec = spec.needs([job.name]);
            let every = job.every;
            let address = spawn(tree, path, at.clone(), job, metrics.clone(), log.clone()).await?;
            rhythms.push(JobInterval { address, every });
        }
        let rhythms: Arc<[JobInterval]> = rhythms.into();
        tree.spawn(&format!("{path}/scheduler"), spec, at, move |_| JobTimer::start(Arc::clone(&rhythms)))
            .await?;
        Ok(())
    }
}

/// Adds the actor of one job at `{path}/{name}`. Its mailbox holds one notice: a second one that comes before
/// the first is handled is refused, because the run is due anyway.
async fn spawn(
    tree: &Tree,
    path: &str,
    at: Placement,
    spec: JobSpec,
    metrics: JobMetrics,
    log: Logger,
) -> Result<Address<RecurringJob>, SpawnError> {
    let path = format!("{path}/{}", spec.name);
    let factory =
        move |_| std::future::ready(Ok(RecurringJob::new(spec.clone(), metrics.clone(), log.clone())));
    tree.spawn(&path, ChildSpec::new().mailbox(1), at, factory).await
}
