//! The nodes that share the database.

use serde::{Deserialize, Serialize};
use svc_model::Timestamp;
use utoipa::ToSchema;

use crate::server::live::NodeFigures;

/// A process that shares the database, or did until it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Node)]
pub struct NodeSummary {
    /// Id of the node.
    pub id: String,
    /// `live`, `expired` or `stopped`.
    pub status: String,
    /// Version of `svc-server`.
    pub version: String,
    /// Its process id on its machine.
    pub pid: i64,
    /// Start of the process.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// Last renewal of its lease.
    #[schema(value_type = String, format = DateTime)]
    pub renewed_at: Timestamp,
    /// End of its lease.
    #[schema(value_type = String, format = DateTime)]
    pub lease_until: Timestamp,
    /// Instant at which it released its lease.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub stopped_at: Option<Timestamp>,
    /// The configuration epoch that it serves; `null` until its first load.
    #[schema(required = true)]
    pub applied_epoch: Option<i64>,
    /// The ids of the encryption keys that it can read; `null` for an earlier version, which does not report them.
    #[schema(required = true)]
    pub encryption_key_ids: Option<Vec<String>>,
    /// The figures that it wrote last, with their age; `null` for a node that writes none.
    #[schema(required = true)]
    pub figures: Option<NodeFigures>,
    /// `true` for the node that answers this request.
    pub is_this: bool,
}

/// A node that drains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DrainedNode {
    /// Id of the node.
    pub node: String,
    /// Seconds for which it still takes requests.
    pub accepting_for_secs: u64,
    /// Seconds that everything in progress gets after that; 0 sets no bound.
    pub force_after_secs: u64,
}
