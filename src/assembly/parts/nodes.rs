//! The lease of this process.

use std::time::Duration;

use svc_nodes::{NodeHandle, Settings};
use svc_store::Store;

use crate::assembly::context::Assembly;
use crate::assembly::row::{RunsOn, ServicePart, TreeRow};
use crate::config::Config;
use crate::error::ServiceStartError;

/// The lease of this process, which it renews.
pub(crate) static NODE_LEASE: TreeRow =
    TreeRow::actor("nodes", RunsOn::SharedThread).essential().needs(&["store"]);

/// The rows of this part.
pub(crate) static PART: ServicePart = ServicePart { nodes: &[&NODE_LEASE], tasks: &[] };

/// Registers this process and starts the renewal of its lease. `is_alone`: no other process can use the database.
///
/// # Errors
/// [`ServiceStartError::Tree`] for a lease that cannot be registered, or an actor that cannot be placed.
pub(crate) async fn start(
    assembly: &Assembly,
    store: &Store,
    is_alone: bool,
) -> Result<NodeHandle, ServiceStartError> {
    let settings = Settings {
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

/// Generates the id of this process among those that share a database: its configured name, or that of its
/// host, with a unique suffix.
pub(crate) fn node_id(config: &Config) -> String {
    let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = Some(config.cluster.instance_id.clone()).filter(|id| !id.is_empty()).unwrap_or_else(host);
    let name = Some(name.trim()).filter(|name| !name.is_empty()).unwrap_or("node");
    Settings::new_id(name)
}
