//! The start of the service: each step takes the results of the steps before it.

use std::sync::Arc;

use actix_supervision::{PlannedFault, Tree};
use parking_lot::Mutex;
use slog::{Logger, info};
use svc_auth::KeySets;
use svc_channels::call::{self, DirectoryHandle};
use svc_channels::{
    ChannelMetrics, ChannelServices, ClusterStore, ComputeGate, LocalCaches, LogRateLimit, RateGroups,
};
use svc_connectors::{BrokerHealth, ConnectorMetrics, Connectors};
use svc_cron::{CronHandle, CronMetrics};
use svc_engine::{Engine, EngineBuilder, Function};
use svc_epoch::{ConfigApplier, EpochMetrics, EpochServices, LocalChanges};
use svc_housekeeping::JobMetrics;
use svc_nodes::{NodeHandle, NodeMetrics};
use svc_outbound::Outbound;
use svc_redis::RedisClient;
use svc_registry::{Registry, RegistryMetrics, RegistryParts};
use svc_secrets::Keyring;
use svc_spans::SpanMetrics;
use svc_store::{EpochNumbers, FileLock, OpenedStore, Store, StoreConfig};
use svc_tokens::TokenMetrics;
use svc_traces::TraceMetrics;
use svc_transport::ConnectionMetrics;
use tokio::time::Instant;

use crate::assembly::cluster;
use crate::assembly::cluster_store::RedisClusterStore;
use crate::assembly::jobs;
#[cfg(feature = "kafka")]
use crate::assembly::kafka::{IngressParts, KafkaIngress};
use crate::assembly::live_settings::LiveSettings;
use crate::assembly::parts::{Assembly, CoreServices};
use crate::assembly::propagation::{self, Propagation};
use crate::assembly::span_export;
use crate::assembly::tree;
use crate::backups::BackupDirectory;
use crate::config::{self, Config};
use crate::error::ServiceStartError;
use crate::http::{
    AdminAuthenticator, CorsPolicy, GuessPacer, InFlightBytes, Metrics, Planes, RateLimits, RefusalPacer,
    TreeCollector, TrustedProxies,
};
use crate::lifecycle::Lifecycle;
use crate::listeners::certificates::Certificates;
use crate::options::Options;
use crate::process::descriptors::DescriptorWatch;
use crate::process::io_runtime::IoRuntime;
use crate::process::worker_threads::WorkerThreads;
use crate::settings;
use crate::state::AppState;

