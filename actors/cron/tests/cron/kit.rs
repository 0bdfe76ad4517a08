//! Nodes over one SQLite file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_rt::System;
use actix_supervision::{
    Backoff, ChildSpec, ExhaustedAction, GroupSpec, NodeState, Placement, PlannedFault, RestartPolicy, Tree,
};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::sql_types::Text;
use diesel::{Connection, RunQueryDsl, SqliteConnection};
use parking_lot::Mutex;
use serde_json::{Value, json};
use slog::{Discard, Logger, o};
use svc_auth::{KeySet, KeySets};
use svc_channels::{ChannelMetrics, ChannelServices, ComputeGate, LocalCaches, RateGroups};
use svc_cron::{CronHandle, CronMetrics, CronServices, EventCallback, Settings};
use svc_engine::Engine;
use svc_model::config::TracingMode;
use svc_model::{ChannelContent, ChannelType, LifecycleStatus, Page, Protocol, WorkflowContent};
use svc_nodes::{NodeHandle, NodeMetrics};
use svc_registry::{ChannelFilter, ChannelPolicy, Registry, RegistryMetrics, ReloadScope};
use svc_secrets::{EnvironmentResolver, Keyring};
use svc_store::{
    AuditEntry, ChannelRequirements, Mutation, OccurrenceFilter, OccurrenceRecord, Store, StoreConfig,
    WorkflowRequirements,
};
use svc_traces::{
    Callback, DeadLetterSettings, OverflowPolicy, QueueSettings, RecorderSettings, TraceMetrics, Traces,
    TracingDefaults,
};
use tokio::time::{interval, timeout};

use crate::witness::{Witness, WitnessFunction};

/// Longer than any state may take to be reached.
const PATIENCE: Duration = Duration::from_secs(40);

pub(crate) fn log() -> Logger {
    Logger::root(Discard, o!())
}

pub(crate) const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub(crate) const fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// No issuer's keys can be had.
struct NoKeySets;

impl KeySets for NoKeySets {
    fn key_set(&self, _: &str) -> Result<Arc<dyn KeySet>, String> {
        Err("no key sets here".to_owned())
    }
}

/// A database, and the runtime of its connections.
pub(crate) struct CronFixture {
    pub(crate) witness: Witness,
    config: StoreConfig,
    path: PathBuf,
    io: tokio::runtime::Handle,
}

/// The options of a node in a test.
pub(crate) struct NodeOptions {
    pub(crate) faults: Vec<PlannedFault>,
    pub(crate) filter: ChannelFilter,
    pub(crate) tracing: TracingMode,
    pub(crate) settings: Settings,
    pub(crate) cron_enabled: bool,
}

/// One life of the service.
pub(crate) struct Node {
    pub(crate) tree: Tree,
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) traces: Traces,
    pub(crate) cron: Option<CronHandle>,
    pub(crate) words: Arc<Mutex<Vec<&'static str>>>,
    metrics: prometheus_client::registry::Registry,
}

/// Runs a case on a new file.
pub(crate) fn run(case: impl AsyncFnOnce(CronFixture)) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("svc.db");
    run_on(format!("sqlite:{}", path.display()), path, case);
}

/// Runs a case on the server at a URL.
pub(crate) fn run_on_server(url: &str, case: impl AsyncFnOnce(CronFixture)) {
    run_on(url.to_owned(), PathBuf::new(), case);
}

fn run_on(url: String, path: PathBuf, case: impl AsyncFnOnce(CronFixture)) {
    let io = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    System::new().block_on(async {
        let config = StoreConfig {
            url,
            max_connections: 4,
            min_connections: 1,
            busy_timeout_ms: 100,
            acquire_timeout: millis(300),
            ..StoreConfig::default()
        };
        let world = CronFixture { witness: Witness::new(), config, path, io: io.handle().clone() };
        timeout(PATIENCE * 2, case(world)).await.expect("the case ends");
    });
    io.shutdown_background();
}

