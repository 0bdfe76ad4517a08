//! Webhooks to customers.

use std::sync::Arc;
use std::time::Duration;

use svc_cluster::nodes::NodeHandle;
use svc_connectors::Connectors;
use svc_store::Store;
use svc_traces::Traces;
use svc_webhooks::{Settings, WebhookHandle, WebhookParts};

use crate::assembly::context::Assembly;
use crate::assembly::row::{RunsOn, ServicePart, TreeRow};
use crate::config::Config;
use crate::error::ServiceStartError;

/// The actor that delivers the events which this node has claimed.
static WEBHOOKS: TreeRow =
    TreeRow::actor("webhooks", RunsOn::SharedThread).needs(&["store", "nodes", "traces", "connectors"]);

/// The rows of this part.
pub(crate) static PART: ServicePart = ServicePart { nodes: &[&WEBHOOKS], tasks: &[] };

/// Starts the deliveries.
///
/// # Errors
/// [`ServiceStartError::Tree`] for an actor that cannot be placed.
pub(crate) async fn start(
    assembly: &Assembly,
    store: &Store,
    nodes: &NodeHandle,
    traces: &Traces,
    connectors: &Connectors,
) -> Result<WebhookHandle, ServiceStartError> {
    let parts = WebhookParts {
        store: store.clone(),
        nodes: nodes.clone(),
        traces: traces.clone(),
        sender: Arc::new(connectors.directory().clone()),
        settings: settings(&assembly.config),
        metrics: assembly.metrics.webhooks.clone(),
        log: assembly.log.clone(),
    };
    let thread = assembly.thread_of(&WEBHOOKS)?;
    let started = WebhookHandle::supervise(&assembly.tree, WEBHOOKS.path, thread, parts).await;
    started.map_err(ServiceStartError::tree)
}

fn settings(config: &Config) -> Settings {
    let section = &config.webhooks;
    Settings {
        retry_schedule: section.retry_delays(),
        disable_after: section.disable_time(),
        on_disabled: section.on_disabled.as_deref().map(Into::into),
        attempt_timeout: Duration::from_secs(section.attempt_timeout_secs),
        max_concurrent: section.max_concurrent,
        max_concurrent_per_host: section.max_concurrent_per_host,
        needs: WEBHOOKS.need_paths(),
    }
}
