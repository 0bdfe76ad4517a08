//! The recurring jobs of the service, which end what has expired (rows, cached entries of channels, and pauses), make
//! scheduled backups, and move rollouts.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use slog::{Logger, warn};
use svc_channels::{ChannelMetrics, LocalCaches};
use svc_cluster::nodes::NodeHandle;
use svc_connectors::Connectors;
use svc_model::{AuditAction, AuditResource, ErrorReason};
use svc_registry::{Registry, ReloadScope};
use svc_store::{AuditEntry, AuditReceipt, JobLeases, Mutation, Store, StoreError};
use svc_traces::Traces;

use crate::assembly::context::Assembly;
use crate::assembly::row::{RunsOn, ServicePart, TreeRow};
use crate::backups::scheduled::{BackupStores, ScheduledBackups};
use crate::config::Config;
use crate::error::ServiceStartError;
use crate::housekeeping::{self, JobError, JobPass, JobSpec};
use crate::rollouts::{self, CanaryServices};

/// The group of the recurring jobs of the service.
pub(crate) static HOUSEKEEPING: TreeRow = TreeRow::group("housekeeping");
/// The timer of the jobs.
static JOB_SCHEDULER: TreeRow =
    TreeRow::actor("housekeeping/scheduler", RunsOn::SharedThread).needs(&["housekeeping/{job}"]);
/// One job.
static JOB: TreeRow = TreeRow::actor("housekeeping/{job}", RunsOn::SharedThread);

/// The rows of this part.
pub(crate) static PART: ServicePart =
    ServicePart { nodes: &[&HOUSEKEEPING, &JOB_SCHEDULER, &JOB], tasks: &[] };

/// Rows deleted in one step; others write between two steps.
const CHUNK: i64 = 500;

/// Time between two removals of expired entries of local caches: what is left to requests stays small.
const LOCAL_CACHE_CLEANUP: Duration = Duration::from_secs(1);

/// Seconds between two removals of kept answers and counts of quotas whose windows have ended.
const GUARD_CLEANUP_SECS: u64 = 300;

/// Time between two looks at the ends of pauses.
const PAUSE_ENDS: Duration = Duration::from_secs(1);

/// The principal of a resume at the end of a pause: the member of the request that set it.
const PAUSE_END: &str = "until";

/// Time by which the lease of a job outlasts its interval.
const LEASE_MARGIN: Duration = Duration::from_secs(60);

/// Starts the recurring jobs.
///
/// # Errors
/// [`ServiceStartError::Tree`] for an actor that cannot be placed.
pub(crate) async fn start(
    assembly: &mut Assembly,
    store: &Store,
    nodes: &NodeHandle,
    registry: &Registry,
    connectors: &Connectors,
    local_caches: LocalCaches,
    traces: &Traces,
) -> Result<(), ServiceStartError> {
    let backups = schedule_backups(assembly, store, connectors);
    let rollouts = rollouts::watch_rollouts(CanaryServices {
        store: store.clone(),
        nodes: nodes.clone(),
        registry: registry.clone(),
        traces: traces.clone(),
        channels: assembly.metrics.channels.clone(),
        metrics: assembly.metrics.rollouts.clone(),
        log: assembly.log.clone(),
    });
    let (tree, thread) = (&assembly.tree, assembly.thread_of(&JOB)?);
    let (metrics, log) = (assembly.metrics.jobs.clone(), assembly.log.clone());
    let lease = JobLease::new(store, nodes, assembly.metrics.channels.clone(), &log);
    let mut jobs = housekeeping_jobs(&assembly.config, store, &lease, registry, local_caches);
    jobs.push(rollouts);
    jobs.extend(backups);
    let started = housekeeping::supervise(tree, HOUSEKEEPING.path, thread, jobs, metrics, log).await;
    started.map_err(ServiceStartError::tree)
}

/// Returns the job that makes backups, and registers its metrics; `None` without a schedule.
fn schedule_backups(assembly: &mut Assembly, store: &Store, connectors: &Connectors) -> Option<JobSpec> {
    let (directory, log) = (Arc::clone(&assembly.backups), assembly.log.clone());
    let stores =
        BackupStores { connectors: connectors.directory().clone(), outbound: assembly.outbound.clone() };
    let backups = ScheduledBackups::new(&assembly.config.backups, store.clone(), directory, stores, log)?;
    backups.register(assembly.metrics.registry.registry_mut());
    Some(backups.into_job())
}

