//! The membership of this process in a cluster: its lease, and the watcher of the configuration epoch.

use std::sync::Arc;
use std::time::Duration;

use svc_cluster::epoch::{self, ConfigApplier, EpochHandle, EpochServices, LocalChanges};
use svc_cluster::nodes::{self, NodeHandle};
use svc_store::{EpochNumbers, Store};

use crate::assembly::context::Assembly;
use crate::assembly::propagation::Propagation;
use crate::assembly::row::{RunsOn, ServicePart, TreeRow};
use crate::config::Config;
use crate::error::ServiceStartError;

/// The lease of this process, which it renews.
pub(crate) static NODE_LEASE: TreeRow =
    TreeRow::actor("nodes", RunsOn::SharedThread).essential().needs(&["store"]);
/// The watcher of the configuration epoch, which loads what other processes changed.
pub(crate) static EPOCH: TreeRow =
    TreeRow::actor("epoch", RunsOn::SharedThread).needs(&["store", "nodes", "connectors", "registry"]);

/// The rows of this part.
pub(crate) static PART: ServicePart = ServicePart { nodes: &[&NODE_LEASE, &EPOCH], tasks: &[] };

/// Generates the id of this process among those that share a database: its configured name, or that of its
/// host, with a unique suffix.
pub(crate) fn node_id(config: &Config) -> String {
    let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = Some(config.cluster.instance_id.clone()).filter(|id| !id.is_empty()).unwrap_or_else(host);
    let name = Some(name.trim()).filter(|name| !name.is_empty()).unwrap_or("node");
    nodes::Settings::new_id(name)
}

/// Registers this process and starts the renewal of its lease. `is_alone`: no other process can use the database.
///
/// # Errors
/// [`ServiceStartError::Tree`] for a lease that cannot be registered, or an actor that cannot be placed.
pub(crate) async fn start_lease(
    assembly: &Assembly,
    store: &Store,
    is_alone: bool,
) -> Result<NodeHandle, ServiceStartError> {
    let settings = nodes::Settings {
        id: assembly.node_id.clone(),
        version: crate::VERSION,
        lease: Duration::from_secs(assembly.config.cluster.node_lease_secs),
        is_alone,
        needs: NODE_LEASE.need_paths(),
    };
    let (tree, thread) = (&assembly.tree, assembly.thread_of(&NODE_LEASE)?);
    let (metrics, log) = (assembly.metrics.nodes.clone(), assembly.log.clone());
    NodeHandle::supervise(tree, NODE_LEASE.path, thread, store, settings, metrics, log)
        .await
        .map_err(ServiceStartError::tree)
}

/// Starts the watcher, which applies changes to `applier`. `seed` has the numbers before the first load.
///
/// # Errors
/// [`ServiceStartError::Tree`] for an actor that cannot be placed.
pub(crate) async fn start_watcher(
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
        settings: epoch::Settings {
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
