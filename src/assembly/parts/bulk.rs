//! Actions of operators on many rows.

use std::future::ready;
use std::sync::Arc;

use actix_supervision::StartError;
use svc_cluster::nodes::NodeHandle;
use svc_cron::CronHandle;
use svc_store::Store;
use svc_traces::Traces;

use crate::assembly::context::Assembly;
use crate::assembly::row::{RunsOn, ServicePart, TreeRow};
use crate::bulk::{BulkDriver, BulkShared};
use crate::driver_handle::DriverHandle;
use crate::error::ServiceStartError;

/// The driver of the bulk runs that this node has taken.
static BULK: TreeRow = TreeRow::actor("bulk", RunsOn::SharedThread).needs(&["store", "nodes", "traces"]);

/// The rows of this part.
pub(crate) static PART: ServicePart = ServicePart { nodes: &[&BULK], tasks: &[] };

/// Starts the driver. It wakes the schedules of this node, if there are any, for the occurrences that it makes due.
///
/// # Errors
/// [`ServiceStartError::Tree`] for an actor that cannot be placed.
pub(crate) async fn start(
    assembly: &Assembly,
    store: &Store,
    nodes: &NodeHandle,
    traces: &Traces,
    cron: Option<&CronHandle>,
) -> Result<DriverHandle, ServiceStartError> {
    let handle = DriverHandle::default();
    let shared = Arc::new(BulkShared {
        handle: handle.clone(),
        store: store.clone(),
        nodes: nodes.clone(),
        traces: traces.clone(),
        cron: cron.cloned(),
        cron_metrics: assembly.metrics.cron.clone(),
        log: assembly.log.clone(),
    });
    let factory = move |_| ready(Ok::<_, StartError>(BulkDriver::new(Arc::clone(&shared))));
    let started = assembly.tree.spawn(BULK.path, BULK.spec(), assembly.thread_of(&BULK)?, factory).await;
    started.map(|_| handle).map_err(ServiceStartError::tree)
}