/// Opens the database, loads the stored definitions, and starts the supervision tree.
///
/// # Errors
/// The reason, in one line.
pub(crate) async fn start(config: Config, options: Options) -> Result<AppState, ServiceStartError> {
    let Options {
        log,
        environment,
        config_source,
        log_level,
        functions,
        metrics: host_metrics,
        faults,
        seed,
    } = options;
    config::check_features(&config).map_err(ServiceStartError::Config)?;
    let certificates = load_certificates(&config, &log)?;
    let resources = Resources::open(&config, &environment, &log).await?;
    let instance_id = settings::instance_id(&config);
    let instance = config.cluster.enabled.then_some(instance_id.as_str());
    let mut metrics = ServiceMetrics::register(&config, host_metrics, instance);
    let assembly = build_tree(&resources.io, (seed, faults), &log)?;
    metrics.registry.registry_mut().register_collector(Box::new(TreeCollector::new(assembly.tree.clone())));
    let Resources { io, outbound, secrets, node_id, file_lock, opened, cluster_redis, engine } = resources;
    let spans = span_export::start(&config, &instance_id, &io, metrics.spans.clone(), &log)?;

    let core =
        start_core(&assembly, &config, (&node_id, file_lock.is_some()), &outbound, opened, &metrics).await?;
    core.store.metrics().register(metrics.registry.registry_mut());
    // Read before anything is loaded: what changes meanwhile is loaded by the watcher.
    let seed =
        core.store.epoch().numbers().await.map_err(|error| ServiceStartError::Tree(error.to_string()))?;
    let outside = Outside {
        config: &config,
        environment: &environment,
        secrets: &secrets,
        outbound,
        node_id: &node_id,
    };
    let (connectors, brokers) = outside.start(&assembly, &core.store, &io, &metrics).await?;
    let functions =
        Functions { config: &config, connectors: &connectors, key_sets: core.key_sets.clone(), functions };
    let (engine, directory) = functions.register(engine)?;

    let (compute_gate, local_caches) = (ComputeGate::default(), LocalCaches::default());
    let services = ChannelServices {
        engine: Arc::clone(&engine),
        settings: Arc::new(settings::channel_settings(&config)),
        metrics: metrics.channels.clone(),
        secrets: secrets.clone(),
        key_sets: core.key_sets,
        connectors: Some(Arc::new(connectors.clone())),
        cluster: cluster_redis
            .clone()
            .map(|redis| Arc::new(RedisClusterStore(redis)) as Arc<dyn ClusterStore>),
        traces: Some(core.traces.clone()),
        compute_gate: compute_gate.clone(),
        rate_groups: RateGroups::default(),
        local_caches: local_caches.clone(),
        memory_entries: settings::memory_entries(&config),
        spans: spans.clone(),
        log: log.clone(),
    };
    let store = core.store;
    let registry = start_registry(&assembly, &config, &store, (services, directory), &metrics).await?;
    let lease = jobs::JobLease::new(&store, &core.nodes, metrics.channels.clone(), &log);
    let jobs = jobs::housekeeping_jobs(&config, &store, &lease, (&registry, local_caches));
    assembly.start_accepting_work(&core.traces, &registry, jobs, metrics.jobs.clone()).await?;
    let cron = start_schedules(&assembly, &config, &node_id, (&store, &registry), &io, &metrics).await?;

    let loader = propagation::applier(&connectors, &registry);
    let propagation =
        start_watcher(&assembly, &config, (&store, &core.nodes), (loader, seed), &metrics).await?;

    #[cfg(feature = "kafka")]
    let kafka = KafkaIngress::start(IngressParts {
        assembly: &assembly,
        config: &config,
        environment: &environment,
        registry: &registry,
        io: &io,
        metrics: &mut metrics.registry,
        spans: spans.clone(),
        errors: metrics.channels.clone(),
        jobs: metrics.jobs.clone(),
    })
    .await?;
    #[cfg(not(feature = "kafka"))]
    let kafka = None;

    if let Some(certificates) = &certificates {
        certificates.watch(io.handle());
    }
    let state = AppState {
        certificates,
        auth: AdminAuthenticator::new(
            &config.admin_auth,
            config.server.host.as_deref(),
            config.rate_limit.client_networks(),
        ),
        proxies: TrustedProxies::new(&config.rate_limit.trusted_proxies),
        cors: CorsPolicy::new(&config.cors),
        failure_lines: LogRateLimit::default(),
        connections: metrics.connections,
        descriptors: DescriptorWatch::start(io.handle(), log.clone()),
        rate_limits: RateLimits::new(&config.rate_limit, metrics.channels),
        guesses: GuessPacer::new(config.rate_limit.client_networks()),
        settings: LiveSettings::new(&config, config_source, log_level),
        planes: Planes::new(&config.server.data_mounts),
        instance_id,
        backups: BackupDirectory::new(&config.storage),
        config: Arc::new(config),
        store,
        nodes: core.nodes,
        cluster_redis,
        connectors,
        brokers,
        kafka,
        registry,
        propagation,
        traces: core.traces,
        cron,
        cron_metrics: metrics.cron,
        engine,
        secrets,
        tree: assembly.tree,
        metrics: metrics.registry,
        spans,
        lifecycle: Lifecycle::default(),
        workers: WorkerThreads::default(),
        in_flight: metrics.in_flight,
        compute_gate,
        pacer: metrics.pacer,
        started_at: Instant::now(),
        log,
        io,
        file_lock: Mutex::new(file_lock),
    };
    state.lifecycle.mark_initialized();
    info!(state.log, "service started"; "version" => crate::VERSION,
        "channels" => state.registry.snapshot().channels_count(),
        "quarantined" => state.registry.snapshot().quarantined_count());
    Ok(state)
}

/// Loads the certificate of the listeners; `None` if TLS is off.
fn load_certificates(config: &Config, log: &Logger) -> Result<Option<Arc<Certificates>>, ServiceStartError> {
    let section = Some(&config.server.tls).filter(|tls| tls.enabled);
    let loaded = section.map(|section| Certificates::load(section, log.clone())).transpose();
    loaded.map_err(ServiceStartError::Config)
}

/// The resources that exist before the tree.
struct Resources {
    io: IoRuntime,
    outbound: Outbound,
    secrets: Keyring,
    node_id: String,
    /// The exclusive use of a SQLite file; `None` for a database server.
    file_lock: Option<FileLock>,
    opened: OpenedStore,
    /// The Redis server that the nodes of a cluster share; `None` outside cluster mode.
    cluster_redis: Option<RedisClient>,
    /// The engine without functions, which need services that start later.
    engine: EngineBuilder,
}

