//! Connectors over an SQLite file, and an engine that calls them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use actix_supervision::Tree;
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use serde_json::{Map, Value, json};
use svc_connectors::{
    BreakerSettings, CallSettings, ConnectorMetrics, ConnectorProbe, ConnectorScope, Connectors,
    KafkaCluster, MemoryCacheSettings, QuerySettings, Settings, WriteSettings,
};
use svc_credentials::tokens::{TokenMetrics, Tokens};
use svc_engine::{CompileSecrets, Engine, Flow, Message, RunOptions, RunOutcome, TaskError};
use svc_model::WorkflowChecks as _;
use svc_model::{ConnectorContent, Workflow};
use svc_outbound::{Outbound, Trust};
use svc_secrets::{EnvironmentResolver, Keyring, PendingReadings, Readings, Reference, SecretSource};
use svc_store::{Mutation, Store};
use svc_testkit::state::eventually;
use svc_testkit::upstream::Upstream;
use svc_testworld::TestWorld;
use svc_testworld::actors::{build_tree, log};
use svc_testworld::definitions::{self, active_workflow, connector_content};
use svc_testworld::metrics::metric_sum;
use tokio::sync::oneshot;

/// Time limit of a test.
const LIMIT: Duration = Duration::from_secs(180);

/// The value of the secret `partner`.
pub(crate) const DECLARED: &str = "swordfish-declared";

type Variables = Arc<Mutex<BTreeMap<String, String>>>;

/// A latch that holds the next reading of secrets.
type Hold = Arc<Mutex<Option<oneshot::Receiver<()>>>>;

struct Held<F> {
    of: EnvironmentResolver<F>,
    next: Hold,
}

impl<F: Fn(&str) -> Option<String> + Send + Sync> SecretSource for Held<F> {
    fn read(&self, wanted: BTreeSet<Reference>) -> PendingReadings {
        let (read, held) = (self.of.read(wanted), self.next.lock().take());
        Box::pin(async move {
            if let Some(held) = held {
                held.await.unwrap();
            }
            read.await
        })
    }
}

/// The connectors of a test, and the engine that calls them.
pub(crate) struct ConnectorWorld {
    pub(crate) tree: Tree,
    pub(crate) connectors: Connectors,
    pub(crate) variables: Variables,
    hold: Hold,
    store: Store,
    pub(crate) engine: Engine,
    metrics: Registry,
}

/// Runs a test in a world of its own, without breakers.
pub(crate) fn run(test: impl AsyncFnOnce(&ConnectorWorld)) {
    run_with(None, test);
}

pub(crate) fn run_with(breakers: Option<BreakerSettings>, test: impl AsyncFnOnce(&ConnectorWorld)) {
    run_in(Setup { breakers, ..Setup::default() }, test);
}

/// As [`run`], trusting an authority, as PEM.
pub(crate) fn run_trusting(authority: &str, test: impl AsyncFnOnce(&ConnectorWorld)) {
    run_in(Setup { authority: authority.to_owned(), ..Setup::default() }, test);
}

/// The settings of a test's connectors.
#[derive(Default)]
pub(crate) struct Setup {
    pub(crate) breakers: Option<BreakerSettings>,
    pub(crate) kafka: Option<KafkaCluster>,
    /// The trust anchors of TLS connections, as PEM.
    pub(crate) authority: String,
    /// Entries of each cache in memory; 1000 by default.
    pub(crate) memory_entries: Option<usize>,
    /// For a test that takes longer than others.
    pub(crate) patience: Option<Duration>,
}

/// Runs a test in a world of its own.
pub(crate) fn run_in(setup: Setup, test: impl AsyncFnOnce(&ConnectorWorld)) {
    let mut world = TestWorld::over_file();
    world.config.backup_dir = Some(world.directory().join("backups"));
    world.run(setup.patience.unwrap_or(LIMIT), async |world| {
        let tree = build_tree(Vec::new());
        let store = world.store(&tree).await;
        let variables = Variables::default();
        let looked_up = Arc::clone(&variables);
        let hold = Hold::default();
        let lookup = move |name: &str| looked_up.lock().get(name).cloned();
        let outbound = Outbound::new(&Trust::Only(setup.authority)).unwrap();
        let at = world.thread();
        let obtaining = svc_credentials::tokens::Settings {
            store: store.clone(),
            needs: "store".to_owned(),
            outbound: outbound.clone(),
            holder: "test".to_owned(),
            errors: Arc::new(|_| {}),
        };
        let obtained = TokenMetrics::default();
        let tokens = Tokens::supervise(&tree, "tokens", at.clone(), obtaining, obtained.clone(), log());
        let settings = Settings {
            store: store.clone(),
            needs: "store".to_owned(),
            secrets: Keyring::new(
                Arc::new(Held { of: EnvironmentResolver(lookup.clone()), next: Arc::clone(&hold) }),
                BTreeMap::new(),
            ),
            environment: Arc::new(lookup),
            vars: serde_json::Map::new(),
            outbound,
            tokens: tokens.await.unwrap(),
            breakers: setup.breakers,
            max_pools: 100,
            memory_cache: MemoryCacheSettings {
                max_entries: setup.memory_entries.unwrap_or(1000),
                cleanup_interval: Duration::from_secs(60),
            },
            kafka: setup.kafka,
        };
        let (metrics, mut registry) = (ConnectorMetrics::default(), Registry::default());
        metrics.register(&mut registry);
        obtained.register(&mut registry);
        let connectors =
            Connectors::supervise(&tree, "connectors", at, settings, metrics, log()).await.unwrap();
        let calls = CallSettings {
            http_timeout: Duration::from_secs(10),
            query: QuerySettings {
                default_limit: 100,
                max_limit: 1000,
                max_skip: 10_000,
                max_result_bytes: 64 << 20,
            },
            write: WriteSettings { max_rows: 1000, allow_unfiltered: false },
        };
        let declared = Engine::builder().secrets([("partner", json!(DECLARED))]);
        let engine = svc_connectors::register(declared, connectors.directory(), calls).build();
        let connected = ConnectorWorld {
            tree: tree.clone(),
            connectors,
            variables,
            hold,
            store,
            engine,
            metrics: registry,
        };
        test(&connected).await;
        tree.shutdown(Duration::from_secs(5)).await;
    });
}

