//! Where the configuration meets the parts that do not know it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use svc_auth::{KeySet, KeySets};
use svc_channels::Settings;
use svc_engine::{Engine, Limits};
use svc_registry::ChannelFilter;
use svc_secrets::Resolver;
use svc_store::StoreConfig;

use crate::config::{self, Config};
use crate::service::{Options, StartError};

/// The database settings, as the store takes them.
pub fn store(config: &Config) -> StoreConfig {
    let storage = &config.storage;
    StoreConfig {
        url: storage.url.clone(),
        max_connections: storage.max_connections,
        min_connections: storage.min_connections,
        busy_timeout_ms: storage.busy_timeout_ms,
        acquire_timeout: Duration::from_secs(storage.acquire_timeout_secs),
        idle_timeout: (storage.idle_timeout_secs > 0).then(|| Duration::from_secs(storage.idle_timeout_secs)),
        auto_migrate: storage.auto_migrate,
        connect_retry: Duration::from_secs(storage.connect_retry_secs),
    }
}

/// Looks `env://` references up in the environment the service was started with.
pub(crate) fn resolver(environment: &[(String, String)]) -> Arc<dyn Resolver + Send + Sync> {
    let environment: HashMap<String, String> = environment.iter().cloned().collect();
    Arc::new(svc_secrets::Environment(move |wanted: &str| environment.get(wanted).cloned()))
}

/// Until key sets are fetched: a channel that needs one is quarantined.
pub(crate) struct NoKeySets;

impl KeySets for NoKeySets {
    fn at(&self, _: &str) -> Result<Arc<dyn KeySet>, String> {
        Err("key sets are not fetched in this version".to_owned())
    }
}

pub(crate) fn engine(config: &Config, options: &Options) -> Result<Engine, StartError> {
    let environment = &options.environment;
    let lookup =
        |wanted: &str| environment.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    let resolver = svc_secrets::Environment(lookup);
    let secrets = svc_secrets::resolve_declared(&config.secrets.0, &resolver).map_err(|failed| {
        let lines: Vec<String> = failed.iter().map(ToString::to_string).collect();
        StartError::Config(lines.join("; "))
    })?;
    let secrets = secrets.into_iter().map(|(name, secret)| (name, secret.expose().into()));
    let max_loop_iterations = i64::try_from(config.engine.max_loop_iterations).unwrap_or(i64::MAX);
    Ok(Engine::builder()
        .vars(vars(config))
        .secrets::<String>(secrets)
        .limits(Limits { max_loop_iterations })
        .logger(options.log.clone())
        .version(crate::VERSION)
        .build())
}

pub(crate) fn channels(config: &Config) -> Settings {
    let sticky = config.engine.rollout_sticky_header.to_ascii_lowercase();
    Settings {
        vars: vars(config),
        verbose_errors: config.verbose_errors(),
        max_result_bytes: max_result_bytes(config),
        rollout_sticky_header: Some(sticky).filter(|name| !name.is_empty()),
        profiles: config.tracing.debug_profile_enabled,
    }
}

fn vars(config: &Config) -> Option<Value> {
    Some(&config.vars.0).filter(|vars| !vars.is_empty()).map(|vars| Value::Object(vars.clone()))
}

pub(crate) fn filter(config: &config::ChannelFilter) -> ChannelFilter {
    ChannelFilter { include: config.include.clone(), exclude: config.exclude.clone() }
}

/// How large what is kept of a run may become, in bytes; 0 in the configuration sets no bound.
pub(crate) fn max_result_bytes(config: &Config) -> Option<usize> {
    Some(config.trace_queue.max_result_size_bytes).filter(|limit| *limit > 0)
}
