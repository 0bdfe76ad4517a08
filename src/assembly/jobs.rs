//! The recurring jobs of the service, which delete what has expired: rows, and cached entries of channels.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use slog::{Logger, warn};
use svc_channels::{ChannelMetrics, LocalCaches};
use svc_housekeeping::{JobPass, JobSpec};
use svc_model::ErrorReason;
use svc_nodes::NodeHandle;
use svc_store::{JobLeases, Store, StoreError};

use crate::config::Config;

/// Rows deleted in one step; others write between two steps.
const CHUNK: i64 = 500;

/// Time between two removals of expired entries of local caches: what is left to requests stays small.
const LOCAL_CACHE_CLEANUP: Duration = Duration::from_secs(1);

/// Time by which the lease of a job outlasts its interval.
const LEASE_MARGIN: Duration = Duration::from_secs(60);

/// The leases under which one process runs a job for all that share the database. Cheap to clone.
#[derive(Clone)]
pub(crate) struct JobLease {
    leases: JobLeases,
    nodes: NodeHandle,
    errors: ChannelMetrics,
    log: Logger,
}

impl JobLease {
    pub(crate) fn new(store: &Store, nodes: &NodeHandle, errors: ChannelMetrics, log: &Logger) -> Self {
        Self { leases: store.job_leases(), nodes: nodes.clone(), errors, log: log.clone() }
    }

    /// Takes or renews the lease of a job. Without an answer of the database it is not held.
    async fn acquire(&self, job: &'static str, ttl: Duration) -> bool {
        match self.leases.acquire(job, &self.nodes.id(), ttl).await {
            Ok(is_held) => is_held,
            Err(error) => {
                self.errors.count_error(ErrorReason::JobLease);
                warn!(self.log, "the lease of a job cannot be asked for"; "job" => job, "error" => %error);
                false
            }
        }
    }
}

/// Returns the configured jobs; rows that are kept for ever need none.
pub(crate) fn housekeeping_jobs(
    config: &Config,
    store: &Store,
    lease: &JobLease,
    local_caches: LocalCaches,
) -> Vec<JobSpec> {
    let (traces, audit) = (&config.trace_queue, &config.audit);
    let mut jobs = vec![local_cache_cleanup(local_caches)];
    if traces.retention_hours > 0 {
        let (store, hours) = (store.clone(), traces.retention_hours);
        jobs.push(job("trace_cleanup", traces.cleanup_interval_secs, lease, move || {
            let (traces, groups) = (store.traces(), store.error_groups());
            async move {
                let deleted = traces.delete_expired(hours, CHUNK).await?;
                // A group goes with the last row that names it.
                Ok(deleted + groups.delete_expired(hours, CHUNK).await?)
            }
        }));
    }
    if traces.dlq_retention_hours > 0 {
        let (store, hours) = (store.clone(), traces.dlq_retention_hours);
        jobs.push(job("dlq_cleanup", traces.cleanup_interval_secs, lease, move || {
            let letters = store.dead_letters();
            async move { letters.delete_expired(hours, CHUNK).await }
        }));
    }
    if traces.retention_hours > 0 {
        // Also on a node without schedules: other nodes may have filled the table.
        let (store, hours) = (store.clone(), traces.retention_hours);
        jobs.push(job("cron_cleanup", traces.cleanup_interval_secs, lease, move || {
            let ledger = store.ledger();
            async move { ledger.delete_expired(hours, CHUNK).await }
        }));
    }
    if audit.retention_days > 0 {
        let (store, days) = (store.clone(), audit.retention_days);
        jobs.push(job("audit_cleanup", audit.cleanup_interval_secs, lease, move || {
            let audit = store.audit();
            async move { audit.delete_expired(days, CHUNK).await }
        }));
    }
    jobs
}

/// Makes the job that every process does for itself.
fn local_cache_cleanup(caches: LocalCaches) -> JobSpec {
    let work = move || {
        let caches = caches.clone();
        Box::pin(async move { caches.remove_expired().await.map(|()| JobPass::Done).map_err(Into::into) })
            as _
    };
    JobSpec { name: "local_cache_cleanup", every: LOCAL_CACHE_CLEANUP, work: Arc::new(work) }
}

/// Makes a job that one process does for all that share the database.
fn job<F>(
    name: &'static str,
    every_secs: u64,
    lease: &JobLease,
    remove: impl Fn() -> F + Send + Sync + 'static,
) -> JobSpec
where
    F: Future<Output = Result<u64, StoreError>> + Send + 'static,
{
    let every = Duration::from_secs(every_secs);
    let (lease, remove) = (lease.clone(), Arc::new(remove));
    let work = move || {
        let (lease, remove) = (lease.clone(), Arc::clone(&remove));
        Box::pin(async move {
            if !lease.acquire(name, every.saturating_add(LEASE_MARGIN)).await {
                return Ok(JobPass::Skipped);
            }
            remove().await.map(|_| JobPass::Done).map_err(Into::into)
        }) as _
    };
    JobSpec { name, every, work: Arc::new(work) }
}
