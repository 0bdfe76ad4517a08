//! Channels without a database: rows from JSON, functions that hold, hang and crash.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_supervision::{Address, ChildSpec, GroupSpec, Placement, Tree};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::LocalBoxFuture;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use svc_auth::{KeySet, KeySets, NoProviderAccess};
use svc_channels::call::{self, CallLimits, DirectoryHandle};
use svc_channels::{
    ChannelActor, ChannelMetrics, ChannelResponse, ChannelServices, CompiledChannel, ComputeGate,
    DataRequest, Ingress, LocalCaches, RateGroups, Settings, Submit, TRACE_ID_HEADER, refusal,
};
use svc_engine::catalogue::FunctionEntry;
use svc_engine::{
    CompileCx, CompileSecrets, CompiledTask, CompiledWorkflow, Engine, ErrorCode, Flow, Function, TaskCx,
    TaskError, TaskOutcome,
};
use svc_model::{Channel, ChannelContent, LifecycleStatus, ServiceError, Timestamp, Workflow};
use svc_secrets::{EnvironmentResolver, Keyring};
use svc_testkit::state::eventually;
use svc_testworld::actors::log;
use svc_testworld::definitions::{active_workflow, channel_content};
use svc_testworld::metrics::metrics_text;
use tokio::sync::Semaphore;

use crate::log_lines::LogLines;

/// The environment of the tests.
fn variable(name: &str) -> Option<String> {
    (name == "ORDERS_KEY").then(|| "k-from-env".to_owned())
}

static HOLD: FunctionEntry = FunctionEntry::plugin("hold", "Waits until the test lets it go on");
static HANG: FunctionEntry = FunctionEntry::plugin("hang", "Never ends");
static FAIL: FunctionEntry = FunctionEntry::plugin("fail", "Fails");
static CRASH: FunctionEntry = FunctionEntry::plugin("crash", "Panics");

/// A function made of a closure.
struct Stub<F>(&'static FunctionEntry, Arc<F>);

impl<F> Function for Stub<F>
where
    F: Fn() -> LocalBoxFuture<'static, Result<TaskOutcome, TaskError>> + Send + Sync + 'static,
{
    fn entry(&self) -> &'static FunctionEntry {
        self.0
    }

    fn compile(&self, _: &Value, _: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        Ok(Box::new(Stub(self.0, Arc::clone(&self.1))))
    }
}

impl<F> CompiledTask for Stub<F>
where
    F: Fn() -> LocalBoxFuture<'static, Result<TaskOutcome, TaskError>> + Send + Sync + 'static,
{
    fn run<'a>(&'a self, _: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        (self.1)()
    }
}

/// Lets runs in, and lets them go on one by one.
#[derive(Clone)]
pub(crate) struct HoldTask {
    entered: Arc<AtomicUsize>,
    leave: Arc<Semaphore>,
}

impl HoldTask {
    fn new() -> Self {
        Self { entered: Arc::default(), leave: Arc::new(Semaphore::new(0)) }
    }

    /// Waits until so many runs have come in, in all.
    pub(crate) async fn wait_for_entries(&self, count: usize) {
        let state = format!("{count} runs have come in");
        eventually(&state, async || self.entered.load(Ordering::SeqCst) >= count).await;
    }

    /// Lets one run go on.
    pub(crate) fn release(&self) {
        self.leave.add_permits(1);
    }
}

/// The time a call may take in a test.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// The value of the declared secret `token`.
pub(crate) const SECRET: &str = "s3cret-token";

/// No issuer's keys can be had.
struct NoKeySets;

impl KeySets for NoKeySets {
    fn key_set(&self, _: &str) -> Result<Arc<dyn KeySet>, String> {
        Err("no key sets here".to_owned())
    }
}

/// The services that channels are compiled with in a test.
pub(crate) struct Kit {
    pub(crate) services: ChannelServices,
    pub(crate) hold: HoldTask,
    /// The directory of `channel_call`; bound by the tests that call channels.
    pub(crate) calls: DirectoryHandle,
}

