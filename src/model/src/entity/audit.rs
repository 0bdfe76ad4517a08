//! The record of who changed what.

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::time::Timestamp;

/// An entry about to be written, in the same transaction as the change it records.
#[derive(Clone, Debug, PartialEq)]
pub struct NewAudit {
    /// Who: [`key_principal`] or `anonymous`.
    pub principal: String,
    /// What was done, such as `create` or `status_active`.
    pub action: String,
    /// To what kind of thing, such as `workflow` or `engine`.
    pub resource_type: String,
    /// To which one.
    pub resource_id: String,
    /// More about it: a string that holds JSON.
    pub details: Option<String>,
}

/// An entry as it is stored and answered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditRow {
    /// Id.
    pub id: String,
    /// Who.
    pub principal: String,
    /// What was done.
    pub action: String,
    /// To what kind of thing.
    pub resource_type: String,
    /// To which one.
    pub resource_id: String,
    /// More about it: a string that holds JSON, or `null`.
    pub details: Option<String>,
    /// When.
    pub created_at: Timestamp,
}

/// The principal of an admin key: `key-` and 16 hex digits that identify the key without revealing it.
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
