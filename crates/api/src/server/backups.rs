//! Backups of a SQLite file.

use serde::{Deserialize, Serialize};
use svc_model::Timestamp;
use utoipa::ToSchema;

/// A backup that was made now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedBackup {
    /// Name of the file in the directory of backups.
    pub filename: String,
    /// Path of the file on the host of the server.
    pub path: String,
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// Instant of the backup: later changes are not in it.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// A file in the directory of backups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackupFile {
    /// Name of the file.
    pub filename: String,
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// Instant at which the file was written.
    #[schema(value_type = String, format = DateTime)]
    pub modified_at: Timestamp,
}
