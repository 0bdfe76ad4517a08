//! The service as a value: started, mounted into an actix-web application, asked, and ended.
//!
//! The binary is one user of this; a larger application is another. There are no globals: several services can live in
//! one process, each with its tree, its database and its threads.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_supervision::{PlannedFault, Tree, TreeExit, TreeView};
use actix_web::web;
use serde_json::Value;
use slog::{Discard, Logger, info, o};
use svc_auth::KeySets;
use svc_channels::call::{self, DirectoryHandle};
use svc_channels::{
    ChannelMetrics, ChannelResponse, ChannelServices, ComputeGate, DataRequest, RateGroups, Reservation,
};
use svc_connectors::ConnectorMetrics;
use svc_cron::CronMetrics;
use svc_engine::Function;
use svc_housekeeping::JobMetrics;
use svc_model::ServiceError;
use svc_nodes::NodeMetrics;
use svc_registry::{RegistryMetrics, RegistryParts, ReloadError, ReloadReport, ReloadScope};
use svc_store::{FileLock, Store, StoreConfig};
use svc_tokens::TokenMetrics;
use svc_traces::TraceMetrics;
use tokio::time::Instant;

use crate::config::Config;
use crate::descriptors::DescriptorWatch;
use crate::error::ServiceStartError;
use crate::http::{
    AdminAuthenticator, CorsPolicy, InFlightBytes, Metrics, Planes, RateLimits, RefusalPacer, TreeCollector,
    TrustedProxies,
};
use crate::io_runtime::IoRuntime;
use crate::jobs;
use crate::lifecycle::Lifecycle;
use crate::operations::Operations;
use crate::routes::{self, MountMode};
use crate::settings;
use crate::shutdown;
use crate::state::AppState;
use crate::transport::{
    self, ConnectionAdmission, ConnectionLimits, ConnectionMetrics, RefusalReporter, Transport,
};
use crate::tree::{self, Assembly, CoreServices};
use crate::worker_threads::WorkerThreads;

/// What a start takes beside the configuration.
pub struct Options {
    /// Where the service logs; nowhere by default.
    pub log: Logger,
    /// The environment that `env://` references read, and that names the secret store of `vault://` references.
    pub environment: Vec<(String, String)>,
    /// Functions of the embedding application, which workflows may name like those of the service. Their
    /// [entries](Function::entry) have the source [`Plugin`](svc_engine::catalogue::FunctionSource::Plugin).
    pub functions: Vec<Arc<dyn Function>>,
    /// Faults to happen as planned, for tests and drills.
    pub faults: Vec<PlannedFault>,
    /// Seed of every jitter in the supervision tree.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            log: Logger::root(Discard, o!()),
            environment: Vec::new(),
            functions: Vec::new(),
            faults: Vec::new(),
            seed: 0,
        }
    }
}

/// The environment by its names alone: its values are secrets.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let functions: Vec<&str> = self.functions.iter().map(|function| function.entry().name).collect();
        let names: Vec<&str> = self.environment.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Options")
            .field("environment", &names)
            .field("functions", &functions)
            .field("faults", &self.faults)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// A running service. Cheap to clone; ends with [`shutdown`](Self::shutdown). Dropping it leaves what is mounted
/// serving; the actor threads end with the last holder.
#[derive(Clone, Debug)]
pub struct Service {
    state: web::Data<AppState>,
}