fn settings(number: usize) -> Settings {
    Settings {
        holder: format!("node-{number}"),
        poll: millis(200),
        workers: 4,
        claim_batch: 20,
        lease: seconds(60),
        heartbeat: seconds(15),
        misfire_grace: seconds(5),
        max_catch_up: 100,
        max_recoveries: 5,
        default_timeout: seconds(3600),
        shutdown_timeout: seconds(20),
        errors: EventCallback::default(),
        jobs: EventCallback::default(),
    }
}

impl CronFixture {
    pub(crate) async fn start(&self) -> Node {
        self.start_with(|_| ()).await
    }

    pub(crate) async fn start_with(&self, change: impl FnOnce(&mut NodeOptions)) -> Node {
        static NODES: AtomicUsize = AtomicUsize::new(1);
        let words: Arc<Mutex<Vec<&'static str>>> = Arc::default();
        let told = Arc::clone(&words);
        let mut plan = NodeOptions {
            faults: Vec::new(),
            filter: ChannelFilter::default(),
            tracing: TracingMode::Sync,
            settings: settings(NODES.fetch_add(1, Ordering::SeqCst)),
            cron_enabled: true,
        };
        plan.settings.errors =
            EventCallback::new(move |word: svc_model::ErrorReason| told.lock().push(word.as_str()));
        change(&mut plan);
        let tree = Tree::builder("test").seed(1).faults(plan.faults).build();
        let opened = Store::open(&self.config, self.io.clone(), log()).await.unwrap();
        let store = Store::supervise(opened, &tree, "store", Placement::Here).await.unwrap();
        tree.add_group("channels", GroupSpec::new()).await.unwrap();
        let recording = recording(plan.tracing);
        let lease = svc_nodes::Settings {
            id: svc_nodes::Settings::new_id("test"),
            version: "test",
            lease: seconds(15),
            is_alone: false,
            needs: vec!["store".to_owned()],
        };
        let nodes = NodeHandle::supervise(
            &tree,
            "nodes",
            Placement::Here,
            &store,
            lease,
            NodeMetrics::default(),
            log(),
        )
        .await
        .unwrap();
        let parts = svc_traces::TraceServices {
            store: store.clone(),
            nodes,
            settings: recording,
            metrics: TraceMetrics::default(),
            log: log(),
        };
        let traces = Traces::supervise(&tree, "traces", Placement::Here, parts).await.unwrap();
        let tools = ChannelServices {
            engine: Arc::new(
                Engine::builder().function(Arc::new(WitnessFunction(self.witness.clone()))).build(),
            ),
            settings: Arc::new(svc_channels::Settings {
                vars: Some(json!({"region": "eu"})),
                cron_enabled: plan.cron_enabled,
                ..svc_channels::Settings::default()
            }),
            metrics: ChannelMetrics::default(),
            secrets: Keyring::new(Arc::new(EnvironmentResolver(|_: &str| None)), BTreeMap::new()),
            key_sets: Arc::new(NoKeySets),
            connectors: None,
            cluster: None,
            traces: Some(traces.clone()),
            compute_gate: ComputeGate::default(),
            rate_groups: RateGroups::default(),
            local_caches: LocalCaches::default(),
            memory_entries: 1000,
            spans: Default::default(),
            log: log(),
        };
        let budget = RestartPolicy {
            max_restarts: 5,
            within: seconds(60),
            backoff: Backoff { first: millis(1), max: millis(1), jitter: 0.0 },
            exhausted: ExhaustedAction::Quarantine,
        };
        let parts = svc_registry::RegistryParts {
            store: store.clone(),
            services: tools,
            calls: svc_channels::call::DirectoryHandle::default(),
            filter: plan.filter,
            channels: ChannelPolicy {
                budget,
                schedules: Some("cron/schedules".to_owned()),
                needs: vec!["store".to_owned()],
                ..ChannelPolicy::default()
            },
            metrics: RegistryMetrics::default(),
            log: log(),
        };
        let registry =
            Registry::supervise(&tree, "registry", ChildSpec::new().essential(), Placement::Here, parts)
                .await
                .unwrap();
        tree.wait_until_running("registry").await.unwrap();
        registry.add_worker(Placement::Here).await.unwrap();
        let scheduled = CronMetrics::default();
        let mut metrics = prometheus_client::registry::Registry::default();
        scheduled.register(&mut metrics);
        let parts = CronServices {
            store: store.clone(),
            registry: registry.clone(),
            settings: plan.settings,
            metrics: scheduled,
            log: log(),
            needs: ["store", "registry", "channels"].map(str::to_owned).to_vec(),
        };
        let cron = match plan.cron_enabled {
            true => Some(CronHandle::supervise(&tree, "cron", Placement::Here, parts).await.unwrap()),
            false => None,
        };
        Node { tree, store, registry, traces, cron, words, metrics }
    }

