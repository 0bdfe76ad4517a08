//! The start of the service: its parts one after the other, each with the parts that it needs.

use std::sync::{Arc, OnceLock};

use actix_supervision::{PlannedFault, Tree};
use parking_lot::Mutex;
use slog::{Logger, info};
use svc_auth::KeySets;
use svc_channels::call::DirectoryHandle;
use svc_channels::{CacheNamespaces, CallQuotas, ComputeGate, LogRateLimit};
use svc_cluster::nodes::NodeHandle;
use svc_connectors::{BrokerHealth, Connectors};
use svc_console::ConsoleHandle;
use svc_cron::CronHandle;
use svc_engine::{Engine, EngineBuilder, Function};
use svc_registry::Registry;
use svc_spans::Spans;
use svc_store::{EpochNumbers, FileLock, OpenedStore, Store};
use svc_traces::Traces;
use svc_webhooks::WebhookHandle;
use tokio::time::Instant;

use crate::assembly::consumers::ConsumerLoader;
use crate::assembly::context::Assembly;
use crate::assembly::engine::Functions;
use crate::assembly::live_settings::LiveSettings;
use crate::assembly::metrics::ServiceMetrics;
use crate::assembly::parts::console::SampledParts;
use crate::assembly::parts::credentials::Issuers;
use crate::assembly::parts::kafka::KafkaIngress;
use crate::assembly::parts::{
    backtests, bulk, channels, cluster, connectors, console, credentials, cron, housekeeping, kafka,
    registry, store, traces, webhooks,
};
use crate::assembly::plugins::PluginLoader;
use crate::assembly::propagation::{self, DefinitionLoader, Propagation};
use crate::assembly::resources::Resources;
use crate::assembly::{settings, span_export};
use crate::backups::BackupDirectory;
use crate::boot_packages::BootPackages;
use crate::config::{self, Config};
use crate::driver_handle::DriverHandle;
use crate::error::ServiceStartError;
use crate::http::{
    AccessSample, AdminAuthenticator, ChannelDocuments, CorsPolicy, GuessPacer, InFlightBytes, Planes,
    RateLimits, RefusalPacer, TreeCollector, TrustedProxies,
};
use crate::lifecycle::Lifecycle;
use crate::listeners::certificates::Certificates;
use crate::logging::LogTap;
use crate::options::Options;
use crate::package_trust::PackageTrust;
use crate::process::descriptors::DescriptorWatch;
use crate::process::io_runtime::IoRuntime;
use crate::process::worker_threads::WorkerThreads;
use crate::state::{AppState, EdgeState, NodeWork, ProcessState, ServingDefinitions};
use crate::telemetry::{TelemetryExport, TelemetrySources};

/// Opens the database, loads the stored definitions, and starts the supervision tree.
///
/// # Errors
/// The reason, in one line.
pub(crate) async fn start(config: Config, options: Options) -> Result<AppState, ServiceStartError> {
    let Options {
        log,
        environment,
        config_source,
        setting_origins,
        log_level,
        dropped_messages,
        log_tap,
        records_all_runs,
        functions,
        metrics: host_metrics,
        // Those of the daemon, which takes them before.
        sockets: _,
        faults,
        seed,
    } = options;
    config::check_features(&config).map_err(ServiceStartError::Config)?;
    let certificates = load_certificates(&config, &log)?;
    let trust = PackageTrust::read(&config.packages.trust).map_err(ServiceStartError::Config)?;
    let packages = BootPackages::read(&config.packages, &trust)?;
    let live_settings = LiveSettings::new(&config, config_source, setting_origins, log_level);
    let resources = Resources::open(&config, &environment, &log).await?;
    let Resources { io, outbound, secrets, node_id, file_lock, opened, cluster_redis, engine } = resources;
    let instance_id = settings::instance_id(&config);
    let instance = config.cluster.enabled.then_some(instance_id.as_str());
    let mut metrics = ServiceMetrics::register(&config, host_metrics, instance);
    let tree = build_tree(&io, seed, faults, &log)?;
    let shared_thread = io.start_arbiter()?;
    metrics.registry.registry_mut().register_collector(Box::new(TreeCollector::new(tree.clone())));
    let spans = span_export::start(&config, &instance_id, &io, metrics.spans.clone(), &log)?;
    let backups = Arc::new(BackupDirectory::new(&config));
    let mut assembly = Assembly {
        config,
        environment,
        node_id,
        io,
        outbound,
        secrets,
        cluster_redis,
        tree,
        shared_thread,
        metrics,
        spans,
        backups,
        records_all_runs,
        log,
    };
    let telemetry = prepare_telemetry(&assembly, &instance_id, log_tap)?;
    let parts =
        start_parts(&mut assembly, opened, file_lock.is_some(), engine, functions, &instance_id).await?;
    let inputs =
        ProcessInputs { instance_id, settings: live_settings, certificates, file_lock, trust, packages };
    let mut state = make_state(assembly, parts, inputs);
    state.process.dropped_messages = dropped_messages;
    state.process.telemetry = telemetry;
    begin_serving(&state);
    Ok(state)
}

