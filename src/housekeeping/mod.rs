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
mod spec;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use actix_supervision::{Address, ChildSpec, GroupSpec, Placement, SpawnError, Tree};
use slog::Logger;

use job::RecurringJob;
pub(crate) use metrics::JobMetrics;
use scheduler::{JobInterval, JobTimer};
pub(crate) use spec::{JobError, JobPass, JobSpec};

/// Adds the group `path` with one actor per job and the scheduler, all on the thread `at`. The runtime of
/// that thread must run spawned tasks: the library of the scheduler spawns some.
///
/// # Errors
/// Returns a [`SpawnError`] if a path is taken or the placement is gone.
pub(crate) async fn supervise(
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
