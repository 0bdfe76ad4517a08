//! The audit log.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use svc_model::{AUDIT_ORIGIN, AuditRow, Timestamp};
use utoipa::ToSchema;

/// The header of the answer to a change, with the id of its entry; of several entries, that of the last.
pub const AUDIT_ID_HEADER: &str = "x-audit-id";

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
    /// `client_ip`, `user_agent`, `change_context`) and has the members of `change`.
    #[schema(required = true)]
    pub details: Option<String>,
    /// Facts of the change: of a definition `version` and `content_hash` `{before, after}`, of what a workflow serves
    /// `rollout_percentage` too; `null` if there are none.
    #[schema(required = true, value_type = Option<Object>)]
    pub change: Option<Map<String, Value>>,
    /// Time of the change.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// A page of the audit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = AuditLogEntryPage)]
pub struct AuditListEnvelope {
    /// The rows of the page.
    pub data: Vec<AuditLogEntry>,
    /// Number of matching rows on all pages, but for `include_total=false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub total: Option<i64>,
    /// The applied limit.
    pub limit: i64,
    /// The applied offset.
    pub offset: i64,
    /// Cursor of the next page, where more rows may follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next_cursor: Option<String>,
    /// The instant up to which rows were read, if that many were read that the page is not full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub scanned_until: Option<Timestamp>,
}

impl From<AuditRow> for AuditLogEntry {
    fn from(row: AuditRow) -> Self {
        let AuditRow { id, principal, action, resource_type, resource_id, details, created_at } = row;
        let change = details.as_deref().and_then(parse_change);
        Self { id, principal, action, resource_type, resource_id, details, change, created_at }
    }
}

/// Returns the members of stored details that do not describe the request.
fn parse_change(details: &str) -> Option<Map<String, Value>> {
    let mut members: Map<String, Value> = serde_json::from_str(details).ok()?;
    members.retain(|name, _| !AUDIT_ORIGIN.contains(&name.as_str()));
    (!members.is_empty()).then_some(members)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn change_leaves_out_the_origin_of_the_request() {
        let facts = json!({"version": 2, "content_hash": {"before": null, "after": "sha256:00"}});
        let mut details = facts.clone();
        details["request_id"] = "r".into();
        details["user_agent"] = "u".into();
        assert_eq!(parse_change(&details.to_string()).map(Value::Object), Some(facts));
        for none in [r#"{"request_id": "r"}"#, "{}", "no JSON", "[]"] {
            assert_eq!(parse_change(none), None, "{none}");
        }
    }
}