    /// Locks the file against writers until the answer is dropped.
    pub(crate) fn lock(&self) -> DatabaseLock {
        let mut conn = self.connect();
        conn.batch_execute("BEGIN IMMEDIATE").unwrap();
        DatabaseLock(conn)
    }

    /// Runs SQL around the service.
    pub(crate) fn execute(&self, sql: &str) {
        self.connect().batch_execute(sql).unwrap();
    }

    /// The one text that a query reads around the service.
    pub(crate) fn read(&self, query: &str) -> String {
        diesel::select(sql::<Text>(query)).get_result(&mut self.connect()).unwrap()
    }

    fn connect(&self) -> SqliteConnection {
        let mut conn = SqliteConnection::establish(self.path.to_str().unwrap()).unwrap();
        conn.batch_execute("PRAGMA busy_timeout = 5000").unwrap();
        conn
    }
}

pub(crate) struct DatabaseLock(SqliteConnection);

impl Drop for DatabaseLock {
    fn drop(&mut self) {
        self.0.batch_execute("ROLLBACK").unwrap();
    }
}

fn recording(mode: TracingMode) -> svc_traces::Settings {
    svc_traces::Settings {
        tracing: TracingDefaults { mode, sample_rate: 1.0, errors_only: false },
        recorder: RecorderSettings {
            max_pending: 100,
            overflow: OverflowPolicy::Drop,
            async_workers: 1,
            batch_size: 10,
            batch_flush_interval: millis(20),
            batch_workers: 1,
        },
        queue: QueueSettings {
            workers: 1,
            buffer_size: 10,
            max_memory_bytes: 0,
            processing_timeout: seconds(30),
            shutdown_timeout: seconds(1),
            max_recoveries: 5,
            max_waiting: 1000,
        },
        dead_letters: DeadLetterSettings {
            retry_enabled: false,
            max_retries: 0,
            poll_interval: seconds(1),
            batch_size: 1,
            lease: seconds(60),
        },
        needs: vec!["store".to_owned()],
        errors: Callback::default(),
        jobs: Callback::default(),
    }
}

impl Node {
    /// Activates a channel over a workflow of its own that acts as its payload says, and serves it.
    pub(crate) async fn channel(&self, id: &str, transport: Value, config: Value) {
        self.store_channel(id, transport, config).await;
        self.registry.reload(ReloadScope::channel(id)).await.unwrap();
    }

    /// Activates a channel without a notification.
    pub(crate) async fn store_channel(&self, id: &str, transport: Value, config: Value) {
        self.workflow(id).await;
        let content = content(id, transport, config);
        let channels = self.store.channels();
        if channels.latest(id).await.unwrap().is_some() {
            channels.new_version(id, mutation()).await.unwrap();
            channels.update(id, Box::new(move |_| Ok(content)), mutation()).await.unwrap();
        } else {
            channels.create(Some(id.into()), content, mutation()).await.unwrap();
        }
        self.set_status(id, LifecycleStatus::Active).await;
    }

    pub(crate) async fn set_status(&self, id: &str, status: LifecycleStatus) {
        let requirements = ChannelRequirements { cron_enabled: true, ..ChannelRequirements::default() };
        self.store.channels().set_status(id, status, None, requirements, mutation()).await.unwrap();
    }

    pub(crate) async fn delete(&self, id: &str) {
        self.store.channels().delete(id, mutation()).await.unwrap();
    }

