//! Rollouts that move by themselves.
//!
//! Every node reports what it has counted of both versions; one node at a time, under the lease of the job, compares
//! the sums and decides. A decision is a transaction that names the step it was made for, so that a node which lost
//! the lease changes nothing. All state is in the database: another node goes on after a crash, at the same step.

mod decider;
mod metrics;
mod reporter;
mod shadows;
mod shared;

use std::sync::Arc;
use std::time::Duration;

use slog::warn;

use crate::housekeeping::{JobError, JobPass, JobSpec};

use decider::CanaryDecider;
pub(crate) use metrics::CanaryMetrics;
use reporter::CanaryReporter;
pub(crate) use shadows::{compare_with_shadow, shadow_kinds};
pub(crate) use shared::CanaryServices;

/// Name of the job, and of its lease.
const JOB: &str = "canary";
/// Time between two passes.
const EVERY: Duration = Duration::from_secs(1);
/// Time for which one node decides without another pass.
const LEASE: Duration = Duration::from_secs(10);

/// Makes the job that reports outcomes on every node, and decides on one of them.
pub(crate) fn watch_rollouts(services: CanaryServices) -> JobSpec {
    let reporter = Arc::new(CanaryReporter::new(services.store.clone(), services.channels.clone()));
    let work = move || {
        let (services, reporter) = (services.clone(), Arc::clone(&reporter));
        Box::pin(async move { watch(&services, &reporter).await }) as _
    };
    JobSpec { name: JOB, every: EVERY, work: Arc::new(work) }
}

async fn watch(services: &CanaryServices, reporter: &CanaryReporter) -> Result<JobPass, JobError> {
    let open = services.store.canary_rollouts().list_open().await?;
    services.metrics.set_open(&open);
    reporter.report(&open).await?;
    if open.is_empty() {
        return Ok(JobPass::Done);
    }
    if !services.store.job_leases().acquire(JOB, &services.nodes.id(), LEASE).await? {
        return Ok(JobPass::Skipped);
    }
    let decider = CanaryDecider::new(services);
    let mut failure = None;
    for rollout in open {
        let workflow = rollout.workflow_id.clone();
        let Err(error) = decider.look_at(rollout).await else { continue };
        warn!(services.log, "a look at a rollout failed"; "workflow" => workflow, "error" => %error);
        let is_outage = error.is_outage();
        failure = failure.or(Some(error));
        if is_outage {
            break;
        }
    }
    // One that fails holds up no other, unless the database is away.
    failure.map_or(Ok(JobPass::Done), |error| Err(error.into()))
}
