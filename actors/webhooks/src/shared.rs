//! The services that the actor, the handle and the function share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use slog::Logger;
use svc_cluster::nodes::NodeHandle;
use svc_store::Webhooks;
use svc_traces::Traces;
use tokio::sync::{Notify, Semaphore};

use crate::metrics::WebhookMetrics;
use crate::order_pace::OrderPace;
use crate::sender::WebhookSender;
use crate::settings::Settings;

/// Ends of attempts that are written at once.
pub(crate) const MOST_WRITES: usize = 8;

/// The services of webhooks, which survive a restart of the actor.
pub(crate) struct WebhookShared {
    pub(crate) webhooks: Webhooks,
    pub(crate) nodes: NodeHandle,
    pub(crate) traces: Traces,
    pub(crate) sender: Arc<dyn WebhookSender>,
    pub(crate) settings: Settings,
    pub(crate) metrics: WebhookMetrics,
    /// The places of writes: the ends of many attempts leave connections of the database to others.
    pub(crate) writes: Semaphore,
    /// The pace of the orders of consumers.
    pub(crate) orders: OrderPace,
    pub(crate) log: Logger,
    /// Wakes the actor of this node: a delivery may be due.
    pub(crate) due: Notify,
    /// The last look for deliveries succeeded.
    pub(crate) is_looking: AtomicBool,
    /// There are endpoints, as last counted.
    pub(crate) has_endpoints: AtomicBool,
}