impl Kit {
    /// A kit with the lines that its channels log.
    pub(crate) fn with_log() -> (Self, LogLines) {
        let (mut kit, lines) = (Self::new(Settings::default()), LogLines::default());
        kit.services.log = slog::Logger::root(lines.clone(), slog::o!());
        (kit, lines)
    }

    pub(crate) fn new(settings: Settings) -> Self {
        let hold = HoldTask::new();
        let held = hold.clone();
        let stub = move || -> LocalBoxFuture<'static, Result<TaskOutcome, TaskError>> {
            let hold = held.clone();
            Box::pin(async move {
                hold.entered.fetch_add(1, Ordering::SeqCst);
                hold.leave.acquire().await.unwrap().forget();
                Ok(TaskOutcome::Success)
            })
        };
        let hang = || -> LocalBoxFuture<'static, Result<TaskOutcome, TaskError>> {
            Box::pin(std::future::pending())
        };
        let fail = || -> LocalBoxFuture<'static, Result<TaskOutcome, TaskError>> {
            Box::pin(async { Err(TaskError::new(ErrorCode::Function, "the host db.internal refused")) })
        };
        let crash =
            || -> LocalBoxFuture<'static, Result<TaskOutcome, TaskError>> { panic!("a hostile payload") };
        let calls = DirectoryHandle::default();
        let limits = CallLimits { max_depth: call::MAX_DEPTH, default_timeout: CALL_TIMEOUT };
        let engine = call::register(Engine::builder(), calls.clone(), limits)
            .secrets([("token", json!(SECRET))])
            .function(Arc::new(Stub(&HOLD, Arc::new(stub))))
            .function(Arc::new(Stub(&HANG, Arc::new(hang))))
            .function(Arc::new(Stub(&FAIL, Arc::new(fail))))
            .function(Arc::new(Stub(&CRASH, Arc::new(crash))))
            .build();
        let services = ChannelServices {
            engine: Arc::new(engine),
            settings: Arc::new(settings),
            metrics: ChannelMetrics::default(),
            secrets: Keyring::new(Arc::new(EnvironmentResolver(variable)), BTreeMap::new()),
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
        Self { services, hold, calls }
    }

    /// One version of a workflow.
    pub(crate) fn flow(&self, tasks: &Value) -> Flow {
        Flow::single(self.compile(&workflow(1, tasks)))
    }

    pub(crate) fn compile(&self, workflow: &Workflow) -> CompiledWorkflow {
        let engine = &self.services.engine;
        let material = CompileSecrets {
            references: &EnvironmentResolver(variable),
            declared: &engine.declared_secrets(),
        };
        engine.compile(workflow, material).unwrap()
    }

    pub(crate) fn definition(
        &self,
        row: &Channel,
        flow: Flow,
        previous: Option<&CompiledChannel>,
    ) -> Result<CompiledChannel, String> {
        let services = Arc::new(self.services.clone());
        CompiledChannel::build(row, flow, &services, Some(&EnvironmentResolver(variable)), previous)
    }

    /// A channel with that config over those tasks.
    pub(crate) fn build(&self, config: Value, tasks: &Value) -> Result<CompiledChannel, String> {
        self.definition(&row(config), self.flow(tasks), None)
    }

    /// A running channel with that config over those tasks.
    pub(crate) async fn serve(&self, tree: &Tree, config: Value, tasks: &Value) -> Orders {
        Orders::start(tree, self.build(config, tasks).unwrap()).await
    }

    /// Returns the metrics page.
    pub(crate) fn metrics_text(&self) -> String {
        let mut registry = prometheus_client::registry::Registry::with_prefix("svc");
        self.services.metrics.register(&mut registry);
        metrics_text(&registry)
    }
}

/// The actor of the channel `orders`.
#[derive(Clone)]
pub(crate) struct Orders(pub(crate) Address<ChannelActor>);

impl Orders {
    pub(crate) async fn start(tree: &Tree, definition: CompiledChannel) -> Self {
        tree.add_group("channels", GroupSpec::new()).await.unwrap();
        let factory = ChannelActor::factory(&Arc::new(definition));
        let at = Placement::Here;
        Self(tree.spawn("channels/orders", ChildSpec::new(), at, factory).await.unwrap())
    }

