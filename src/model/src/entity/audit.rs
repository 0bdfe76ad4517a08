//! The audit log: who changed what.

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::time::Timestamp;

/// An audit entry to be written in the same transaction as the change that it records.
#[derive(Clone, Debug, PartialEq)]
pub struct NewAudit {
    /// The principal that made the change: [`key_principal`] or `anonymous`.
    pub principal: String,
    /// The action, such as `create` or `status_active`.
    pub action: String,
    /// The type of the changed resource, such as `workflow` or `engine`.
    pub resource_type: String,
    /// The id of the changed resource.
    pub resource_id: String,
    /// Details of the change: a string that holds JSON.
    pub details: Option<String>,
}

/// An audit entry as it is stored and returned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditRow {
    /// Id of the entry.
    pub id: String,
    /// The principal that made the change.
    pub principal: String,
    /// The action.
    pub action: String,
    /// The type of the changed resource.
    pub resource_type: String,
    /// The id of the changed resource.
    pub resource_id: String,
    /// Details of the change: a string that holds JSON, or `null`.
    pub details: Option<String>,
    /// Time of the change.
    pub created_at: Timestamp,
}

/// Returns the principal of an admin key: `key-` and 16 hex digits, which identify the key without revealing
/// it.
pub fn key_principal(key: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"svc:audit:key-id:v1");
    hasher.update(Sha256::digest(key.as_bytes()));
    let digest = hasher.finalize();
    format!("key-{}", hex::encode(&digest[..8]))
}

#[cfg(test)]
mod tests {
    use super::key_principal;

    #[test]
    fn a_principal_is_stable_and_says_nothing_of_the_key() {
        let principal = key_principal("correct horse");
        assert_eq!(principal, key_principal("correct horse"));
        assert_ne!(principal, key_principal("correct horsf"));
        assert_eq!(principal.len(), "key-".len() + 16);
        assert!(principal[4..].bytes().all(|b| b.is_ascii_hexdigit()));
    }
}