impl Resources {
    async fn open(
        config: &Config,
        environment: &[(String, String)],
        log: &Logger,
    ) -> Result<Self, ServiceStartError> {
        let io = IoRuntime::start()?;
        let outbound = settings::build_outbound(log)?;
        let secrets = settings::build_keyring(config, environment, &outbound, io.handle().clone())?;
        let store_config = StoreConfig {
            connector_keys: settings::connector_keys(config, &secrets).await?,
            ..settings::store_config(config)
        };
        let node_id = settings::node_id(config);
        let file_lock = FileLock::acquire(&store_config, &node_id)?;
        let opened = Store::open(&store_config, io.handle().clone(), log.clone()).await?;
        let cluster_redis = cluster::connect_redis(config, &outbound, io.handle(), log).await?;
        let engine = settings::engine_builder(config, &secrets, log).await?;
        Ok(Self { io, outbound, secrets, node_id, file_lock, opened, cluster_redis, engine })
    }
}

/// The metrics of every part, registered.
struct ServiceMetrics {
    registry: Metrics,
    channels: ChannelMetrics,
    reloads: RegistryMetrics,
    traces: TraceMetrics,
    jobs: JobMetrics,
    nodes: NodeMetrics,
    cron: CronMetrics,
    connectors: ConnectorMetrics,
    epoch: EpochMetrics,
    tokens: TokenMetrics,
    spans: SpanMetrics,
    connections: ConnectionMetrics,
    in_flight: InFlightBytes,
    pacer: RefusalPacer,
}

impl ServiceMetrics {
    fn register(
        config: &Config,
        host: prometheus_client::registry::Registry,
        instance: Option<&str>,
    ) -> Self {
        let mut metrics = Self {
            registry: Metrics::new(host, instance),
            channels: ChannelMetrics::default(),
            reloads: RegistryMetrics::default(),
            traces: TraceMetrics::default(),
            jobs: JobMetrics::default(),
            nodes: NodeMetrics::default(),
            cron: CronMetrics::default(),
            connectors: ConnectorMetrics::default(),
            epoch: EpochMetrics::default(),
            tokens: TokenMetrics::default(),
            spans: SpanMetrics::default(),
            connections: ConnectionMetrics::default(),
            in_flight: InFlightBytes::new(config.server.max_in_flight_bytes),
            pacer: RefusalPacer::new(),
        };
        let registry = metrics.registry.registry_mut();
        metrics.nodes.register(registry);
        metrics.channels.register(registry);
        metrics.in_flight.register(registry);
        metrics.pacer.register(registry);
        metrics.reloads.register(registry);
        metrics.traces.register(registry);
        metrics.cron.register(registry);
        metrics.jobs.register(registry);
        metrics.connectors.register(registry);
        metrics.epoch.register(registry);
        metrics.tokens.register(registry);
        metrics.spans.register(registry);
        metrics.connections.register(registry);
        metrics
    }
}

/// Makes the empty tree, its supervisor on a thread of its own.
fn build_tree(
    io: &IoRuntime,
    (seed, faults): (u64, Vec<PlannedFault>),
    log: &Logger,
) -> Result<Assembly, ServiceStartError> {
    let supervisor = io.start_arbiter()?;
    let tree = Tree::builder("svc").seed(seed).faults(faults).log(log.clone()).supervisor(supervisor).build();
    Ok(Assembly { tree, shared_thread: io.start_arbiter()?, log: log.clone() })
}

/// Starts the store, the key sets, the lease and the recorder. `is_alone`: no other process can use the database.
async fn start_core(
    assembly: &Assembly,
    config: &Config,
    (node_id, is_alone): (&str, bool),
    outbound: &Outbound,
    opened: OpenedStore,
    metrics: &ServiceMetrics,
) -> Result<CoreServices, ServiceStartError> {
    let traces = settings::trace_settings(config, metrics.channels.clone(), metrics.jobs.clone());
    let lease = settings::lease_settings(config, node_id, is_alone);
    let key_sets = settings::key_set_settings(config, outbound.clone());
    let lease = (lease, metrics.nodes.clone());
    let traces = (traces, metrics.traces.clone());
    Ok(assembly.start_core_services(opened, key_sets, lease, traces).await?)
}

/// The inputs of the parts that reach outbound systems.
struct Outside<'s> {
    config: &'s Config,
    environment: &'s [(String, String)],
    secrets: &'s Keyring,
    outbound: Outbound,
    node_id: &'s str,
}