    /// Submits a request. The answer lacks what the cache says of itself, which differs between equal answers.
    pub(crate) async fn submit(&self, request: DataRequest) -> Result<ChannelResponse, ServiceError> {
        let mut answer = self.submit_whole(request).await?;
        answer.headers.retain(|(name, _)| !matches!(name.as_str(), "x-cache" | "age"));
        Ok(answer)
    }

    /// Submits a request and returns the answer with all its headers.
    pub(crate) async fn submit_whole(&self, request: DataRequest) -> Result<ChannelResponse, ServiceError> {
        match self.0.ask(Submit(Box::new(request))).await {
            Ok(answer) => answer,
            Err(error) => Err(refusal::from_call_error("orders", &error)),
        }
    }

    pub(crate) async fn post(&self, body: Value) -> Result<ChannelResponse, ServiceError> {
        self.submit(http(body, &[])).await
    }
}

/// The body of a good answer. Behind its type only a stored trace has a header.
pub(crate) fn body(answer: Result<ChannelResponse, ServiceError>) -> Value {
    let answer = answer.unwrap();
    assert_eq!(answer.status, 200);
    let (first, others) = answer.headers.split_first().unwrap();
    assert_eq!(first, &("content-type".to_owned(), "application/json".to_owned()));
    assert!(others.iter().all(|(name, _)| name == TRACE_ID_HEADER), "{others:?}");
    serde_json::from_slice(&answer.body).unwrap()
}

/// The `auth` block of a channel that takes tokens of [`token`].
pub(crate) fn token_auth() -> Value {
    json!({"mode": "jwt", "algorithms": ["HS256"], "jwt_keys": [{"algorithm": "HS256", "key": TOKEN_KEY}]})
}

const TOKEN_KEY: &str = "a-symmetric-key-of-32-bytes-or-so";

/// A token with these claims and, unless they say otherwise, an hour to live.
pub(crate) fn token(mut claims: Value) -> String {
    let exp = Timestamp::now().naive().and_utc().timestamp() + 3600;
    claims.as_object_mut().unwrap().entry("exp").or_insert(json!(exp));
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&json!({"alg": "HS256"})), part(&claims));
    let mut mac = Hmac::<Sha256>::new_from_slice(TOKEN_KEY.as_bytes()).unwrap();
    mac.update(signed.as_bytes());
    format!("Bearer {signed}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

/// A request over HTTP.
pub(crate) fn http(body: Value, headers: &[(&str, &str)]) -> DataRequest {
    DataRequest {
        ingress: Ingress::Http,
        method: "POST".into(),
        headers: headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        client_ip: Some([192, 0, 2, 1].into()),
        request_id: "req-1".into(),
        ..DataRequest::embedded(body)
    }
}

/// Tasks that leave the message as it is.
pub(crate) fn empty_workflow() -> Value {
    json!([task("log", json!({"message": "nothing"}))])
}

pub(crate) fn task(function: &str, input: Value) -> Value {
    json!({"id": function, "name": function, "function": {"name": function, "input": input}})
}

/// Copies a value of the message into the answer.
pub(crate) fn copy(from: &str, to: &str) -> Value {
    let mut task = task("map", json!({"mappings": [{"path": to, "logic": {"var": from}}]}));
    task["id"] = json!(to);
    task
}

pub(crate) fn workflow(version: i64, tasks: &Value) -> Workflow {
    active_workflow("flow", version, tasks.as_array().unwrap().clone())
}

pub(crate) fn row(config: Value) -> Channel {
    channel_named("orders", config)
}

pub(crate) fn channel_named(name: &str, config: Value) -> Channel {
    let now = Timestamp::now();
    Channel {
        channel_id: name.into(),
        version: 1,
        content: ChannelContent {
            methods: Some(vec!["POST".into()]),
            route_pattern: Some("/orders".into()),
            config,
            ..channel_content(name, "flow")
        },
        status: LifecycleStatus::Active,
        created_at: now,
        updated_at: now,
    }
}