/// Prepares the export of metrics and of the log.
fn prepare_telemetry(
    assembly: &Assembly,
    instance_id: &str,
    log_tap: Option<LogTap>,
) -> Result<Option<TelemetryExport>, ServiceStartError> {
    let sources = TelemetrySources {
        instance_id,
        io: &assembly.io,
        outbound: &assembly.outbound,
        log_tap,
        metrics: assembly.metrics.telemetry.clone(),
        log: assembly.log.clone(),
    };
    TelemetryExport::prepare(&assembly.config, sources)
}

/// Watches the certificate, and marks the service as started.
fn begin_serving(state: &AppState) {
    if let Some(certificates) = &state.process.certificates {
        certificates.watch(state.process.io.handle());
    }
    state.process.lifecycle.mark_initialized();
    info!(state.log, "service started"; "version" => crate::VERSION,
        "channels" => state.serving.registry.snapshot().channels_count(),
        "quarantined" => state.serving.registry.snapshot().quarantined_count());
}

/// Loads the certificate of the listeners; `None` if TLS is off.
fn load_certificates(config: &Config, log: &Logger) -> Result<Option<Arc<Certificates>>, ServiceStartError> {
    let section = Some(&config.server.tls).filter(|tls| tls.enabled);
    let loaded = section.map(|section| Certificates::load(section, log.clone())).transpose();
    loaded.map_err(ServiceStartError::Config)
}

/// Makes the empty tree, its supervisor on a thread of its own.
fn build_tree(
    io: &IoRuntime,
    seed: u64,
    faults: Vec<PlannedFault>,
    log: &Logger,
) -> Result<Tree, ServiceStartError> {
    let supervisor = io.start_arbiter()?;
    Ok(Tree::builder("svc").seed(seed).faults(faults).log(log.clone()).supervisor(supervisor).build())
}

/// The parts that run.
struct StartedParts {
    base: BaseParts,
    serving: ServingParts,
    cron: Option<CronHandle>,
    bulk: DriverHandle,
    backtests: DriverHandle,
    console: Option<ConsoleHandle>,
    propagation: Propagation,
    kafka: Option<KafkaIngress>,
}

/// The parts that serve no definition themselves: what is stored and accepted, and what the definitions call.
struct BaseParts {
    store: Store,
    issuers: Issuers,
    nodes: NodeHandle,
    traces: Traces,
    /// The epoch of the time before anything was loaded.
    epoch: EpochNumbers,
    brokers: Option<BrokerHealth>,
    connectors: Connectors,
    webhooks: WebhookHandle,
}

/// The parts that serve the definitions.
struct ServingParts {
    engine: Arc<Engine>,
    compute_gate: ComputeGate,
    namespaces: CacheNamespaces,
    quotas: CallQuotas,
    consumers: ConsumerLoader,
    plugins: PluginLoader,
    registry: Registry,
}

