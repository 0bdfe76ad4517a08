//! The audit log.

use serde::{Deserialize, Serialize};
use svc_model::{AuditRow, Timestamp};
use utoipa::ToSchema;

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditLogEntry {
    /// Id of the entry.
    pub id: String,
    /// The caller: `key-` and 16 hexadecimal digits that identify an admin key, or `anonymous`.
    pub principal: String,
    /// The action, such as `create` or `status_active`.
    pub action: String,
    /// The type of the changed resource, such as `workflow` or `engine`.
    pub resource_type: String,
    /// The id of the changed resource.
    pub resource_id: String,
    /// Details of the change: a string that holds JSON.
    #[schema(required = true)]
    pub details: Option<String>,
    /// Time of the change.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl From<AuditRow> for AuditLogEntry {
    fn from(row: AuditRow) -> Self {
        let AuditRow { id, principal, action, resource_type, resource_id, details, created_at } = row;
        Self { id, principal, action, resource_type, resource_id, details, created_at }
    }
}
