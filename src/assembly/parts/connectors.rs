//! The outbound systems.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use svc_connectors::{
    BreakerSettings, CallSettings, ConnectorScope, Connectors, LoadState, MemoryCacheSettings, QuerySettings,
    Settings, VariableLookup, WriteSettings,
};
use svc_credentials::tokens::Tokens;
use svc_store::Store;

use crate::assembly::context::Assembly;
use crate::assembly::parts::kafka;
use crate::assembly::parts::store::STORE;
use crate::assembly::row::{EndedBy, RunsOn, ServicePart, TreeRow, task};
use crate::config::Config;
use crate::error::ServiceStartError;

/// The group of the outbound systems.
pub(crate) static CONNECTORS: TreeRow = TreeRow::group("connectors");
/// The actor that makes the connectors match what is stored.
pub(crate) static CONNECTOR_RECONCILER: TreeRow =
    TreeRow::actor("connectors/reconciler", RunsOn::ConnectorThread).needs(&["store"]);
/// One outbound system.
static CONNECTOR: TreeRow = TreeRow::actor("connectors/{id}", RunsOn::ConnectorThread).drain_secs(60);

/// The rows of this part.
pub(crate) static PART: ServicePart = ServicePart {
    nodes: &[&CONNECTORS, &CONNECTOR_RECONCILER, &CONNECTOR],
    tasks: &[
        task(
            "driver of a PostgreSQL connection",
            "actors/connectors",
            1,
            RunsOn::ConnectorThread,
            EndedBy::OwnerDrop,
        ),
        task(
            "local proxy of a MongoDB client",
            "actors/connectors",
            1,
            RunsOn::ConnectorThread,
            EndedBy::OwnerDrop,
        ),
        task(
            "connections of that proxy",
            "actors/connectors",
            1,
            RunsOn::ConnectorThread,
            EndedBy::OwnerDrop,
        ),
        task("cancellation of a statement", "actors/connectors", 1, RunsOn::ConnectorThread, EndedBy::Caller),
        task(
            "rollback of an abandoned transaction",
            "actors/connectors",
            1,
            RunsOn::ConnectorThread,
            EndedBy::Caller,
        ),
        task("statements on a SQLite file", "actors/connectors", 3, RunsOn::BlockingPool, EndedBy::Caller),
        task(
            "metadata request to Kafka brokers",
            "actors/connectors",
            1,
            RunsOn::BlockingPool,
            EndedBy::Caller,
        ),
        task("flush of a Kafka producer", "actors/connectors", 1, RunsOn::OwnThread, EndedBy::OwnerDrop),
    ],
};

/// Starts the connectors and waits until each is loaded or has failed to load.
///
/// # Errors
/// [`ServiceStartError::Tree`] for an actor that cannot be placed or definitions that cannot be read, and
/// [`ServiceStartError::Config`] for a connector that cannot be loaded, if so configured.
pub(crate) async fn start(
    assembly: &Assembly,
    store: &Store,
    tokens: Tokens,
) -> Result<Connectors, ServiceStartError> {
    let config = &assembly.config;
    let settings = Settings {
        store: store.clone(),
        needs: STORE.absolute_path(),
        secrets: assembly.secrets.clone(),
        environment: variable_lookup(&assembly.environment),
        vars: config.vars.0.clone(),
        outbound: assembly.outbound.clone(),
        tokens,
        breakers: breaker_settings(config),
        max_pools: config.engine.max_pool_cache_entries,
        memory_cache: memory_cache_settings(config),
        kafka: kafka::kafka_cluster(config, &assembly.environment),
    };
    let (tree, thread) = (&assembly.tree, assembly.thread_of(&CONNECTOR_RECONCILER)?);
    let (metrics, log) = (assembly.metrics.connectors.clone(), assembly.log.clone());
    let started = Connectors::supervise(tree, CONNECTORS.path, thread, settings, metrics, log).await;
    let connectors = started.map_err(ServiceStartError::tree)?;
    connectors.reload(ConnectorScope::All).await.map_err(ServiceStartError::tree)?;
    refuse_failed_connectors(config, &connectors)?;
    Ok(connectors)
}

/// Returns a lookup in the environment of the service.
pub(crate) fn variable_lookup(environment: &[(String, String)]) -> VariableLookup {
    let environment: HashMap<String, String> = environment.iter().cloned().collect();
    Arc::new(move |wanted: &str| environment.get(wanted).cloned())
}

/// Returns the settings of circuit breakers; `None` if they are disabled.
fn breaker_settings(config: &Config) -> Option<BreakerSettings> {
    let breaker = &config.engine.circuit_breaker;
    breaker.enabled.then(|| BreakerSettings {
        failure_threshold: breaker.failure_threshold,
        recovery: Duration::from_secs(breaker.recovery_timeout_secs),
        max_breakers: breaker.max_breakers,
    })
}

/// Returns the common settings of connector calls.
pub(crate) fn call_settings(config: &Config) -> CallSettings {
    let (query, write) = (&config.query, &config.write);
    CallSettings {
        http_timeout: Duration::from_secs(config.engine.global_http_timeout_secs),
        query: QuerySettings {
            default_limit: query.default_limit,
            max_limit: query.max_limit,
            max_skip: query.max_skip,
            max_result_bytes: query.max_result_bytes,
        },
        write: WriteSettings { max_rows: write.max_rows, allow_unfiltered: write.allow_unfiltered },
    }
}

/// Returns the bounds of in-memory caches.
fn memory_cache_settings(config: &Config) -> MemoryCacheSettings {
    MemoryCacheSettings {
        max_entries: config.engine.max_memory_cache_entries,
        cleanup_interval: Duration::from_secs(config.engine.cache_cleanup_interval_secs),
    }
}

/// Refuses the start over a connector that cannot be loaded, if so configured.
fn refuse_failed_connectors(config: &Config, connectors: &Connectors) -> Result<(), ServiceStartError> {
    let failed = connectors.statuses().into_iter().filter_map(|status| match status.state {
        LoadState::Failed(error) => Some(format!("connector '{}': {error}", status.name)),
        _ => None,
    });
    let failed: Vec<_> = failed.collect();
    if config.engine.fail_on_connector_load_error && !failed.is_empty() {
        return Err(ServiceStartError::Config(failed.join("; ")));
    }
    Ok(())
}
