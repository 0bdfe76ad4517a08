//! Schedules.

use std::time::Duration;

use svc_cron::{CronHandle, CronServices, EventCallback, Settings};
use svc_registry::Registry;
use svc_store::Store;

use crate::assembly::context::Assembly;
use crate::assembly::row::{DrainBudget, EndedBy, RunsOn, ServicePart, TreeRow, task};
use crate::error::ServiceStartError;

/// The group of schedules and their runs; absent unless `cron.enabled`.
pub(crate) static CRON: TreeRow = TreeRow::group("cron");
/// The group of schedules.
pub(crate) static SCHEDULES: TreeRow = TreeRow::group("cron/schedules");
/// One schedule, which puts due instants on record.
pub(crate) static SCHEDULE: TreeRow =
    TreeRow::actor("cron/schedules/{id}", RunsOn::ScheduleThread).needs(&["store", "registry", "channels"]);
/// The claimer of due occurrences.
static CLAIMER: TreeRow = TreeRow::actor("cron/claimer", RunsOn::ScheduleThread)
    .needs(&["store", "registry", "channels"])
    .drain(DrainBudget::CronShutdown)
    .ended_by(EndedBy::CronStop);
/// The actor that pauses cursors that no node moves, and measures the backlog.
static REAPER: TreeRow =
    TreeRow::actor("cron/reaper", RunsOn::ScheduleThread).needs(&["store", "registry", "channels"]);
/// The actor that makes the schedules match the snapshot.
static SCHEDULE_RECONCILER: TreeRow =
    TreeRow::actor("cron/reconciler", RunsOn::ScheduleThread).needs(&["store", "registry", "channels"]);

/// The rows of this part.
pub(crate) static PART: ServicePart = ServicePart {
    nodes: &[&CRON, &SCHEDULES, &SCHEDULE, &CLAIMER, &REAPER, &SCHEDULE_RECONCILER],
    tasks: &[task(
        "attempt at an occurrence, with its lease",
        "actors/cron",
        1,
        RunsOn::IoRuntime,
        EndedBy::CronStop,
    )],
};

/// Starts the schedules on a thread of their own; `None` on a node that runs none.
///
/// # Errors
/// [`ServiceStartError::Tree`] for an actor that cannot be placed.
pub(crate) async fn start(
    assembly: &Assembly,
    store: &Store,
    registry: &Registry,
) -> Result<Option<CronHandle>, ServiceStartError> {
    let Some(settings) = settings(assembly) else { return Ok(None) };
    let services = CronServices {
        store: store.clone(),
        registry: registry.clone(),
        settings,
        metrics: assembly.metrics.cron.clone(),
        log: assembly.log.clone(),
        needs: SCHEDULE.need_paths(),
    };
    let thread = assembly.thread_of(&SCHEDULE)?;
    let started = CronHandle::supervise(&assembly.tree, CRON.path, thread, services).await;
    started.map(Some).map_err(ServiceStartError::tree)
}

/// Returns the settings of schedules; `None` on a node that runs none.
fn settings(assembly: &Assembly) -> Option<Settings> {
    let cron = &assembly.config.cron;
    let (errors, jobs) = (assembly.metrics.channels.clone(), assembly.metrics.jobs.clone());
    cron.enabled.then(|| Settings {
        holder: assembly.node_id.clone(),
        poll: Duration::from_millis(cron.poll_interval_ms),
        workers: cron.workers,
        claim_batch: cron.claim_batch_size,
        lease: Duration::from_secs(cron.claim_lease_secs),
        heartbeat: Duration::from_secs(cron.heartbeat_interval_secs),
        misfire_grace: Duration::from_secs(cron.misfire_grace_secs),
        max_catch_up: cron.max_catch_up,
        max_recoveries: cron.max_recoveries,
        default_timeout: Duration::from_millis(cron.default_timeout_ms),
        shutdown_timeout: Duration::from_secs(cron.shutdown_timeout_secs),
        errors: EventCallback::new(move |reason| errors.count_error(reason)),
        jobs: EventCallback::new(move |job| jobs.record_success(job)),
    })
}
