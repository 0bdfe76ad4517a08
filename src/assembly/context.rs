//! A service that is being put together: what every part of it is started with.

use std::sync::Arc;

use actix_supervision::{Placement, Tree};
use slog::Logger;
use svc_outbound::Outbound;
use svc_redis::RedisClient;
use svc_secrets::Keyring;
use svc_spans::Spans;

use crate::assembly::metrics::ServiceMetrics;
use crate::assembly::row::{RunsOn, TreeRow};
use crate::backups::BackupDirectory;
use crate::config::Config;
use crate::error::ServiceStartError;
use crate::process::io_runtime::IoRuntime;

/// A supervision tree that parts are added to, and the resources that they share.
pub(crate) struct Assembly {
    pub(crate) config: Config,
    pub(crate) environment: Vec<(String, String)>,
    /// The id of this process among those that share a database.
    pub(crate) node_id: String,
    pub(crate) io: IoRuntime,
    pub(crate) outbound: Outbound,
    pub(crate) secrets: Keyring,
    /// The Redis server that the nodes of a cluster share; `None` outside cluster mode.
    pub(crate) cluster_redis: Option<RedisClient>,
    pub(crate) tree: Tree,
    /// The thread of every node that names no other.
    pub(crate) shared_thread: Placement,
    pub(crate) metrics: ServiceMetrics,
    pub(crate) spans: Spans,
    /// The directory of backups.
    pub(crate) backups: Arc<BackupDirectory>,
    /// True if every run leaves a whole trace, whatever its channel says.
    pub(crate) records_all_runs: bool,
    pub(crate) log: Logger,
}

impl Assembly {
    /// Returns the thread of a node that the service places; a thread of its own is started.
    ///
    /// # Errors
    /// [`ServiceStartError::System`] if no thread can be started.
    pub(crate) fn thread_of(&self, row: &TreeRow) -> Result<Placement, ServiceStartError> {
        match row.runs_on {
            RunsOn::ScheduleThread | RunsOn::KafkaThread => self.io.start_arbiter(),
            RunsOn::ConnectorThread => self.io.start_driving_arbiter(),
            _ => Ok(self.shared_thread.clone()),
        }
    }
}
