//! Backtests of stored definitions over recorded runs.

use std::future::ready;
use std::sync::Arc;

use actix_supervision::StartError;
use svc_cluster::nodes::NodeHandle;
use svc_engine::Engine;
use svc_store::Store;

use crate::assembly::context::Assembly;
use crate::assembly::row::{RunsOn, ServicePart, TreeRow};
use crate::backtests::{BacktestDriver, BacktestShared};
use crate::driver_handle::DriverHandle;
use crate::error::ServiceStartError;

/// The driver of the backtests that this node has taken.
static BACKTESTS: TreeRow = TreeRow::actor("backtests", RunsOn::SharedThread).needs(&["store", "nodes"]);

/// The rows of this part.
pub(crate) static PART: ServicePart = ServicePart { nodes: &[&BACKTESTS], tasks: &[] };

/// Starts the driver.
///
/// # Errors
/// [`ServiceStartError::Tree`] for an actor that cannot be placed.
pub(crate) async fn start(
    assembly: &Assembly,
    store: &Store,
    nodes: &NodeHandle,
    engine: &Arc<Engine>,
) -> Result<DriverHandle, ServiceStartError> {
    let handle = DriverHandle::default();
    let shared = Arc::new(BacktestShared {
        handle: handle.clone(),
        store: store.clone(),
        nodes: nodes.clone(),
        engine: Arc::clone(engine),
        log: assembly.log.clone(),
    });
    let factory = move |_| ready(Ok::<_, StartError>(BacktestDriver::new(Arc::clone(&shared))));
    let thread = assembly.thread_of(&BACKTESTS)?;
    let started = assembly.tree.spawn(BACKTESTS.path, BACKTESTS.spec(), thread, factory).await;
    started.map(|_| handle).map_err(ServiceStartError::tree)
}