/// The leases under which one process runs a job for all that share the database. Cheap to clone.
#[derive(Clone)]
struct JobLease {
    leases: JobLeases,
    nodes: NodeHandle,
    errors: ChannelMetrics,
    log: Logger,
}

impl JobLease {
    fn new(store: &Store, nodes: &NodeHandle, errors: ChannelMetrics, log: &Logger) -> Self {
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
fn housekeeping_jobs(
    config: &Config,
    store: &Store,
    lease: &JobLease,
    registry: &Registry,
    local_caches: LocalCaches,
) -> Vec<JobSpec> {
    let (traces, audit) = (&config.trace_queue, &config.audit);
    let mut jobs = vec![local_cache_cleanup(local_caches), end_pauses(store.clone(), registry.clone())];
    jobs.push(guard_cleanup(store, lease));
    jobs.extend(run_cleanups(config, store, lease));
    if config.webhooks.retention_hours > 0 {
        let (store, hours) = (store.clone(), config.webhooks.retention_hours);
        jobs.push(job("webhook_cleanup", traces.cleanup_interval_secs, lease, move || {
            let webhooks = store.webhooks();
            async move { webhooks.delete_expired(hours, CHUNK).await }
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

/// Makes the jobs that delete runs and what belongs to them: traces, dead letters, occurrences, bulk runs, recordings.
fn run_cleanups(config: &Config, store: &Store, lease: &JobLease) -> Vec<JobSpec> {
    let (traces, mut jobs) = (&config.trace_queue, Vec::new());
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
    if traces.retention_hours > 0 {
        let (store, hours) = (store.clone(), traces.retention_hours);
        jobs.push(job("bulk_cleanup", traces.cleanup_interval_secs, lease, move || {
            let runs = store.bulk_runs();
            async move { runs.delete_expired(hours, CHUNK).await }
        }));
    }
    if traces.retention_hours > 0 {
        let (store, hours) = (store.clone(), traces.retention_hours);
        jobs.push(job("recording_cleanup", traces.cleanup_interval_secs, lease, move || {
            let (recordings, backtests) = (store.recordings(), store.backtests());
            async move {
                let deleted = recordings.delete_expired(hours, CHUNK).await?;
                Ok(deleted + backtests.delete_expired(hours, CHUNK).await?)
            }
        }));
    }
    jobs
}

/// Makes the job that deletes the answers and the counts of guards whose windows have ended.
fn guard_cleanup(store: &Store, lease: &JobLease) -> JobSpec {
    let (answers, quotas) = (store.kept_answers(), store.quota_counts());
    job("guard_cleanup", GUARD_CLEANUP_SECS, lease, move || {
        let (answers, quotas) = (answers.clone(), quotas.clone());
        async move { Ok(answers.delete_expired(CHUNK).await? + quotas.delete_expired(CHUNK).await?) }
    })
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

/// Makes the job that resumes channels at the ends of their pauses. Any process does it.
fn end_pauses(store: Store, registry: Registry) -> JobSpec {
    let work = move || {
        let (store, registry) = (store.clone(), registry.clone());
        Box::pin(async move { resume_due(&store, &registry).await }) as _
    };
    JobSpec { name: "pause_end", every: PAUSE_ENDS, work: Arc::new(work) }
}

/// Resumes the channels whose pauses have reached their end, by the clock of the database. While no pause has
/// an end, nothing is asked for.
async fn resume_due(store: &Store, registry: &Registry) -> Result<JobPass, JobError> {
    if !registry.snapshot().has_timed_pause() {
        return Ok(JobPass::Done);
    }
    let audit = AuditEntry {
        principal: PAUSE_END.to_owned(),
        action: AuditAction::Resume.name().to_owned(),
        resource_type: AuditResource::Channel.name().to_owned(),
        resource_id: String::new(),
        details: None,
        receipt: AuditReceipt::default(),
    };
    let resumed = store.channel_pauses().resume_due(Mutation::new(audit)).await?;
    if !resumed.is_empty() {
        registry.reload(ReloadScope::pauses()).await?;
    }
    Ok(JobPass::Done)
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
