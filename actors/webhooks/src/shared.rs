//! The services that the actor, the handle and the function share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use slog::Logger;
use svc_cluster::nodes::NodeHandle;
use svc_store::Webhooks;
use svc_traces::Traces;
use tokio::sync::Notify;

use crate::metrics::WebhookMetrics;
use crate::sender::WebhookSender;
use crate::settings::Settings;

/// The services of webhooks, which survive a restart of the actor.
pub(crate) struct WebhookShared {
    pub(crate) webhooks: Webhooks,
    pub(crate) nodes: NodeHandle,
    pub(crate) traces: Traces,
    pub(crate) sender: Arc<dyn WebhookSender>,
    pub(crate) settings: Settings,
    pub(crate) metrics: WebhookMetrics,
    pub(crate) log: Logger,
    /// Wakes the actor of this node: a delivery may be due.
    pub(crate) due: Notify,
    /// The last look for deliveries succeeded.
    pub(crate) is_looking: AtomicBool,
    /// There are endpoints, as last counted.
    pub(crate) has_endpoints: AtomicBool,
}
