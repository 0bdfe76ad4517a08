//! The resources that exist before the tree.

use std::sync::Arc;

use slog::{Logger, warn};
use svc_engine::EngineBuilder;
use svc_outbound::{Outbound, Trust};
use svc_redis::RedisClient;
use svc_secrets::{AllowedFiles, AllowedVariables, Keyring};
use svc_store::{FileLock, OpenedStore, Store, StoreConfig};
use svc_vault::SecretProvider;
use tokio::runtime::Handle;

use crate::assembly::parts::cluster::node_id;
use crate::assembly::parts::connectors::variable_lookup;
use crate::assembly::parts::store::{connector_keys, store_config};
use crate::assembly::{cluster, engine};
use crate::config::Config;
use crate::error::ServiceStartError;
use crate::process::io_runtime::IoRuntime;

/// The resources that exist before the tree.
pub(crate) struct Resources {
    pub(crate) io: IoRuntime,
    pub(crate) outbound: Outbound,
    pub(crate) secrets: Keyring,
    pub(crate) node_id: String,
    /// The exclusive use of a SQLite file; `None` for a database server.
    pub(crate) file_lock: Option<FileLock>,
    pub(crate) opened: OpenedStore,
    /// The Redis server that the nodes of a cluster share; `None` outside cluster mode.
    pub(crate) cluster_redis: Option<RedisClient>,
    /// The engine without functions, which need services that start later.
    pub(crate) engine: EngineBuilder,
}

impl Resources {
    /// Opens them one after the other.
    ///
    /// # Errors
    /// The reason, in one line.
    pub(crate) async fn open(
        config: &Config,
        environment: &[(String, String)],
        log: &Logger,
    ) -> Result<Self, ServiceStartError> {
        let io = IoRuntime::start()?;
        let outbound = build_outbound(log)?;
        let secrets = build_keyring(config, environment, &outbound, io.handle().clone())?;
        let store_config =
            StoreConfig { connector_keys: connector_keys(config, &secrets).await?, ..store_config(config) };
        let node_id = node_id(config);
        let file_lock = FileLock::acquire(&store_config, &node_id)?;
        let opened = Store::open(&store_config, io.handle().clone(), log.clone()).await?;
        let cluster_redis = cluster::connect_redis(config, &outbound, io.handle(), log).await?;
        let engine = engine::make_builder(config, &secrets, log).await?;
        Ok(Self { io, outbound, secrets, node_id, file_lock, opened, cluster_redis, engine })
    }
}

/// Builds the reader of secrets, over the environment of the service, files, and the secret store that the
/// environment names.
pub(crate) fn build_keyring(
    config: &Config,
    environment: &[(String, String)],
    outbound: &Outbound,
    runtime: Handle,
) -> Result<Keyring, ServiceStartError> {
    let store = SecretProvider::new(variable_lookup(environment), outbound, runtime)
        .map_err(ServiceStartError::tree)?;
    // A value that is no reference was refused with the rest of the configuration.
    let reference = |text: &str| svc_secrets::parse(text).ok().flatten();
    let declared =
        config.secrets.references.iter().filter_map(|(name, text)| Some((name.clone(), reference(text)?)));
    let allowed = match &config.secrets.allowed_env {
        None => AllowedVariables::all(),
        Some(patterns) => AllowedVariables::only(patterns.iter().cloned()),
    };
    let files = match (&config.secrets.allowed_files, &config.secrets.allowed_env) {
        (Some(patterns), _) => AllowedFiles::only(patterns.iter().cloned()),
        // Restricted variables would be worth nothing if any file could be read.
        (None, Some(_)) => AllowedFiles::only([]),
        (None, None) => AllowedFiles::all(),
    };
    let keyring = Keyring::new(Arc::new(store), declared.collect());
    Ok(keyring.allowing(allowed).allowing_files(files))
}

/// Builds the HTTP client. Problems of the trust anchors are logged, because they show only when a peer is
/// refused.
pub(crate) fn build_outbound(log: &Logger) -> Result<Outbound, ServiceStartError> {
    let outbound = Outbound::new(&Trust::System).map_err(ServiceStartError::tree)?;
    for warning in outbound.warnings() {
        warn!(log, "trust anchors are missing"; "error" => warning);
    }
    if outbound.anchors() == 0 {
        warn!(log, "there are no trust anchors, so no https peer is trusted"; "remedy" => "SSL_CERT_FILE");
    }
    Ok(outbound)
}