/// A change that other nodes must load.
fn mutation() -> Mutation {
    Mutation { epoch: true, ..definitions::mutation() }
}

impl ConnectorWorld {
    /// The database of the service.
    pub(crate) fn own_database(&self) -> std::path::PathBuf {
        self.store.file().unwrap().to_owned()
    }

    /// Copies the database of the service to a file.
    pub(crate) async fn back_up(&self, to: std::path::PathBuf) {
        self.store.back_up(to).await.unwrap();
    }

    /// The directory of backups of the service.
    pub(crate) fn backup_dir(&self) -> std::path::PathBuf {
        self.store.backup_dir().unwrap().to_owned()
    }

    /// Lets the next reading of secrets say what it has read when the answer is used, and not before.
    pub(crate) fn hold_reading(&self) -> oneshot::Sender<()> {
        let (release, held) = oneshot::channel();
        *self.hold.lock() = Some(held);
        release
    }

    /// Waits until a reading is held.
    pub(crate) async fn reading_is_held(&self) {
        eventually("a reading of secrets is held", async || self.hold.lock().is_none()).await;
    }

    /// Stores an http connector as `c`, or changes it, and loads it.
    pub(crate) async fn connect(&self, config: Value) {
        self.put("c", "http", true, config).await;
    }

    pub(crate) async fn put(&self, name: &str, kind: &str, enabled: bool, config: Value) {
        self.write(name, kind, enabled, config).await;
        self.connectors.reload(ConnectorScope::One(name.to_owned())).await.unwrap();
    }

    /// Stores a connector, or changes it, as another node would.
    pub(crate) async fn write(&self, name: &str, kind: &str, enabled: bool, config: Value) {
        let content = ConnectorContent { enabled, ..connector_content(name, kind, config) };
        let connectors = self.store.connectors();
        if connectors.get(name).await.unwrap().is_some() {
            let merge = Box::new(move |_: &ConnectorContent| Ok(content));
            connectors.update(name, merge, Arc::new(()), mutation()).await.unwrap();
        } else {
            connectors.create(Some(name.into()), content, mutation()).await.unwrap();
        }
    }

    pub(crate) async fn rename(&self, id: &str, name: &'static str) {
        let merge = Box::new(move |stored: &ConnectorContent| {
            Ok(ConnectorContent { name: name.into(), ..stored.clone() })
        });
        let connectors = self.store.connectors();
        connectors.update(id, merge, Arc::new(()), mutation()).await.unwrap();
        self.connectors.reload(ConnectorScope::One(id.to_owned())).await.unwrap();
    }

    pub(crate) async fn remove(&self, id: &str) {
        self.store.connectors().delete(id, mutation()).await.unwrap();
        self.connectors.reload(ConnectorScope::All).await.unwrap();
    }

    /// Runs one `http_call` of the connector `c` over a payload.
    pub(crate) async fn run(&self, input: Value, payload: Value) -> RunOutcome {
        self.task("http_call", input, payload).await
    }

    /// Runs one task of a function, by default with the connector `c`, over a payload.
    pub(crate) async fn task(&self, function: &str, input: Value, payload: Value) -> RunOutcome {
        self.task_within(None, function, input, payload).await
    }

    /// Does the same with a deadline.
    pub(crate) async fn task_within(
        &self,
        deadline: Option<Duration>,
        function: &str,
        input: Value,
        payload: Value,
    ) -> RunOutcome {
        // What stands in the metadata chooses neither breaker nor label.
        let metadata = Map::from_iter([("channel".to_owned(), json!("forged"))]);
        self.task_with_metadata(deadline, metadata, workflow(function, input), payload).await
    }

