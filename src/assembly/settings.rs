//! The settings of each part, made from the configuration, which the parts do not know.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use slog::{Logger, warn};
use svc_channels::call::CallLimits;
use svc_channels::{ChannelMetrics, Settings, ShapeLimits};
use svc_connectors::{
    BreakerSettings, CallSettings, Connectors, KafkaCluster, LoadState, MemoryCacheSettings, QuerySettings,
    VariableLookup, WriteSettings,
};
use svc_cron::EventCallback;
use svc_engine::catalogue::FunctionSource;
use svc_engine::{Engine, EngineBuilder, EngineLimits, Function};
use svc_housekeeping::JobMetrics;
use svc_model::config::TracingMode;
use svc_outbound::{Outbound, Trust};
use svc_registry::ChannelFilter;
use svc_secrets::{AllowedVariables, EnvelopeKeys, Keyring, Resolver, Secret};
use svc_store::{EpochNumbers, Store, StoreConfig};
use svc_traces::{
    Callback, DeadLetterSettings, OverflowPolicy, QueueSettings, RecorderSettings, TracingDefaults,
};
use svc_vault::SecretProvider;
use tokio::runtime::Handle;

use crate::assembly::tree;
use crate::config::{self, Config};
use crate::error::ServiceStartError;

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

/// Returns a lookup in the environment of the service.
pub(crate) fn variable_lookup(environment: &[(String, String)]) -> VariableLookup {
    let environment: HashMap<String, String> = environment.iter().cloned().collect();
    Arc::new(move |wanted: &str| environment.get(wanted).cloned())
}

