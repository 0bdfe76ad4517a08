//! The audit log: who changed what.

use serde::Serialize;

use crate::time::Timestamp;

/// An audit entry as it is stored and returned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditRow {
    /// Id of the entry.
    pub id: String,
    /// The principal that made the change: the name or the id of an admin key, or `anonymous`.
    pub principal: String,
    /// The action.
    pub action: String,
    /// The type of the changed resource.
    pub resource_type: String,
    /// The id of the changed resource.
    pub resource_id: String,
    /// Details of the change: a string that holds a JSON object, or `null`.
    pub details: Option<String>,
    /// Time of the change.
    pub created_at: Timestamp,
}
