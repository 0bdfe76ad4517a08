//! Reads of a database that change nothing: no migration, no journal mode, no table, no file. A server may use the
//! database meanwhile.

use std::path::Path;

use svc_model::{Channel, Connector, Workflow};

use crate::config::{DatabaseTarget, StoreConfig};
use crate::conn::Conn;
use crate::connection_manager::{ConnectionManager, Purpose};
use crate::error::{OpenError, StoreError};
use crate::migrate::{self, detail};
use crate::repo::{EntityFilter, Versioned, all_connectors};

/// The first migration, which makes the tables of definitions. No later one changes their columns.
const DEFINITIONS: &str = "000001_definitions";

/// The state of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseSummary {
    /// The location, without the password.
    pub target: String,
    /// False for a SQLite file that does not exist.
    pub exists: bool,
    /// The names of the migrations that are not applied.
    pub pending: Vec<String>,
}

/// The stored definitions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredDefinitions {
    /// The latest version of each workflow.
    pub workflows: Vec<Workflow>,
    /// The latest version of each channel.
    pub channels: Vec<Channel>,
    /// The connectors. Settings that cannot be decrypted are marked unreadable.
    pub connectors: Vec<Connector>,
}

/// Opens the database and returns its state.
///
/// # Errors
/// [`OpenError`] if the database cannot be opened, or another program migrated it; also for a SQLite file in a directory
/// that does not exist.
pub async fn summary(config: &StoreConfig) -> Result<DatabaseSummary, OpenError> {
    let connector = ConnectionManager::new(config)?;
    let target = connector.target.to_string();
    let exists = match &connector.target {
        DatabaseTarget::Sqlite(path) => Path::new(path).exists(),
        DatabaseTarget::Postgres(_) => true,
    };
    if let (false, Some(directory)) = (exists, missing_directory(&connector.target)) {
        let detail = format!("the directory '{}' does not exist", directory.display());
        return Err(OpenError::Unreachable { target, detail });
    }
    Ok(DatabaseSummary { target, exists, pending: migrate::pending(config).await? })
}

/// Reads the latest version of every stored definition, whatever migrations are pending. A database without tables
/// holds none.
///
/// # Errors
/// [`OpenError`] if the database cannot be opened or read, or another program migrated it.
pub async fn definitions(config: &StoreConfig) -> Result<StoredDefinitions, OpenError> {
    let summary = summary(config).await?;
    if summary.pending.iter().any(|name| name.ends_with(DEFINITIONS)) {
        return Ok(StoredDefinitions::default());
    }
    let unreachable =
        |error| OpenError::Unreachable { target: summary.target.clone(), detail: detail(error) };
    let mut conn = ConnectionManager::new(config)?.open(Purpose::Inspect).await.map_err(unreachable)?;
    read(&mut conn, config).await.map_err(unreachable)
}

async fn read(conn: &mut Conn, config: &StoreConfig) -> Result<StoredDefinitions, StoreError> {
    let all = EntityFilter { sort_by: Some("name".to_owned()), ..EntityFilter::default() };
    let all = EntityFilter { sort_order: Some("asc".to_owned()), ..all };
    Ok(StoredDefinitions {
        workflows: Workflow::list(conn, &all, None, &config.connector_keys).await?.0,
        channels: Channel::list(conn, &all, None, &config.connector_keys).await?.0,
        connectors: all_connectors(conn, &config.connector_keys).await?,
    })
}

/// Returns the directory of a file if it does not exist.
fn missing_directory(target: &DatabaseTarget) -> Option<&Path> {
    let directory = target.file()?.parent()?;
    (!directory.as_os_str().is_empty() && !directory.exists()).then_some(directory)
}