impl Outside<'_> {
    /// Starts the tokens, the check of the Kafka brokers, and the connectors.
    async fn start(
        self,
        assembly: &Assembly,
        store: &Store,
        io: &IoRuntime,
        metrics: &ServiceMetrics,
    ) -> Result<(Connectors, Option<BrokerHealth>), ServiceStartError> {
        let Self { config, environment, secrets, outbound, node_id } = self;
        let tokens = settings::token_settings(node_id, store, &outbound, metrics.channels.clone());
        let tokens = assembly.start_tokens(tokens, metrics.tokens.clone()).await?;
        let kafka = settings::kafka_cluster(config, environment);
        let brokers = match &kafka {
            Some(cluster) => {
                Some(assembly.start_broker_check(cluster, settings::health_check_timeout(config)).await?)
            }
            None => None,
        };
        let settings = svc_connectors::Settings {
            store: store.clone(),
            needs: tree::STORE.absolute_path(),
            secrets: secrets.clone(),
            environment: settings::variable_lookup(environment),
            outbound,
            tokens,
            breakers: settings::breaker_settings(config),
            max_pools: config.engine.max_pool_cache_entries,
            memory_cache: settings::memory_cache_settings(config),
            kafka,
        };
        let thread = io.start_driving_arbiter()?;
        let connectors = assembly.start_connectors(settings, metrics.connectors.clone(), thread).await?;
        settings::refuse_failed_connectors(config, &connectors)?;
        Ok((connectors, brokers))
    }
}

/// The functions that workflows may name, by their origin.
struct Functions<'s> {
    config: &'s Config,
    connectors: &'s Connectors,
    key_sets: Arc<dyn KeySets>,
    /// Those of the embedding application.
    functions: Vec<Arc<dyn Function>>,
}

impl Functions<'_> {
    /// Builds the engine. Calls between channels find their channels once the registry has bound the handle.
    fn register(self, engine: EngineBuilder) -> Result<(Arc<Engine>, DirectoryHandle), ServiceStartError> {
        let engine = svc_functions::register(engine, self.key_sets);
        let calls = settings::call_settings(self.config);
        let engine = svc_connectors::register(engine, self.connectors.directory(), calls);
        let directory = DirectoryHandle::default();
        let engine = call::register(engine, directory.clone(), settings::call_limits(self.config));
        Ok((Arc::new(settings::register_plugins(engine, self.functions)?.build()), directory))
    }
}

async fn start_registry(
    assembly: &Assembly,
    config: &Config,
    store: &Store,
    (services, directory): (ChannelServices, DirectoryHandle),
    metrics: &ServiceMetrics,
) -> Result<Registry, ServiceStartError> {
    let parts = |channels| RegistryParts {
        store: store.clone(),
        services,
        calls: directory,
        filter: settings::channel_filter(&config.channel_filter),
        channels,
        metrics: metrics.reloads.clone(),
        log: assembly.log.clone(),
    };
    Ok(assembly.start_registry(config.cron.enabled, parts).await?)
}

/// Starts the schedules on a thread of their own; `None` on a node that runs none.
async fn start_schedules(
    assembly: &Assembly,
    config: &Config,
    node_id: &str,
    (store, registry): (&Store, &Registry),
    io: &IoRuntime,
    metrics: &ServiceMetrics,
) -> Result<Option<CronHandle>, ServiceStartError> {
    let settings = settings::cron_settings(config, node_id, metrics.channels.clone(), metrics.jobs.clone());
    let Some(settings) = settings else { return Ok(None) };
    let schedules = (settings, metrics.cron.clone());
    Ok(Some(assembly.start_cron(store, registry, schedules, io.start_arbiter()?).await?))
}

/// Starts the watcher of the configuration epoch. `seed` has the numbers before the first load.
async fn start_watcher(
    assembly: &Assembly,
    config: &Config,
    (store, nodes): (&Store, &NodeHandle),
    (applier, seed): (Arc<dyn ConfigApplier>, EpochNumbers),
    metrics: &ServiceMetrics,
) -> Result<Propagation, ServiceStartError> {
    let (errors, jobs, local) = (metrics.channels.clone(), metrics.jobs.clone(), LocalChanges::default());
    let services = EpochServices {
        epoch: store.epoch(),
        nodes: nodes.clone(),
        applier,
        local: local.clone(),
        settings: settings::epoch_settings(config, seed),
        metrics: metrics.epoch.clone(),
        errors: Arc::new(move |reason| errors.count_error(reason)),
        jobs: Arc::new(move |job| jobs.record_success(job)),
        log: assembly.log.clone(),
    };
    Ok(Propagation { epoch: assembly.start_epoch_watcher(services).await?, local })
}