impl Service {
    /// Opens the database, loads what is stored, and starts the supervision tree. Serves no request yet: mount
    /// [`routes`](Self::routes) for that. Must be called within an actix system.
    ///
    /// # Errors
    /// What stands in the way, in one line.
    pub async fn start(config: Config, options: Options) -> Result<Self, ServiceStartError> {
        let log = options.log.clone();
        let io = IoRuntime::start()?;
        let outbound = settings::build_outbound(&log)?;
        let secrets = settings::build_keyring(&config, &options.environment, &outbound, io.handle().clone())?;
        let stored = StoreConfig {
            connector_keys: settings::connector_keys(&config, &secrets).await?,
            ..settings::store_config(&config)
        };
        let node_id = settings::node_id(&config);
        let file_lock = FileLock::acquire(&stored, &node_id)?;
        let opened = Store::open(&stored, io.handle().clone(), log.clone()).await?;
        let engine = settings::engine_builder(&config, &secrets, &log).await?;
        let mut metrics = Metrics::new();
        let (channels, reloads) = (ChannelMetrics::default(), RegistryMetrics::default());
        let (traced, succeeded) = (TraceMetrics::default(), JobMetrics::default());
        let leased = NodeMetrics::default();
        leased.register(metrics.registry_mut());
        channels.register(metrics.registry_mut());
        let in_flight = InFlightBytes::new(config.server.max_in_flight_bytes);
        in_flight.register(metrics.registry_mut());
        let pacer = RefusalPacer::new();
        pacer.register(metrics.registry_mut());
        let rate_limits = RateLimits::new(&config.rate_limit, channels.clone());
        reloads.register(metrics.registry_mut());
        traced.register(metrics.registry_mut());
        let scheduled = CronMetrics::default();
        scheduled.register(metrics.registry_mut());
        succeeded.register(metrics.registry_mut());
        let calls = ConnectorMetrics::default();
        calls.register(metrics.registry_mut());
        let obtained = TokenMetrics::default();
        obtained.register(metrics.registry_mut());
        let connections = ConnectionMetrics::default();
        connections.register(metrics.registry_mut());
        let tree = Tree::builder("svc")
            .seed(options.seed)
            .faults(options.faults)
            .log(log.clone())
            .supervisor(io.start_arbiter()?)
            .build();
        metrics.registry_mut().register_collector(Box::new(TreeCollector::new(tree.clone())));
        let ground = Assembly { tree: &tree, io: io.start_arbiter()?, log: log.clone() };
        let recording = settings::trace_settings(&config, channels.clone(), succeeded.clone());
        let schedules = settings::cron_settings(&config, &node_id, channels.clone(), succeeded.clone());
        let lease = settings::lease_settings(&config, &node_id, file_lock.is_some());
        let key_sets = settings::key_set_settings(&config, outbound.clone());
        let CoreServices { store, key_sets, nodes, traces } =
            ground.start_core_services(opened, key_sets, (lease, leased), (recording, traced)).await?;
        store.metrics().register(metrics.registry_mut());
        let key_sets: Arc<dyn KeySets> = Arc::new(key_sets);
        let tokens = settings::token_settings(&node_id, &store, &outbound, channels.clone());
        let tokens = ground.start_tokens(tokens, obtained).await?;
        let cluster = settings::kafka_cluster(&config, &options.environment);
        let brokers = match &cluster {
            Some(cluster) => {
                Some(ground.start_broker_check(cluster, settings::health_check_timeout(&config)).await?)
            }
            None => None,
        };
        let reached = svc_connectors::Settings {
            store: store.clone(),
            needs: tree::STORE.to_owned(),
            secrets: secrets.clone(),
            environment: settings::variable_lookup(&options.environment),
            outbound,
            tokens,
            breakers: settings::breaker_settings(&config),
            max_pools: config.engine.max_pool_cache_entries,
            memory_cache: settings::memory_cache_settings(&config),
            kafka: cluster,
        };
        let connectors = ground.start_connectors(reached, calls, io.start_driving_arbiter()?).await?;
        settings::refuse_failed_connectors(&config, &connectors)?;
        let engine = svc_functions::register(engine, Arc::clone(&key_sets));
        let engine = svc_connectors::register(engine, &connectors, settings::call_settings(&config));
        let channel_calls = DirectoryHandle::default();
        let engine = call::register(engine, channel_calls.clone(), settings::call_limits(&config));
        let engine = Arc::new(settings::register_plugins(engine, options.functions)?.build());
        let compute_gate = ComputeGate::default();
        let tools = ChannelServices {
            engine: Arc::clone(&engine),
            settings: Arc::new(settings::channel_settings(&config)),
            metrics: channels,
            secrets: secrets.clone(),
            key_sets,
            connectors: Some(Arc::new(connectors.clone())),
            traces: Some(traces.clone()),
            compute_gate: compute_gate.clone(),
            rate_groups: RateGroups::default(),
            memory_entries: settings::memory_entries(&config),
            log: log.clone(),
        };
        let parts = |channels| RegistryParts {
            store: store.clone(),
            services: tools,
            calls: channel_calls,
            filter: settings::channel_filter(&config.channel_filter),
            channels,
            metrics: reloads,
            log: log.clone(),
        };
        let registry = ground.start_registry(schedules.is_some(), parts).await?;
        ground
            .start_accepting_work(&traces, &registry, jobs::housekeeping_jobs(&config, &store), succeeded)
            .await?;
        let cron = match schedules {
            Some(settings) => {
                let ground = Assembly { io: io.start_arbiter()?, ..ground };
                Some(ground.start_cron(&store, &registry, settings, scheduled).await?)
            }
            None => None,
        };
        let state = AppState {
            auth: AdminAuthenticator::new(&config.admin_auth),
            proxies: TrustedProxies::new(&config.rate_limit.trusted_proxies),
            cors: CorsPolicy::new(&config.cors),
            connections,
            descriptors: DescriptorWatch::start(io.handle(), log.clone()),
            rate_limits,
            planes: Planes::new(&config.server.data_mounts),
            instance_id: settings::instance_id(&config),
            config: Arc::new(config),
            store,
            nodes,
            connectors,
            brokers,
            registry,
            traces,
            cron,
            engine,
            secrets,
            tree,
            metrics,
            lifecycle: Lifecycle::default(),
            workers: WorkerThreads::default(),
            in_flight,
            compute_gate,
            pacer,
            started_at: Instant::now(),
            log,
            io,
            file_lock: Mutex::new(file_lock),
        };
        state.lifecycle.mark_initialized();
        info!(state.log, "service started"; "version" => crate::VERSION,
            "channels" => state.registry.snapshot().channels_count(),
            "quarantined" => state.registry.snapshot().quarantined_count());
        Ok(Self { state: web::Data::new(state) })
    }