/// Starts the parts in the order of their needs. `is_alone`: no other process can use the database.
async fn start_parts(
    assembly: &mut Assembly,
    opened: OpenedStore,
    is_alone: bool,
    engine: EngineBuilder,
    functions: Vec<Arc<dyn Function>>,
    instance_id: &str,
) -> Result<StartedParts, ServiceStartError> {
    let base = start_base(assembly, opened, is_alone).await?;
    let serving = start_definitions(assembly, &base, engine, functions).await?;
    let (BaseParts { store, nodes, traces, .. }, registry) = (&base, &serving.registry);
    let cron = cron::start(assembly, store, registry).await?;
    let bulk = bulk::start(assembly, store, nodes, traces, cron.as_ref()).await?;
    let backtests = backtests::start(assembly, store, nodes, &serving.engine).await?;
    let sampled = SampledParts { store, nodes, registry, traces, cron: cron.as_ref(), instance_id };
    let console = console::start(assembly, sampled).await?;
    let loader = DefinitionLoader {
        connectors: base.connectors.clone(),
        consumers: serving.consumers.clone(),
        plugins: serving.plugins.clone(),
        registry: registry.clone(),
    };
    let applier = propagation::applier(loader, traces, cron.as_ref());
    let propagation = cluster::start_watcher(assembly, store, nodes, applier, base.epoch).await?;
    #[cfg(feature = "kafka")]
    let kafka = KafkaIngress::start(assembly, registry).await?;
    #[cfg(not(feature = "kafka"))]
    let kafka = None;
    Ok(StartedParts { base, serving, cron, bulk, backtests, console, propagation, kafka })
}

/// Starts the parts below the definitions.
async fn start_base(
    assembly: &mut Assembly,
    opened: OpenedStore,
    is_alone: bool,
) -> Result<BaseParts, ServiceStartError> {
    let store = store::start(assembly, opened).await?;
    let issuers = credentials::start_issuers(assembly).await?;
    let nodes = cluster::start_lease(assembly, &store, is_alone).await?;
    let traces = traces::start(assembly, &store, &nodes).await?;
    // Read before anything is loaded: what changes meanwhile is loaded by the watcher.
    let epoch = store.epoch().numbers().await.map_err(ServiceStartError::tree)?;
    let tokens = credentials::start_tokens(assembly, &store).await?;
    let brokers = kafka::start_broker_check(assembly).await?;
    let connectors = connectors::start(assembly, &store, tokens).await?;
    let webhooks = webhooks::start(assembly, &store, &nodes, &traces, &connectors).await?;
    Ok(BaseParts { store, issuers, nodes, traces, epoch, brokers, connectors, webhooks })
}

/// Loads the definitions, and starts what serves them and what needs no other part.
async fn start_definitions(
    assembly: &mut Assembly,
    base: &BaseParts,
    engine: EngineBuilder,
    functions: Vec<Arc<dyn Function>>,
) -> Result<ServingParts, ServiceStartError> {
    let BaseParts { store, issuers, nodes, traces, connectors, webhooks, .. } = base;
    let calls = DirectoryHandle::default();
    let namespaces = CacheNamespaces::default();
    let functions = list_functions(assembly, connectors, webhooks, &issuers.key_sets, &namespaces, functions);
    let engine = functions.register(engine, &calls)?;
    let services = channels::make_services(
        assembly,
        Arc::clone(&engine),
        issuers.clone(),
        connectors,
        namespaces.clone(),
        traces,
        store,
    );
    let (compute_gate, local_caches) = (services.compute_gate.clone(), services.local_caches.clone());
    let quotas = services.quotas.clone();
    let consumers = ConsumerLoader::new(store, &services);
    consumers.load().await.map_err(ServiceStartError::tree)?;
    let io = assembly.io.handle().clone();
    let metrics = assembly.metrics.plugins.clone();
    let plugins = PluginLoader::new(&assembly.config, store, Arc::clone(&engine), metrics, io, &assembly.log);
    let plugins = plugins.map_err(ServiceStartError::Config)?;
    plugins.load().await.map_err(ServiceStartError::tree)?;
    let registry = registry::start(assembly, store, services, calls).await?;
    traces::start_workers(traces, &registry).await?;
    housekeeping::start(assembly, store, nodes, &registry, connectors, local_caches, traces).await?;
    Ok(ServingParts { engine, compute_gate, namespaces, quotas, consumers, plugins, registry })
}

