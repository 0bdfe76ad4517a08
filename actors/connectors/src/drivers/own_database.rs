//! The files of the service itself, which no connector may open: its database and the backups of it.

use std::path::{Path, PathBuf};

use svc_model::FieldError;
use svc_model::config::connector::ConnectorConfig;
use svc_store::Store;

/// The service's own database and the place of its backups. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct OwnDatabase {
    /// `None` if the storage is a server.
    file: Option<PathBuf>,
    /// The directory of backups; `None` if the storage is a server.
    backup_dir: Option<PathBuf>,
}

impl OwnDatabase {
    /// Returns the database of a store.
    pub fn from_store(store: &Store) -> Self {
        Self::new(store.file().map(Path::to_owned), store.backup_dir().map(Path::to_owned))
    }

    pub(crate) const fn new(file: Option<PathBuf>, backup_dir: Option<PathBuf>) -> Self {
        Self { file, backup_dir }
    }

    /// Refuses a `db` connector whose connection string leads by any name to the database, to a file that belongs to it,
    /// or to a file in the directory of backups. A string with placeholders is checked when its connector connects. A
    /// build without the SQL driver refuses nothing: no connector can open a file.
    pub fn check(&self, config: &ConnectorConfig) -> Option<FieldError> {
        #[cfg(feature = "sql")]
        return super::sql::check_own_files(self, config);
        #[cfg(not(feature = "sql"))]
        {
            let _unused = (self.file(), self.backup_dir(), config);
            None
        }
    }

    /// Returns the path of the file; `None` if the storage is a server.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the directory of backups; `None` if the storage is a server.
    pub(crate) fn backup_dir(&self) -> Option<&Path> {
        self.backup_dir.as_deref()
    }
}
