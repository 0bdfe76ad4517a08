//! The audit log.

use serde::{Deserialize, Serialize};
use svc_model::{AuditRow, Timestamp};
use utoipa::ToSchema;

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditLogEntry {
    /// Id of the entry.
    pub id: String,
    /// The caller: the name of an admin key, or the first 12 hexadecimal digits of its SHA-256; `anonymous` where no key is
    /// asked for. Entries of earlier releases have `key-` and 16 digits.
    pub principal: String,
    /// The action, such as `create` or `status_active`.
    pub action: String,
    /// The type of the changed resource, such as `workflow` or `engine`.
    pub resource_type: String,
    /// The id of the changed resource.
    pub resource_id: String,
    /// Details of the change: a string that holds a JSON object. It tells the origin of the request (`request_id`,
    /// `client_ip`, `user_agent`, `change_context`), and of a change of a definition `version` and `content_hash`
    /// `{before, after}`, of a change of what a workflow serves `rollout_percentage` too.
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

/// The caller as the audit log knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallerIdentity {
    /// The name under which the changes of the caller are recorded.
    pub principal: String,
    /// The first 12 hexadecimal digits of the SHA-256 of the key; `null` where no key is asked for.
    #[schema(required = true)]
    pub key_id: Option<String>,
    /// `full`, or `read_only` for a key that may only read.
    pub access: String,
}
