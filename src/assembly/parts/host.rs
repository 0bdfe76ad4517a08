//! The actors of an embedding application, which it adds with [`Service::supervise`](crate::Service::supervise).

use crate::assembly::row::{RunsOn, ServicePart, TreeRow};

/// The group of the actors of an embedding application.
pub(crate) static HOST: TreeRow = TreeRow::group("host");
/// One actor of the application, which may submit to channels.
pub(crate) static HOST_ACTOR: TreeRow =
    TreeRow::actor("host/{name}", RunsOn::HostThread).needs(&["store", "registry", "channels"]);

/// The rows of this part.
pub(crate) static PART: ServicePart = ServicePart { nodes: &[&HOST, &HOST_ACTOR], tasks: &[] };
