//! A registry over an SQLite file, with one worker: the thread of the test.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{
    Backoff, ChildSpec, ExhaustedAction, GroupSpec, Placement, PlannedFault, RestartPolicy, Tree,
};
use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};
use svc_auth::{KeySet, KeySets, NoProviderAccess};
use svc_channels::call::{self, CallLimits, DirectoryHandle};
use svc_channels::{
    ChannelMetrics, ChannelResponse, ChannelServices, ComputeGate, DataRequest, Ingress, LocalCaches,
    RateGroups, Settings,
};
use svc_engine::catalogue::FunctionEntry;
use svc_engine::{CompileCx, CompiledTask, Engine, Function, TaskCx, TaskError, TaskOutcome};
use svc_model::{ChannelContent, LifecycleStatus, ServiceError};
use svc_registry::{ChannelFilter, ChannelPolicy, Registry, RegistryMetrics, RegistryParts, WorkerId};
use svc_secrets::{EnvironmentResolver, Keyring};
use svc_store::Store;
use svc_testworld::TestWorld;
use svc_testworld::actors::{build_tree, log};
use svc_testworld::definitions::{
    channel_content, put_channel, put_workflow, set_channel_status, set_workflow_status, workflow_content,
};

/// Time limit of a test.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The fixture of a test: a tree, a store and metrics.
pub(crate) struct RegistryWorld {
    pub(crate) tree: Tree,
    pub(crate) store: Store,
    pub(crate) metrics: ChannelMetrics,
    world: TestWorld,
}

static CRASH: FunctionEntry = FunctionEntry::plugin("crash", "Panics");

/// A function that panics.
struct Crash;

impl Function for Crash {
    fn entry(&self) -> &'static FunctionEntry {
        &CRASH
    }

    fn compile(&self, _: &Value, _: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        Ok(Box::new(Self))
    }
}

impl CompiledTask for Crash {
    fn run<'a>(&'a self, _: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        panic!("a defect")
    }
}

/// No issuer's keys can be had.
struct NoKeySets;

impl KeySets for NoKeySets {
    fn key_set(&self, _: &str) -> Result<Arc<dyn KeySet>, String> {
        Err("no key sets here".to_owned())
    }
}

/// A registry that loaded, with its worker.
#[derive(Clone)]
pub(crate) struct RunningRegistry {
    pub(crate) registry: Registry,
    pub(crate) worker: WorkerId,
}

/// Runs a test in a world of its own.
pub(crate) fn run<T>(faults: Vec<PlannedFault>, test: impl AsyncFnOnce(&mut RegistryWorld) -> T) -> T {
    TestWorld::over_file().run(TEST_TIMEOUT, async |world| {
        let tree = build_tree(faults);
        let store = world.store(&tree).await;
        tree.add_group("channels", GroupSpec::new()).await.unwrap();
        let mut world =
            RegistryWorld { tree: tree.clone(), store, metrics: ChannelMetrics::default(), world };
        let outcome = test(&mut world).await;
        tree.shutdown(Duration::from_secs(5)).await;
        outcome
    })
}

impl RegistryWorld {
    pub(crate) async fn start(&self) -> RunningRegistry {
        self.start_with(ChannelFilter::default()).await
    }