    /// Mounts the service into a host's application: its own paths only, so the host's routes go on as before. Every
    /// thread that mounts it becomes a worker. Connections are the host's: its server keeps their time limits and their
    /// number.
    pub fn routes(&self) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + use<> + 'static {
        self.mount(MountMode::OwnPaths)
    }

    pub(crate) fn mount(
        &self,
        mode: MountMode,
    ) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + use<> + 'static {
        let state = self.state.clone();
        move |cfg| routes::configure(cfg, &state, mode)
    }

    /// Serves health and metrics at `host:port`, on a thread of its own that answers while every worker hangs.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn listen_for_operations(&self, address: &str) -> Result<Operations, ServiceStartError> {
        let what = format!("cannot listen on {address} (metrics.bind_addr)");
        let transport = self.transport(transport::settings::operations_listener_limits());
        Operations::listen(self.state.clone(), transport, address).map_err(ServiceStartError::system(what))
    }

    /// The way connections of one listener are served, within these bounds.
    pub(crate) fn transport(&self, limits: ConnectionLimits) -> Transport {
        let state = self.state.clone();
        Transport {
            timeouts: transport::settings::timeouts(&state.config),
            admission: ConnectionAdmission::new(limits),
            refusals: ConnectionAdmission::new(transport::settings::refusal_limits()),
            reports: RefusalReporter::new(state.connections.clone(), state.log.clone()),
            state,
        }
    }

    /// Sends a payload to a channel, without HTTP: no credential is asked for and no origin is checked; validation,
    /// capacity and deadline hold as for anyone. Runs on this thread where it is a worker; the first call of a process
    /// that mounted nothing makes it one.
    ///
    /// # Errors
    /// What a caller over HTTP would be answered.
    pub async fn submit(&self, channel: &str, payload: Value) -> Result<ChannelResponse, ServiceError> {
        let workers = &self.state.workers;
        let worker = match workers.current_worker() {
            None if !workers.has_any(&self.state.registry) => {
                workers.join(&self.state.registry, &self.state.log).await
            }
            known => known,
        };
        let mut permit = self.state.in_flight.permit();
        permit.grow_for_run(0, Some(&payload))?;
        let reservation = Some(Reservation::new(permit));
        let message = DataRequest { reservation, ..DataRequest::embedded(payload) };
        self.state.registry.submit_to(worker, channel, message).await
    }

    /// Brings what serves in line with what is stored.
    ///
    /// # Errors
    /// Why nothing changed.
    pub async fn reload(&self) -> Result<ReloadReport, ReloadError> {
        self.state.reload(ReloadScope::All).await
    }

    /// The supervision tree now; answers while every thread hangs.
    pub fn tree(&self) -> TreeView {
        self.state.tree.snapshot()
    }

    /// What the handlers work with.
    pub fn state(&self) -> &web::Data<AppState> {
        &self.state
    }

    /// Turns readiness red. Requests are still answered; connections are told to close.
    pub fn drain(&self) {
        self.state.lifecycle.drain();
    }

    /// Ends the service: not ready from now on, begins no accepted work and no schedule's run any more, and waits for
    /// the requests being answered and for what runs, all together at most `deadline`; accepted work and schedules at
    /// most as long as `trace_queue.shutdown_timeout_secs` and `cron.shutdown_timeout_secs` say. What is left then is cut:
    /// accepted work stays unfinished on record, runs of schedules go back to the ledger, callers are answered 503. The
    /// tree ends in reverse order of need. Returns within two seconds after `deadline`, whatever a run waits for.
    ///
    /// A client that is slow to send its body is waited for no longer than 30 seconds. Idempotent.
    pub async fn shutdown(&self, deadline: Duration) -> TreeExit {
        let exit = shutdown::shutdown(&self.state, deadline).await;
        self.state.unlock_file();
        exit
    }

    /// Waits until the tree has ended, by a shutdown or by the failure of an essential part.
    pub async fn wait_until_ended(&self) -> TreeExit {
        self.state.tree.wait_until_ended().await
    }
}

