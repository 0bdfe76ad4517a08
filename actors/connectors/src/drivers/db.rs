//! Databases: the connection string decides which driver serves a connector of type `db`.

use svc_model::config::connector::{DatabaseKind, DbConfig};

use crate::driver::ResolveResult;

/// Resolves the config of a database with the driver of its kind.
///
/// # Errors
/// A text that names the unusable field without its value, or the feature that this build was made without.
pub(super) fn resolve(config: &DbConfig) -> ResolveResult {
    match DatabaseKind::from_connection_string(config.connection_string.expose()) {
        #[cfg(feature = "mongo")]
        Some(DatabaseKind::Mongo) => super::mongo::resolve(config),
        #[cfg(not(feature = "mongo"))]
        Some(DatabaseKind::Mongo) => {
            Err(super::missing_driver("db with a MongoDB connection string", "mongo"))
        }
        #[cfg(feature = "sql")]
        _ => super::sql::resolve(config),
        #[cfg(not(feature = "sql"))]
        _ => Err(super::missing_driver("db with a SQL connection string", "sql")),
    }
}