    pub(crate) async fn start_with(&self, filter: ChannelFilter) -> RunningRegistry {
        let calls = DirectoryHandle::default();
        let limits = CallLimits { max_depth: 10, default_timeout: TEST_TIMEOUT };
        let engine = call::register(Engine::builder(), calls.clone(), limits).function(Arc::new(Crash));
        let services = ChannelServices {
            engine: Arc::new(engine.build()),
            settings: Arc::new(Settings::default()),
            metrics: self.metrics.clone(),
            secrets: Keyring::new(Arc::new(EnvironmentResolver(|_: &str| None)), BTreeMap::new()),
            key_sets: Arc::new(NoKeySets),
            identity_providers: Arc::new(NoProviderAccess),
            connectors: None,
            cluster: None,
            replay: Default::default(),
            quotas: Default::default(),
            consumers: Default::default(),
            traces: None,
            compute_gate: ComputeGate::default(),
            rate_groups: RateGroups::default(),
            local_caches: LocalCaches::default(),
            namespaces: Default::default(),
            memory_entries: 1000,
            spans: Default::default(),
            log: log(),
        };
        let budget = RestartPolicy {
            max_restarts: 2,
            within: Duration::from_secs(60),
            backoff: Backoff { first: Duration::from_millis(1), max: Duration::from_millis(1), jitter: 0.0 },
            exhausted: ExhaustedAction::Quarantine,
        };
        let parts = RegistryParts {
            store: self.store.clone(),
            services,
            calls,
            filter,
            channels: ChannelPolicy { budget, needs: vec!["store".to_owned()], ..ChannelPolicy::default() },
            metrics: RegistryMetrics::default(),
            log: log(),
        };
        let spec = ChildSpec::new().essential();
        let registry =
            Registry::supervise(&self.tree, "registry", spec, Placement::Here, parts).await.unwrap();
        self.tree.wait_until_running("registry").await.unwrap();
        let worker = registry.add_worker(Placement::Here).await.unwrap();
        RunningRegistry { registry, worker }
    }

    /// Takes the database away for good.
    pub(crate) fn lose_database(&mut self) {
        self.world.lose_database();
    }

    /// Stores a workflow that answers `{"from": mark}` and activates it.
    pub(crate) async fn workflow(&self, id: &str, mark: &str) {
        self.workflow_of(id, json!([answer("mark", mark)])).await;
    }

    pub(crate) async fn workflow_of(&self, id: &str, tasks: Value) {
        let tasks = tasks.as_array().unwrap().clone();
        put_workflow(&self.store, id, workflow_content(id, tasks)).await;
        self.activate_workflow(id, None).await;
    }

    pub(crate) async fn activate_workflow(&self, id: &str, rollout: Option<i64>) {
        set_workflow_status(&self.store, id, LifecycleStatus::Active, rollout).await;
    }

    /// Stores a channel, or its next version, and activates it.
    pub(crate) async fn channel(&self, content: ChannelContent) {
        let id = content.name.clone();
        put_channel(&self.store, &id, content).await;
    }

    pub(crate) async fn archive_channel(&self, id: &str) {
        set_channel_status(&self.store, id, LifecycleStatus::Archived).await;
    }

    pub(crate) async fn archive_workflow(&self, id: &str) {
        set_workflow_status(&self.store, id, LifecycleStatus::Archived, None).await;
    }
}

impl RunningRegistry {
    /// Posts to a data path; answers the data document.
    pub(crate) async fn post(&self, path: &str) -> Result<Value, ServiceError> {
        let resolution = self.registry.snapshot().resolve(path, "POST")?;
        let mut request = DataRequest::embedded(json!({}));
        request.ingress = Ingress::Http;
        request.params = resolution.params.clone();
        let answer = self.registry.submit(Some(self.worker), &resolution, Box::new(request)).await?;
        Ok(data(&answer))
    }

    /// Returns the value that the workflow behind a path wrote to `from`.
    pub(crate) async fn mark(&self, path: &str) -> String {
        self.post(path).await.unwrap()["from"].as_str().unwrap().to_owned()
    }

    pub(crate) fn is_quarantined(&self, channel: &str) -> bool {
        self.reason(channel).is_some()
    }

    pub(crate) fn reason(&self, channel: &str) -> Option<String> {
        let snapshot = self.registry.snapshot();
        Some(snapshot.channel_by_name(channel)?.quarantine()?.reason.to_string())
    }
}

pub(crate) fn data(answer: &ChannelResponse) -> Value {
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    body["data"].clone()
}

/// A task that writes `mark` to `data.from`.
pub(crate) fn answer(id: &str, mark: &str) -> Value {
    let mappings = json!([{"path": "data.from", "logic": mark}, {"path": "data.params", "logic": {"var": "metadata.params"}}]);
    json!({"id": id, "name": id, "function": {"name": "map", "input": {"mappings": mappings}}})
}

/// A channel over the workflow `w`, its id its name.
pub(crate) fn channel(name: &str, methods: &[&str], route: &str) -> ChannelContent {
    ChannelContent {
        methods: Some(methods.iter().map(|method| (*method).into()).collect()),
        route_pattern: Some(route.into()),
        ..channel_content(name, "w")
    }
}