/// Returns the functions of workflows, with what they work over.
fn list_functions<'s>(
    assembly: &'s Assembly,
    connectors: &'s Connectors,
    webhooks: &WebhookHandle,
    key_sets: &Arc<dyn KeySets>,
    namespaces: &CacheNamespaces,
    functions: Vec<Arc<dyn Function>>,
) -> Functions<'s> {
    let (webhooks, key_sets, namespaces) = (webhooks.clone(), Arc::clone(key_sets), namespaces.clone());
    Functions { config: &assembly.config, connectors, webhooks, key_sets, namespaces, functions }
}

/// The parts of the process that are there before the tree.
struct ProcessInputs {
    instance_id: String,
    settings: LiveSettings,
    certificates: Option<Arc<Certificates>>,
    file_lock: Option<FileLock>,
    trust: PackageTrust,
    packages: BootPackages,
}

/// Makes the state of the handlers.
fn make_state(assembly: Assembly, parts: StartedParts, inputs: ProcessInputs) -> AppState {
    let ProcessInputs { instance_id, settings, certificates, file_lock, trust, packages } = inputs;
    let Assembly { config, io, secrets, cluster_redis, tree, metrics, spans, backups, log, .. } = assembly;
    let StartedParts { base, serving, cron, bulk, backtests, console, propagation, kafka } = parts;
    let rate_limits = RateLimits::new(&config.rate_limit, metrics.channels);
    AppState {
        serving: ServingDefinitions {
            registry: serving.registry,
            engine: serving.engine,
            connectors: base.connectors,
            secrets,
            propagation,
            compute_gate: serving.compute_gate,
            namespaces: serving.namespaces,
            quotas: serving.quotas,
            consumers: serving.consumers,
            plugins: serving.plugins,
        },
        work: NodeWork {
            nodes: base.nodes,
            traces: base.traces,
            cron,
            cron_metrics: metrics.cron,
            rollouts: metrics.rollouts,
            bulk,
            backtests,
            webhooks: base.webhooks,
            console,
            brokers: base.brokers,
            kafka,
            cluster_redis,
        },
        edge: make_edge(&config, spans, rate_limits, metrics.pacer, metrics.in_flight),
        process: ProcessState {
            instance_id,
            started_at: Instant::now(),
            lifecycle: Lifecycle::default(),
            settings,
            workers: WorkerThreads::default(),
            connections: metrics.connections,
            descriptors: DescriptorWatch::start(io.handle(), log.clone()),
            certificates,
            dropped_messages: None,
            telemetry: None,
            trust,
            packages,
            backups,
            io,
            file_lock: Mutex::new(file_lock),
            dev: OnceLock::new(),
        },
        config: Arc::new(config),
        store: base.store,
        tree,
        metrics: metrics.registry,
        log,
    }
}

/// Makes the state of the edge.
fn make_edge(
    config: &Config,
    spans: Spans,
    rate_limits: RateLimits,
    pacer: RefusalPacer,
    in_flight: InFlightBytes,
) -> EdgeState {
    let networks = config.rate_limit.client_networks();
    EdgeState {
        auth: AdminAuthenticator::new(&config.admin_auth, config.server.host.as_deref(), networks),
        proxies: TrustedProxies::new(&config.rate_limit.trusted_proxies),
        spans,
        cors: CorsPolicy::new(&config.cors),
        rate_limits,
        guesses: GuessPacer::new(networks),
        pacer,
        in_flight,
        planes: Planes::new(&config.server.data_mounts, config.console_page_path()),
        documents: ChannelDocuments::default(),
        access_sample: AccessSample::new(config.logging.access_sample),
        failure_lines: LogRateLimit::default(),
    }
}