#[cfg(test)]
mod tests {
    use actix_rt::System;
    use actix_web::App;
    use actix_web::test::{TestRequest, call_service, init_service};
    use svc_engine::catalogue::FunctionEntry;
    use svc_engine::{CompileCx, CompiledTask};

    use super::*;

    #[test]
    fn what_is_mounted_serves_on_after_the_last_handle_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        System::new().block_on(async {
            let mut config = Config::default();
            config.storage.url = format!("sqlite:{}", directory.path().join("svc.db").display());
            let service = Service::start(config, Options::default()).await.unwrap();
            let routes = service.routes();
            drop(service);
            let app = init_service(App::new().configure(routes)).await;
            let body = serde_json::json!({"workflow_id": "w", "name": "w", "tasks": []});
            let request = TestRequest::post().uri("/api/v1/admin/workflows/validate").set_json(&body);
            assert_eq!(call_service(&app, request.to_request()).await.status(), 200);
            let listed = TestRequest::get().uri("/api/v1/admin/workflows").to_request();
            assert_eq!(call_service(&app, listed).await.status(), 200, "the database answers");
        });
    }

    /// A function that an application brings along.
    struct Plugin(&'static FunctionEntry);

    impl Function for Plugin {
        fn entry(&self) -> &'static FunctionEntry {
            self.0
        }

        fn compile(&self, _: &Value, _: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
            Err("it is never called".to_owned())
        }
    }

    #[test]
    fn plugin_with_the_name_of_another_function_ends_the_start() {
        static TAKEN: FunctionEntry = FunctionEntry::plugin("http_call", "");
        static BUILT_IN: FunctionEntry = FunctionEntry::plugin("validate", "");
        static FOREIGN: FunctionEntry = FunctionEntry::utility("mine", "");
        let directory = tempfile::tempdir().unwrap();
        for (entry, reason) in [
            (&TAKEN, "has the name of another function"),
            (&BUILT_IN, "has the name of another function"),
            (&FOREIGN, "is not declared a plugin"),
        ] {
            System::new().block_on(async {
                let mut config = Config::default();
                config.storage.url = format!("sqlite:{}", directory.path().join("svc.db").display());
                let options = Options { functions: vec![Arc::new(Plugin(entry))], ..Options::default() };
                let error = Service::start(config, options).await.err().unwrap();
                assert!(error.to_string().contains(reason), "{error}");
                assert_eq!(error.exit_code(), 78);
            });
        }
    }

    #[test]
    fn options_print_the_names_of_the_environment_and_no_value() {
        let environment = vec![("DATABASE_PASSWORD".to_owned(), "hunter2".to_owned())];
        let printed = format!("{:?}", Options { environment, ..Options::default() });
        assert!(printed.contains("DATABASE_PASSWORD") && !printed.contains("hunter2"), "{printed}");
    }
}
