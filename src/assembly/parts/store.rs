//! The database: pools, repositories, the group-commit writer.

use std::path::PathBuf;
use std::time::Duration;

use svc_secrets::{EnvelopeKeys, Keyring, Resolver, Secret};
use svc_store::{OpenedStore, Store, StoreConfig};

use crate::assembly::context::Assembly;
use crate::assembly::row::{EndedBy, RunsOn, ServicePart, TreeRow, task};
use crate::config::Config;
use crate::error::ServiceStartError;

/// The group of the database.
pub(crate) static STORE: TreeRow = TreeRow::group("store");
/// The writer with its group commit.
static STORE_WRITER: TreeRow = TreeRow::actor("store/writer", RunsOn::SharedThread).essential();
/// The check that the database answers.
static STORE_PROBE: TreeRow = TreeRow::actor("store/probe", RunsOn::SharedThread);

/// The rows of this part.
pub(crate) static PART: ServicePart = ServicePart {
    nodes: &[&STORE, &STORE_WRITER, &STORE_PROBE],
    tasks: &[
        task("statements and migrations", "actors/store", 10, RunsOn::IoRuntime, EndedBy::Caller),
        task("copy of a SQLite file", "actors/store", 1, RunsOn::BlockingPool, EndedBy::Caller),
        task("batches of writes", "actors/store", 2, RunsOn::IoRuntime, EndedBy::Caller),
        task("groups of calls of the ledger", "actors/store", 2, RunsOn::IoRuntime, EndedBy::Caller),
        task(
            "driver of a connection to the database",
            "actors/store",
            1,
            RunsOn::IoRuntime,
            EndedBy::OwnerDrop,
        ),
    ],
};

/// Starts the writer and the probe of an opened database.
///
/// # Errors
/// [`ServiceStartError::Tree`] for an actor that cannot be placed.
pub(crate) async fn start(assembly: &mut Assembly, opened: OpenedStore) -> Result<Store, ServiceStartError> {
    let thread = assembly.thread_of(&STORE_WRITER)?;
    let started = Store::supervise(opened, &assembly.tree, STORE.path, thread).await;
    let store = started.map_err(ServiceStartError::tree)?;
    store.metrics().register(assembly.metrics.registry.registry_mut());
    Ok(store)
}

/// Returns the settings of the database.
pub fn store_config(config: &Config) -> StoreConfig {
    let storage = &config.storage;
    StoreConfig {
        url: storage.url.clone(),
        max_connections: storage.max_connections,
        min_connections: storage.min_connections,
        busy_timeout_ms: storage.busy_timeout_ms,
        acquire_timeout: Duration::from_secs(storage.acquire_timeout_secs),
        health_check_timeout: health_check_timeout(config),
        idle_timeout: (storage.idle_timeout_secs > 0).then(|| Duration::from_secs(storage.idle_timeout_secs)),
        auto_migrate: storage.auto_migrate,
        connect_retry: Duration::from_secs(storage.connect_retry_secs),
        connector_keys: EnvelopeKeys::default(),
        backup_dir: Some(PathBuf::from(&storage.backup_dir)),
    }
}

/// Returns the time limit for a check of the database or of the Kafka brokers.
pub(crate) fn health_check_timeout(config: &Config) -> Duration {
    Duration::from_secs(config.engine.health_check_timeout_secs)
}

/// Reads the encryption keys of connectors; references are resolved.
pub(crate) async fn connector_keys(
    config: &Config,
    secrets: &Keyring,
) -> Result<EnvelopeKeys, ServiceStartError> {
    let storage = &config.storage;
    let current = match storage.connector_encryption_key.is_empty() {
        true => None,
        false => {
            Some(read_key("connector_encryption_key", &storage.connector_encryption_key, secrets).await?)
        }
    };
    let mut previous = Vec::new();
    for former in &storage.previous_connector_encryption_keys {
        previous.push(read_key("previous_connector_encryption_keys", former, secrets).await?);
    }
    EnvelopeKeys::new(current.as_ref().map(Secret::expose), previous.iter().map(Secret::expose))
        .map_err(|error| ServiceStartError::Config(format!("storage.connector_encryption_key: {error}")))
}

async fn read_key(setting: &str, given: &Secret, secrets: &Keyring) -> Result<Secret, ServiceStartError> {
    let refused = |why: String| ServiceStartError::Config(format!("storage.{setting}: {why}"));
    let read = match svc_secrets::parse(given.expose()).map_err(|error| refused(error.to_string()))? {
        None => given.clone(),
        Some(reference) => {
            let readings = secrets.read_settings([reference.clone()].into()).await;
            readings.resolve(&reference).map_err(|error| refused(error.to_string()))?
        }
    };
    EnvelopeKeys::new(Some(read.expose()), []).map_err(|error| refused(error.to_string()))?;
    Ok(read)
}
