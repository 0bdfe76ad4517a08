//! The watcher of the configuration epoch.

use std::sync::Arc;
use std::time::Duration;

use svc_epoch::{ConfigApplier, EpochHandle, EpochServices, LocalChanges, Settings};
use svc_nodes::NodeHandle;
use svc_store::{EpochNumbers, Store};

use crate::assembly::context::Assembly;
use crate::assembly::propagation::Propagation;
use crate::assembly::row::{RunsOn, ServicePart, TreeRow};
use crate::error::ServiceStartError;

/// The watcher of the configuration epoch, which loads what other processes changed.
pub(crate) static EPOCH: TreeRow =
    TreeRow::actor("epoch", RunsOn::SharedThread).needs(&["store", "nodes", "connectors", "registry"]);

/// The rows of this part.
pub(crate) static PART: ServicePart = ServicePart { nodes: &[&EPOCH], tasks: &[] };

/// Starts the watcher, which applies changes to `applier`. `seed` has the numbers before the first load.
///
/// # Errors
/// [`ServiceStartError::Tree`] for an actor that cannot be placed.
pub(crate) async fn start(
    assembly: &Assembly,
    store: &Store,
    nodes: &NodeHandle,
    applier: Arc<dyn ConfigApplier>,
    seed: EpochNumbers,
) -> Result<Propagation, ServiceStartError> {
    let (errors, jobs) = (assembly.metrics.channels.clone(), assembly.metrics.jobs.clone());
    let local = LocalChanges::default();
    let services = EpochServices {
        epoch: store.epoch(),
        nodes: nodes.clone(),
        applier,
        local: local.clone(),
        settings: Settings {
            poll_interval: Duration::from_millis(assembly.config.cluster.epoch_poll_interval_ms),
            seed,
            needs: EPOCH.need_paths(),
        },
        metrics: assembly.metrics.epoch.clone(),
        errors: Arc::new(move |reason| errors.count_error(reason)),
        jobs: Arc::new(move |job| jobs.record_success(job)),
        log: assembly.log.clone(),
    };
    let thread = assembly.thread_of(&EPOCH)?;
    let started = EpochHandle::supervise(&assembly.tree, EPOCH.path, thread, services).await;
    Ok(Propagation { epoch: started.map_err(ServiceStartError::tree)?, local })
}
