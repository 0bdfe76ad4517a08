//! The data of a rerun.

use serde_json::Value;
use uuid::Uuid;

use crate::repo::traces::WaitReason;

/// The metadata field of a rerun: an object with the trace that it runs again and, of a rerun of one version, that
/// version of the workflow. Callers cannot set it.
pub const RERUN: &str = "_svc_rerun";

/// The version of the workflow that runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RerunVersion {
    /// The one that ran, whatever its status is now.
    Same,
    /// The one that serves when the rerun begins.
    Current,
    /// That version of the workflow that ran.
    Number(i64),
}

/// An order to run a trace again.
#[derive(Clone, Debug, PartialEq)]
pub struct RerunOrder {
    /// Id of the trace.
    pub id: String,
    /// Id of the trace of the rerun, which no other trace has.
    pub rerun: Uuid,
    /// The version of the workflow.
    pub version: RerunVersion,
    /// The payload, in place of the stored one.
    pub payload: Option<Value>,
}

/// Accepted work that runs a trace again. It waits for a free worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedRerun {
    pub trace_id: Uuid,
    pub channel_id: Option<String>,
    /// The reason for which it waits.
    pub reason: WaitReason,
}