/// Returns the settings of circuit breakers; `None` if they are disabled.
pub(crate) fn breaker_settings(config: &Config) -> Option<BreakerSettings> {
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
pub(crate) fn memory_cache_settings(config: &Config) -> MemoryCacheSettings {
    MemoryCacheSettings {
        max_entries: config.engine.max_memory_cache_entries,
        cleanup_interval: Duration::from_secs(config.engine.cache_cleanup_interval_secs),
    }
}

/// Returns the Kafka cluster for published records, with this service's credentials; `None` if Kafka is
/// disabled.
pub(crate) fn kafka_cluster(config: &Config, environment: &[(String, String)]) -> Option<KafkaCluster> {
    let config::KafkaSection { enabled, brokers, auth, extra_config, .. } = &config.kafka;
    let set = |name: &str| {
        let variable = environment.iter().find(|(known, value)| known == name && !value.is_empty());
        variable.map(|(_, value)| value.clone())
    };
    // The same trust anchors as everywhere else; by default the client uses the system's.
    let anchors = || set("SSL_CERT_FILE").or_else(|| set("SSL_CERT_DIR"));
    let authentication = [
        ("security.protocol", auth.security_protocol.map(|protocol| protocol.as_str().to_owned())),
        ("sasl.mechanism", auth.sasl_mechanism.map(|mechanism| mechanism.as_str().to_owned())),
        ("sasl.username", auth.sasl_username.clone()),
        ("sasl.password", auth.sasl_password.as_ref().map(|password| password.expose().to_owned())),
        ("ssl.ca.location", auth.ssl_ca_location.clone().or_else(anchors)),
    ];
    let authentication =
        authentication.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let extra = extra_config.0.iter().map(|(name, value)| (name.clone(), value.clone()));
    enabled
        .then(|| KafkaCluster { brokers: brokers.clone(), properties: authentication.chain(extra).collect() })
}

/// Refuses the start over a connector that cannot be loaded, if so configured.
pub(crate) fn refuse_failed_connectors(
    config: &Config,
    connectors: &Connectors,
) -> Result<(), ServiceStartError> {
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

/// Builds the reader of secrets, over the environment of the service and the secret store that it names.
pub(crate) fn build_keyring(
    config: &Config,
    environment: &[(String, String)],
    outbound: &Outbound,
    runtime: Handle,
) -> Result<Keyring, ServiceStartError> {
    let store = SecretProvider::new(variable_lookup(environment), outbound, runtime)
        .map_err(|error| ServiceStartError::Tree(error.to_string()))?;
    // A value that is no reference was refused with the rest of the configuration.
    let reference = |text: &str| svc_secrets::parse(text).ok().flatten();
    let declared =
        config.secrets.references.iter().filter_map(|(name, text)| Some((name.clone(), reference(text)?)));
    let allowed = match &config.secrets.allowed_env {
        None => AllowedVariables::all(),
        Some(patterns) => AllowedVariables::only(patterns.iter().cloned()),
    };
    Ok(Keyring::new(Arc::new(store), declared.collect()).allowing(allowed))
}

/// Builds the HTTP client. Problems of the trust anchors are logged, because they show only when a peer is
/// refused.
pub(crate) fn build_outbound(log: &Logger) -> Result<Outbound, ServiceStartError> {
    let outbound =
        Outbound::new(&Trust::System).map_err(|error| ServiceStartError::Tree(error.to_string()))?;
    for warning in outbound.warnings() {
        warn!(log, "trust anchors are missing"; "error" => warning);
    }
    if outbound.anchors() == 0 {
        warn!(log, "there are no trust anchors, so no https peer is trusted"; "remedy" => "SSL_CERT_FILE");
    }
    Ok(outbound)
}

/// Returns the settings of the fetcher of key sets.
pub(crate) fn key_set_settings(config: &Config, outbound: Outbound) -> svc_keysets::Settings {
    svc_keysets::Settings { outbound, allow_private: config.jwt.allow_private_jwks_urls }
}

/// Returns the settings of traces and accepted work.
pub(crate) fn trace_settings(
    config: &Config,
    errors: ChannelMetrics,
    jobs: JobMetrics,
) -> svc_traces::Settings {
    let (storage, queue) = (&config.trace_storage, &config.trace_queue);
    svc_traces::Settings {
        tracing: TracingDefaults {
            mode: match storage.mode {
                config::TraceStorageMode::Sync => TracingMode::Sync,
                config::TraceStorageMode::Async => TracingMode::Async,
                config::TraceStorageMode::Batch => TracingMode::Batch,
                config::TraceStorageMode::Off => TracingMode::Off,
            },
            sample_rate: storage.sample_rate,
            errors_only: storage.errors_only,
        },
        recorder: RecorderSettings {
            max_pending: storage.max_pending,
            overflow: match storage.async_on_overflow {
                config::TraceOverflow::Drop => OverflowPolicy::Drop,
                config::TraceOverflow::Block => {
                    OverflowPolicy::Block(Duration::from_millis(storage.overflow_block_timeout_ms))
                }
            },
            async_workers: storage.async_workers,
            batch_size: storage.batch_size,
            batch_flush_interval: Duration::from_millis(storage.batch_flush_interval_ms),
            batch_workers: storage.batch_workers,
        },
        queue: QueueSettings {
            workers: queue.workers,
            buffer_size: queue.buffer_size,
            max_memory_bytes: queue.max_queue_memory_bytes,
            processing_timeout: Duration::from_millis(queue.processing_timeout_ms),
            shutdown_timeout: Duration::from_secs(queue.shutdown_timeout_secs),
            max_recoveries: queue.max_recoveries,
            max_waiting: queue.max_waiting,
        },
        dead_letters: DeadLetterSettings {
            retry_enabled: queue.dlq_retry_enabled,
            max_retries: queue.dlq_max_retries,
            poll_interval: Duration::from_secs(queue.dlq_poll_interval_secs),
            batch_size: queue.dlq_batch_size,
            lease: Duration::from_secs(queue.dlq_lease_secs),
        },
        needs: tree::TRACE_RECORDER.need_paths(),
        errors: Callback::new(move |reason| errors.count_error(reason)),
        jobs: Callback::new(move |job| jobs.record_success(job)),
    }
}

/// Returns the settings of schedules; `None` on a node that runs none.
pub(crate) fn cron_settings(
    config: &Config,
    holder: &str,
    errors: ChannelMetrics,
    jobs: JobMetrics,
) -> Option<svc_cron::Settings> {
    let cron = &config.cron;
    cron.enabled.then(|| svc_cron::Settings {
        holder: holder.to_owned(),
        poll: Duration::from_millis(cron.poll_interval_ms),
        workers: cron.workers,
        claim_batch: cron.claim_batch_size,
        lease: Duration::from_secs(cron.claim_lease_secs),
        heartbeat: Duration::from_secs(cron.heartbeat_interval_secs),
        misfire_grace: Duration::from_secs(cron.misfire_grace_secs),
        max_catch_up: cron.max_catch_up,
        max_recoveries: cron.max_recoveries,
        default_timeout: Duration::from_millis(cron.default_timeout_ms),
        shutdown_timeout: Duration::from_secs(cron.shutdown_timeout_secs),
        errors: EventCallback::new(move |reason| errors.count_error(reason)),
        jobs: EventCallback::new(move |job| jobs.record_success(job)),
    })
}

/// Returns the configured name of this process, or a generated one.
pub(crate) fn instance_id(config: &Config) -> String {
    let configured = Some(config.cluster.instance_id.clone()).filter(|id| !id.is_empty());
    configured.unwrap_or_else(svc_model::id::new_entity_id)
}

/// Returns the settings of the fetcher of tokens.
pub(crate) fn token_settings(
    holder: &str,
    store: &Store,
    outbound: &Outbound,
    errors: ChannelMetrics,
) -> svc_tokens::Settings {
    svc_tokens::Settings {
        store: store.clone(),
        needs: tree::STORE.absolute_path(),
        outbound: outbound.clone(),
        holder: holder.to_owned(),
        errors: Arc::new(move |reason| errors.count_error(reason)),
    }
}

/// Generates the id of this process among those that share a database: its configured name, or that of its
/// host, with a unique suffix.
pub(crate) fn node_id(config: &Config) -> String {
    let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = Some(config.cluster.instance_id.clone()).filter(|id| !id.is_empty()).unwrap_or_else(host);
    let name = Some(name.trim()).filter(|name| !name.is_empty()).unwrap_or("node");
    svc_nodes::Settings::new_id(name)
}

/// Returns the settings of the lease. `is_alone`: no other process can use the database.
pub(crate) fn lease_settings(config: &Config, id: &str, is_alone: bool) -> svc_nodes::Settings {
    svc_nodes::Settings {
        id: id.to_owned(),
        version: crate::VERSION,
        lease: Duration::from_secs(config.cluster.node_lease_secs),
        is_alone,
        needs: tree::NODE_LEASE.need_paths(),
    }
}

/// Returns the settings of the watcher of the configuration epoch.
pub(crate) fn epoch_settings(config: &Config, seed: EpochNumbers) -> svc_epoch::Settings {
    svc_epoch::Settings {
        poll_interval: Duration::from_millis(config.cluster.epoch_poll_interval_ms),
        seed,
        needs: tree::EPOCH.need_paths(),
    }
}

/// Returns the bound on in-memory entries of a channel; 0 in the configuration means none.
pub(crate) fn memory_entries(config: &Config) -> u64 {
    match config.engine.max_memory_cache_entries {
        0 => u64::MAX,
        entries => u64::try_from(entries).unwrap_or(u64::MAX),
    }
}

/// Builds the engine without functions, which need services that start later.
pub(crate) async fn engine_builder(
    config: &Config,
    keyring: &Keyring,
    log: &Logger,
) -> Result<EngineBuilder, ServiceStartError> {
    let readings = keyring.read_declared().await;
    let mut secrets: Vec<(&str, Value)> = Vec::new();
    let mut failed = Vec::new();
    for (name, value) in keyring.declared_values(&readings) {
        match value {
            Ok(secret) => secrets.push((name, secret.expose().into())),
            Err(error) => failed.push(format!("secret {name}: {error}")),
        }
    }
    if !failed.is_empty() {
        return Err(ServiceStartError::Config(failed.join("; ")));
    }
    Ok(Engine::builder()
        .vars(vars(config))
        .secrets(secrets)
        .limits(engine_limits(config))
        .logger(log.clone())
        .version(crate::VERSION))
}

/// Returns the limits of workflows.
pub(crate) fn engine_limits(config: &Config) -> EngineLimits {
    EngineLimits {
        max_loop_iterations: i64::try_from(config.engine.max_loop_iterations).unwrap_or(i64::MAX),
        max_message_bytes: max_message_bytes(config),
        cpu_budget: Duration::from_millis(config.engine.cpu_budget_ms),
    }
}

/// Registers the functions of the embedding application.
///
/// # Errors
/// [`ServiceStartError::Config`] for a function whose entry has another source than `plugin`, or the name of
/// another function.
pub(crate) fn register_plugins(
    mut engine: EngineBuilder,
    functions: Vec<Arc<dyn Function>>,
) -> Result<EngineBuilder, ServiceStartError> {
    for function in functions {
        let entry = function.entry();
        if entry.source != FunctionSource::Plugin {
            let reason =
                format!("the function \"{}\" of the application is not declared a plugin", entry.name);
            return Err(ServiceStartError::Config(reason));
        }
        if let Some(name) = entry.names().find(|name| engine.has_function(name)) {
            let reason =
                format!("the function \"{name}\" of the application has the name of another function");
            return Err(ServiceStartError::Config(reason));
        }
        engine = engine.function(function);
    }
    Ok(engine)
}

/// Returns the bound on the values of one message: parsed JSON is larger than its text, and tasks hold it
/// more than once.
pub(crate) fn max_message_bytes(config: &Config) -> usize {
    const SHARE: usize = 16;
    EngineLimits::default().max_message_bytes.max(config.ingest.max_payload_size.saturating_mul(SHARE))
}

/// Returns the limits of calls between channels.
pub(crate) fn call_limits(config: &Config) -> CallLimits {
    CallLimits {
        max_depth: usize::try_from(config.engine.max_channel_call_depth).unwrap_or(usize::MAX),
        default_timeout: Duration::from_millis(config.engine.default_channel_call_timeout_ms),
    }
}

pub(crate) fn channel_settings(config: &Config) -> Settings {
    let sticky = config.engine.rollout_sticky_header.to_ascii_lowercase();
    Settings {
        vars: vars(config),
        verbose_errors: config.verbose_errors(),
        max_result_bytes: max_result_bytes(config),
        rollout_sticky_header: Some(sticky).filter(|name| !name.is_empty()),
        profiles: config.tracing.debug_profile_enabled,
        cron_enabled: config.cron.enabled,
        client_networks: config.rate_limit.client_networks(),
        shape_limits: ShapeLimits {
            object_members: config.ingest.max_object_members,
            array_elements: config.ingest.max_array_elements,
        },
        max_delay: Duration::from_secs(u64::from(config.trace_queue.max_delay_days) * 86_400),
    }
}

fn vars(config: &Config) -> Option<Value> {
    Some(&config.vars.0).filter(|vars| !vars.is_empty()).map(|vars| Value::Object(vars.clone()))
}

pub(crate) fn channel_filter(config: &config::ChannelFilterSection) -> ChannelFilter {
    ChannelFilter { include: config.include.clone(), exclude: config.exclude.clone() }
}

/// Returns the bound on the stored result of a run, in bytes; 0 in the configuration means none.
pub(crate) fn max_result_bytes(config: &Config) -> Option<usize> {
    Some(config.trace_queue.max_result_size_bytes).filter(|limit| *limit > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brokers_are_told_who_calls_and_extra_properties_come_last() {
        let mut config = Config::default();
        config.kafka.auth.security_protocol = Some(config::SecurityProtocol::SaslSsl);
        config.kafka.auth.sasl_mechanism = Some(config::SaslMechanism::ScramSha256);
        config.kafka.auth.sasl_username = Some("svc".into());
        config.kafka.auth.sasl_password = Some(Secret::new("swordfish"));
        config.kafka.extra_config.0.insert("sasl.username".into(), "other".into());
        let environment = [("SSL_CERT_FILE".to_owned(), "/ca.pem".to_owned())];
        assert!(kafka_cluster(&config, &environment).is_none(), "it is off");
        config.kafka.enabled = true;
        let cluster = kafka_cluster(&config, &environment).unwrap();
        assert_eq!(cluster.brokers, ["localhost:9092"]);
        let properties: Vec<_> =
            cluster.properties.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let expected = [
            ("security.protocol", "sasl_ssl"),
            ("sasl.mechanism", "SCRAM-SHA-256"),
            ("sasl.username", "svc"),
            ("sasl.password", "swordfish"),
            ("ssl.ca.location", "/ca.pem"),
            ("sasl.username", "other"),
        ];
        assert_eq!(properties, expected);
        assert!(!format!("{cluster:?}").contains("swordfish"));
        config.kafka.auth.ssl_ca_location = Some("/own.pem".into());
        assert!(
            kafka_cluster(&config, &environment)
                .unwrap()
                .properties
                .contains(&("ssl.ca.location".into(), "/own.pem".into()))
        );
    }
}
