//! The services of the job, which survive its restart.

use slog::Logger;
use svc_channels::ChannelMetrics;
use svc_cluster::nodes::NodeHandle;
use svc_registry::Registry;
use svc_store::Store;
use svc_traces::Traces;

use super::metrics::CanaryMetrics;

/// The services over which rollouts are watched.
#[derive(Clone)]
pub(crate) struct CanaryServices {
    pub(crate) store: Store,
    pub(crate) nodes: NodeHandle,
    pub(crate) registry: Registry,
    pub(crate) traces: Traces,
    pub(crate) channels: ChannelMetrics,
    pub(crate) metrics: CanaryMetrics,
    pub(crate) log: Logger,
}