    async fn workflow(&self, id: &str) {
        let workflows = self.store.workflows();
        if workflows.latest(id).await.unwrap().is_some() {
            return;
        }
        let act = json!({"id": "act", "name": "act", "function": {"name": "act", "input": {}}});
        let content = WorkflowContent {
            name: id.into(),
            description: None,
            priority: 0,
            condition: json!(true),
            tasks: vec![act],
            tags: vec![],
            loop_: None,
            continue_on_error: false,
        };
        workflows.create(Some(id.into()), content, mutation()).await.unwrap();
        let requirements = WorkflowRequirements::default();
        workflows.set_status(id, LifecycleStatus::Active, None, requirements, mutation()).await.unwrap();
    }

    /// Every occurrence of a channel, the first one due first.
    pub(crate) async fn occurrences(&self, channel: &str) -> Vec<OccurrenceRecord> {
        let filter = OccurrenceFilter { channel_id: Some(channel.into()), ..OccurrenceFilter::default() };
        let page = Page { limit: Page::MAX_LIMIT, offset: 0 };
        let rows = self.store.ledger().list(filter, page, None).await.unwrap().rows;
        let mut all = Vec::new();
        for row in rows {
            all.push(self.store.ledger().get(&row.id).await.unwrap().unwrap());
        }
        all.sort_by_key(|row| row.row.scheduled_for);
        all
    }

    /// Those of a status.
    pub(crate) async fn of_status(&self, channel: &str, status: &str) -> Vec<OccurrenceRecord> {
        let mut all = self.occurrences(channel).await;
        all.retain(|row| row.row.status == status);
        all
    }

    /// Waits until so many occurrences of a channel have come to a status.
    pub(crate) async fn come_to(&self, channel: &str, status: &str, count: usize) {
        wait_until(async || self.of_status(channel, status).await.len() >= count).await;
    }

    pub(crate) fn state_of(&self, path: &str) -> Option<NodeState> {
        self.tree.node(path).map(|node| node.state)
    }

    pub(crate) fn reason(&self, channel: &str) -> Option<String> {
        let snapshot = self.registry.snapshot();
        Some(snapshot.channel_by_id(channel)?.quarantine()?.reason.to_string())
    }

    /// One line of the metrics page.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let mut page = String::new();
        prometheus_client::encoding::text::encode(&mut page, &self.metrics).unwrap();
        let line = page.lines().find(|line| line.split(' ').next() == Some(name));
        line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0.0)
    }

    /// Ends it as a crash would: nothing is finished.
    pub(crate) async fn crash(self) {
        self.tree.shutdown(Duration::ZERO).await;
    }

    pub(crate) async fn end(self) {
        self.tree.shutdown(seconds(30)).await;
    }
}

/// Waits for a state.
pub(crate) async fn wait_until(mut reached: impl AsyncFnMut() -> bool) {
    let wait = async {
        let mut looks = interval(millis(20));
        while !reached().await {
            looks.tick().await;
        }
    };
    timeout(PATIENCE, wait).await.expect("the state is reached");
}

/// A channel that is due every second.
pub(crate) fn every_second(action: &str) -> Value {
    json!({"schedule": "* * * * * *", "payload": {"do": action}})
}

/// A channel that is due once in a long while.
pub(crate) fn yearly_schedule(action: &str) -> Value {
    json!({"schedule": "0 0 0 1 1 *", "payload": {"do": action}})
}

fn content(id: &str, transport_config: Value, config: Value) -> ChannelContent {
    ChannelContent {
        name: id.into(),
        description: None,
        channel_type: ChannelType::Async,
        protocol: Protocol::Cron,
        methods: None,
        route_pattern: None,
        topic: None,
        consumer_group: None,
        transport_config,
        workflow_id: Some(id.into()),
        config,
        priority: 0,
        tags: vec![],
    }
}

pub(crate) fn audit() -> AuditEntry {
    AuditEntry {
        principal: "anonymous".into(),
        action: "test".into(),
        resource_type: "test".into(),
        resource_id: String::new(),
        details: None,
    }
}

fn mutation() -> Mutation {
    Mutation::new(audit())
}