    /// Runs one `http_call` of the connector `c` in a run with this key.
    pub(crate) async fn run_keyed(&self, key: &str, input: Value) -> RunOutcome {
        let metadata = Map::from_iter([("run".to_owned(), json!({"key": key}))]);
        self.task_with_metadata(None, metadata, workflow("http_call", input), Value::Null).await
    }

    async fn task_with_metadata(
        &self,
        deadline: Option<Duration>,
        metadata: Map<String, Value>,
        workflow: Workflow,
        payload: Value,
    ) -> RunOutcome {
        let material =
            CompileSecrets { references: &Readings::default(), declared: &self.engine.declared_secrets() };
        let flow = Flow::single(self.engine.compile(&workflow, material).unwrap());
        let options = RunOptions { chain: [Arc::from("ch")].into(), deadline, ..RunOptions::default() };
        self.engine.run(&flow, Message::new(payload, metadata), options).await
    }

    /// Returns the reason why a task is refused before it could run.
    pub(crate) fn refusal(&self, function: &str, input: Value) -> Option<String> {
        let material =
            CompileSecrets { references: &Readings::default(), declared: &self.engine.declared_secrets() };
        let refused = self.engine.compile(&workflow(function, input), material).err()?;
        Some(format!("{refused}"))
    }

    /// Returns the problems of a task: the place inside its input, and the code.
    pub(crate) fn problems(&self, function: &str, input: Value) -> Vec<String> {
        let (mut errors, mut warnings) = (Vec::new(), Vec::new());
        self.engine.check(&workflow(function, input).content, &mut errors, &mut warnings);
        let problems = errors.iter().map(|error| {
            let place = error.path.strip_prefix("tasks[0].function.input.").unwrap_or(&error.path);
            format!("{place} {}", error.code.name())
        });
        problems.collect()
    }

    /// Returns the value that a call writes to `data.api`.
    pub(crate) async fn call(&self, input: Value) -> Value {
        let mut input = input;
        input["output"] = "data.api".into();
        let mut outcome = self.run(input, Value::Null).await;
        assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
        outcome.message.data["api"].take()
    }

    /// The error a call fails with.
    pub(crate) async fn fail(&self, input: Value) -> TaskError {
        let outcome = self.run(input, Value::Null).await;
        outcome.failure.unwrap_or_else(|| panic!("it did not fail: {:?}", outcome.errors)).error
    }

    /// Returns `data` after one task that must succeed.
    pub(crate) async fn run_task(&self, function: &str, input: Value, payload: Value) -> Value {
        let outcome = self.task(function, input, payload).await;
        assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
        outcome.message.data
    }

    /// Runs one task that must fail, and returns its error.
    pub(crate) async fn task_error(&self, function: &str, input: Value, payload: Value) -> TaskError {
        let outcome = self.task(function, input, payload).await;
        outcome.failure.unwrap_or_else(|| panic!("it did not fail: {:?}", outcome.errors)).error
    }

    /// Returns the result of probing a connector.
    pub(crate) async fn probe(&self, id: &str) -> ConnectorProbe {
        let row = self.store.connectors().list_stored(Some(id)).await.unwrap().remove(0);
        self.connectors.probe(row).await.unwrap()
    }

    /// The sum of the samples of a metric whose line holds these parts.
    pub(crate) fn count(&self, parts: &[&str]) -> f64 {
        metric_sum(&self.metrics, parts)
    }

    /// Paths of the connectors' actors.
    pub(crate) fn actors(&self) -> Vec<String> {
        let nodes = self.tree.snapshot().nodes;
        let paths = nodes.iter().map(|node| node.path.as_str().to_owned());
        paths.filter(|path| path.starts_with("connectors/") && path != "connectors/reconciler").collect()
    }

    /// Waits until these are the actors.
    pub(crate) async fn become_actors(&self, due: &[&str]) {
        let mut events = self.tree.subscribe();
        while self.actors() != due {
            let _ = events.recv().await;
        }
    }
}

/// A workflow of one task, by default with the connector `c`.
fn workflow(function: &str, mut input: Value) -> Workflow {
    input.as_object_mut().unwrap().entry("connector").or_insert(json!("c"));
    let task = json!({"id": "t", "name": "T", "function": {"name": function, "input": input}});
    active_workflow("w", 1, vec![task])
}

/// The config of a connector at a loopback server that waits little before it tries again.
pub(crate) fn connector_to(upstream: &Upstream, more: Value) -> Value {
    let mut config =
        json!({"url": upstream.url(""), "allow_private_urls": true, "retry": {"retry_delay_ms": 1}});
    if let (Some(config), Value::Object(more)) = (config.as_object_mut(), more) {
        config.extend(more);
    }
    config
}

/// Waits until a server was asked so often.
pub(crate) async fn wait_for_requests(upstream: &Arc<Upstream>, times: usize) {
    let upstream = Arc::clone(upstream);
    tokio::task::spawn_blocking(move || upstream.wait_for(times)).await.unwrap();
}
