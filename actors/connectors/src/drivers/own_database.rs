//! The service's own database, which no connector may open.

use std::path::{Path, PathBuf};

use svc_model::FieldError;
use svc_model::config::connector::ConnectorConfig;
use svc_store::Store;

/// The file of the service's own database. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct OwnDatabase {
    /// `None` where the storage is a server.
    file: Option<PathBuf>,
}

impl OwnDatabase {
    /// Returns the database of a store.
    pub fn from_store(store: &Store) -> Self {
        Self { file: store.file().map(Path::to_owned) }
    }

    /// Refuses a `db` connector whose connection string leads to this file by any name. A string with
    /// placeholders is checked when its connector connects. A build without the SQL driver refuses nothing:
    /// no connector can open the file.
    pub fn check(&self, config: &ConnectorConfig) -> Option<FieldError> {
        #[cfg(feature = "sql")]
        return super::sql::check_own_database(self.file(), config);
        #[cfg(not(feature = "sql"))]
        {
            let _unused = (self.file(), config);
            None
        }
    }

    /// Returns the path of the file; `None` where the storage is a server.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}
