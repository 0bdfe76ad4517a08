//! Nodes over one SQLite file.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_supervision::{
    Backoff, ChildSpec, ExhaustedAction, GroupSpec, NodeState, Placement, PlannedFault, RestartPolicy, Tree,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use svc_auth::{KeySet, KeySets, NoProviderAccess};
use svc_channels::{ChannelMetrics, ChannelServices, ComputeGate, LocalCaches, RateGroups};
use svc_cron::{CronHandle, CronMetrics, CronServices, EventCallback, Settings};
use svc_engine::Engine;
use svc_model::config::TracingMode;
use svc_model::{ChannelContent, ChannelType, LifecycleStatus, Page, Protocol};
use svc_registry::{ChannelFilter, ChannelPolicy, Registry, RegistryMetrics, RegistryParts, ReloadScope};
use svc_secrets::{EnvironmentResolver, Keyring};
use svc_store::{OccurrenceFilter, OccurrenceRecord, Store};
use svc_testkit::state::wait_until;
use svc_testworld::TestWorld;
use svc_testworld::actors::{build_tree, log, supervise_traces, trace_settings};
use svc_testworld::definitions::{
    channel_content, mutation, put_channel, put_workflow, set_channel_status, set_workflow_status,
    workflow_content,
};
use svc_testworld::metrics::metric_value;
use svc_traces::{TraceMetrics, Traces};

use crate::witness::{Witness, WitnessFunction};

/// Time limit of a test.
const LIMIT: Duration = Duration::from_secs(180);

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

/// A database over which nodes start and stop, and the witness of their runs.
pub(crate) struct CronFixture {
    pub(crate) witness: Witness,
    world: TestWorld,
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
    run_in(TestWorld::over_file(), case);
}

/// Runs a case that locks the file, of which the store reports after half a second.
pub(crate) fn run_impatient(case: impl AsyncFnOnce(CronFixture)) {
    run_in(TestWorld::over_file().impatient(), case);
}

/// Runs a case on the server at a URL.
pub(crate) fn run_on_server(url: &str, case: impl AsyncFnOnce(CronFixture)) {
    run_in(TestWorld::over_server(url), case);
}

fn run_in(world: TestWorld, case: impl AsyncFnOnce(CronFixture)) {
    world.run(LIMIT, async |world| case(CronFixture { witness: Witness::new(), world }).await);
}

impl Deref for CronFixture {
    type Target = TestWorld;

    fn deref(&self) -> &TestWorld {
        &self.world
    }
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
        let tree = build_tree(plan.faults);
        let store = self.store(&tree).await;
        tree.add_group("channels", GroupSpec::new()).await.unwrap();
        let mut recording = trace_settings();
        recording.tracing.mode = plan.tracing;
        let traces = supervise_traces(&tree, &store, false, recording, TraceMetrics::default()).await;
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
            identity_providers: Arc::new(NoProviderAccess),
            connectors: None,
            cluster: None,
            replay: Default::default(),
            quotas: Default::default(),
            consumers: Default::default(),
            traces: Some(traces.clone()),
            compute_gate: ComputeGate::default(),
            rate_groups: RateGroups::default(),
            local_caches: LocalCaches::default(),
            namespaces: Default::default(),
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
        let parts = RegistryParts {
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
        put_channel(&self.store, id, cron_channel(id, transport, config)).await;
    }

    pub(crate) async fn set_status(&self, id: &str, status: LifecycleStatus) {
        set_channel_status(&self.store, id, status).await;
    }

    pub(crate) async fn delete(&self, id: &str) {
        self.store.channels().delete(id, mutation()).await.unwrap();
    }

    async fn workflow(&self, id: &str) {
        if self.store.workflows().latest(id).await.unwrap().is_some() {
            return;
        }
        let act = json!({"id": "act", "name": "act", "function": {"name": "act", "input": {}}});
        put_workflow(&self.store, id, workflow_content(id, vec![act])).await;
        set_workflow_status(&self.store, id, LifecycleStatus::Active, None).await;
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

    /// Returns the value of a metric; 0 before its first sample.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        metric_value(&self.metrics, name)
    }

    /// Ends it as a crash would: nothing is finished.
    pub(crate) async fn crash(self) {
        self.tree.shutdown(Duration::ZERO).await;
    }

    pub(crate) async fn end(self) {
        self.tree.shutdown(seconds(30)).await;
    }
}

/// A channel that is due every second.
pub(crate) fn every_second(action: &str) -> Value {
    json!({"schedule": "* * * * * *", "payload": {"do": action}})
}

/// A channel that is due once in a long while.
pub(crate) fn yearly_schedule(action: &str) -> Value {
    json!({"schedule": "0 0 0 1 1 *", "payload": {"do": action}})
}

fn cron_channel(id: &str, transport_config: Value, config: Value) -> ChannelContent {
    ChannelContent {
        channel_type: ChannelType::Async,
        protocol: Protocol::Cron,
        transport_config,
        config,
        ..channel_content(id, id)
    }
}
