//! The runtime of plugins, with components written as texts.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use svc_engine::{CompileSecrets, Engine, EngineLimits, Flow, Message, RunFailure, RunOptions, Stubs};
use svc_model::{LifecycleStatus, Timestamp, Workflow, WorkflowContent};
use svc_plugins::{
    ComponentError, ComponentSlot, PluginLimits, PluginManifest, PluginRuntime, component_digest,
    declared_functions, plugin_functions, unusable_functions,
};
use svc_secrets::Readings;
use svc_testkit::plugins::assemble_component;

/// Answers with its input.
const ECHO: &str = "(i32.store8 (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (local.get $input)) (i32.store (i32.const 24) (local.get $input_length))
    (i32.const 16)";
/// Answers with a text that is no JSON.
const NO_JSON: &str = "(i32.store8 (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (i32.const 64)) (i32.store (i32.const 24) (i32.const 7)) (i32.const 16)";
/// Answers with the error NO_RATE of the class `input`.
const REFUSE: &str = "(i32.store8 (i32.const 16) (i32.const 1))
    (i32.store (i32.const 20) (i32.const 64)) (i32.store (i32.const 24) (i32.const 7))
    (i32.store8 (i32.const 28) (i32.const 0))
    (i32.store (i32.const 32) (i32.const 64)) (i32.store (i32.const 36) (i32.const 7)) (i32.const 16)";
const TRAP: &str = "unreachable";
const ENDLESS: &str = "(loop $again (br $again)) (i32.const 16)";
/// Asks for two gibibytes.
const GREEDY: &str = "(drop (memory.grow (i32.const 32768))) (i32.const 16)";
/// Fails if the instance was called before.
const ONCE: &str = "(if (global.get $called) (then unreachable)) (global.set $called (i32.const 1))
    (i32.store8 (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (local.get $input)) (i32.store (i32.const 24) (local.get $input_length))
    (i32.const 16)";

fn component(body: &str) -> Vec<u8> {
    assemble_component(body).unwrap()
}

fn manifest(limits: Value) -> PluginManifest {
    let document = json!({
        "abi": "svc:plugin@1.0.0", "name": "shop", "version": "1.0.0",
        "functions": [{"name": "price", "description": "Prices a basket", "input_fields": [
            {"name": "net", "kind": "number", "required": true},
            {"name": "lines", "kind": "array", "resolvable": true},
            {"name": "text", "kind": "string"},
        ]}],
        "limits": limits,
    });
    PluginManifest::parse(&document, "manifest").unwrap()
}

/// An engine with one plugin, and a workflow that calls it.
struct Shop {
    engine: Engine,
    workflow: Workflow,
}

impl Shop {
    fn new(runtime: &PluginRuntime, body: &str, limits: Value) -> Self {
        let bytes = component(body);
        let slot = ComponentSlot::compiling();
        slot.compile(runtime, &bytes);
        Self::with_slot(runtime, &manifest(limits), &component_digest(&bytes), &slot)
    }

    fn with_slot(
        runtime: &PluginRuntime,
        manifest: &PluginManifest,
        digest: &str,
        slot: &Arc<ComponentSlot>,
    ) -> Self {
        let engine = Engine::builder().build();
        engine.replace_plugins(plugin_functions(runtime, manifest, digest, slot));
        Self { engine, workflow: workflow() }
    }

    fn compile(&self) -> Flow {
        let secrets =
            CompileSecrets { references: &Readings::default(), declared: &self.engine.declared_secrets() };
        Flow::single(self.engine.compile(&self.workflow, secrets).unwrap())
    }

    async fn run(&self) -> Result<Value, RunFailure> {
        let mut message = Message::new(json!({}), Map::new());
        message.data = json!({"net": 7, "lines": [1, 2]});
        let outcome = self.engine.run(&self.compile(), message, RunOptions::default()).await;
        match outcome.failure {
            None => Ok(outcome.message.data["price"].clone()),
            Some(failure) => Err(failure),
        }
    }

    async fn code(&self) -> &'static str {
        self.run().await.unwrap_err().error.code.name()
    }
}

fn workflow() -> Workflow {
    let input = json!({"net": {"+": [{"var": "data.net"}, 1]}, "lines": {"var": "data.lines"}, "output": "data.price"});
    Workflow {
        workflow_id: "pricing".to_owned(),
        version: 1,
        content: WorkflowContent {
            name: "Pricing".to_owned(),
            description: None,
            priority: 0,
            condition: json!(true),
            tasks: vec![
                json!({"id": "price", "name": "Price", "function": {"name": "shop.price", "input": input}}),
            ],
            tags: Vec::new(),
            loop_: None,
            continue_on_error: false,
        },
        status: LifecycleStatus::Active,
        rollout_percentage: 100,
        created_at: Timestamp::now(),
        updated_at: Timestamp::now(),
    }
}

fn runtime() -> PluginRuntime {
    PluginRuntime::start(PluginLimits { max_instances: 8, ..PluginLimits::default() }).unwrap()
}

#[tokio::test]
async fn function_gets_inputs_and_its_result_is_written() {
    let shop = Shop::new(&runtime(), ECHO, json!({}));
    assert_eq!(shop.run().await.unwrap(), json!({"net": 8, "lines": [1, 2]}));
    let entry = shop.engine.catalogue().find("shop.price").unwrap().to_json(false);
    assert_eq!((&entry["source"], &entry["retry_safety"]), (&json!("plugin"), &json!("pure")));
    let digest = component_digest(&component(ECHO));
    assert_eq!(entry["plugin"], json!({"id": "shop", "version": "1.0.0", "digest": digest}));
    assert_eq!(entry["input_fields"][0]["template_at"], json!([""]));
}

#[tokio::test]
async fn every_call_has_instance_of_its_own() {
    let shop = Shop::new(&runtime(), ONCE, json!({}));
    for _ in 0..50 {
        assert!(shop.run().await.is_ok());
    }
}

#[tokio::test]
async fn harmful_code_fails_its_task_alone() {
    let runtime = runtime();
    let healthy = Shop::new(&runtime, ECHO, json!({}));
    let expected = [
        (TRAP, "PLUGIN_TRAP"),
        (GREEDY, "PLUGIN_LIMIT"),
        (ENDLESS, "TIMEOUT_ERROR"),
        (NO_JSON, "PLUGIN_ERROR"),
        (REFUSE, "PLUGIN_ERROR"),
    ];
    for (body, code) in expected {
        let harmful = Shop::new(&runtime, body, json!({"timeout_ms": 1000}));
        assert_eq!(harmful.code().await, code, "{body}");
        assert!(healthy.run().await.is_ok(), "after {code}");
    }
}

#[tokio::test]
async fn time_of_call_does_not_count_for_run() {
    let (runtime, bytes) = (runtime(), component(ENDLESS));
    let slot = ComponentSlot::compiling();
    slot.compile(&runtime, &bytes);
    let limits = EngineLimits { cpu_budget: Duration::from_millis(50), ..EngineLimits::default() };
    let engine = Engine::builder().limits(limits).build();
    let manifest = manifest(json!({"timeout_ms": 150}));
    engine.replace_plugins(plugin_functions(&runtime, &manifest, &component_digest(&bytes), &slot));
    let mut shop = Shop { engine, workflow: workflow() };
    assert!(!shop.run().await.unwrap_err().error.is_deadline, "the task fails, not the run");
    shop.workflow.content.tasks[0]["continue_on_error"] = json!(true);
    assert_eq!(shop.run().await.unwrap(), Value::Null);
}

#[tokio::test]
async fn error_of_guest_has_its_code_and_class() {
    let failure = Shop::new(&runtime(), REFUSE, json!({})).run().await.unwrap_err();
    let expected = json!({"code": "NO_RATE", "class": "input", "message": "NO_RATE"});
    assert_eq!(failure.error.body.as_deref(), Some(&expected));
    assert_eq!(failure.to_service_error(false).status(), 400);
}

#[tokio::test]
async fn inputs_and_results_are_bounded() {
    let runtime = runtime();
    for limits in [json!({"max_request_bytes": 10}), json!({"max_response_bytes": 10})] {
        assert_eq!(Shop::new(&runtime, ECHO, limits).code().await, "PLUGIN_LIMIT");
    }
}

#[tokio::test]
async fn endless_calls_let_others_of_thread_run() {
    let runtime = runtime();
    let endless = Shop::new(&runtime, ENDLESS, json!({"timeout_ms": 5000, "max_concurrent_calls": 4}));
    let healthy = Shop::new(&runtime, ECHO, json!({}));
    let endless = async { tokio::join!(endless.code(), endless.code(), endless.code(), endless.code()) };
    let others = async {
        for _ in 0..20 {
            assert!(healthy.run().await.is_ok());
        }
        "done"
    };
    tokio::pin!(endless);
    // The others end first, though every endless call began before them.
    tokio::select! {
        biased;
        codes = &mut endless => panic!("ended first: {codes:?}"),
        done = others => assert_eq!(done, "done"),
    }
    assert_eq!(endless.await, ("TIMEOUT_ERROR", "TIMEOUT_ERROR", "TIMEOUT_ERROR", "TIMEOUT_ERROR"));
}

#[tokio::test]
async fn call_over_the_concurrent_bound_waits_for_permit() {
    let endless = Shop::new(&runtime(), ENDLESS, json!({"timeout_ms": 60, "max_concurrent_calls": 1}));
    let (first, second) = tokio::join!(endless.code(), endless.code());
    assert_eq!(first, "TIMEOUT_ERROR");
    assert!(["PLUGIN_LIMIT", "TIMEOUT_ERROR"].contains(&second), "{second}");
}

#[tokio::test]
async fn call_fails_with_retry_until_compiled() {
    let (runtime, bytes) = (runtime(), component(ECHO));
    let slot = ComponentSlot::compiling();
    let shop = Shop::with_slot(&runtime, &manifest(json!({})), &component_digest(&bytes), &slot);
    let refusal = shop.run().await.unwrap_err().to_service_error(false);
    assert_eq!((refusal.code().name(), refusal.status()), ("PLUGIN_COMPILING", 503));
    assert!(refusal.retry_after().is_some());
    slot.compile(&runtime, &bytes);
    assert!(shop.run().await.is_ok());
}

#[tokio::test]
async fn panic_of_compiler_makes_component_unusable() {
    let runtime = runtime();
    let slot = ComponentSlot::compiling();
    let shop = Shop::with_slot(&runtime, &manifest(json!({})), "sha256:00", &slot);
    let flow = shop.compile();
    slot.fill_by(|| panic!("on an odd component"));
    let mut message = Message::new(json!({}), Map::new());
    message.data = json!({"net": 7, "lines": [1, 2]});
    let outcome = shop.engine.run(&flow, message, RunOptions::default()).await;
    let error = outcome.failure.unwrap().error;
    assert!(error.code.name() == "PLUGIN_ERROR" && error.message.contains("panicked"), "{}", error.message);
}

#[tokio::test]
async fn unusable_plugin_refuses_its_workflows_alone() {
    let engine = Engine::builder().build();
    engine.replace_plugins(unusable_functions(&manifest(json!({})), "sha256:00", "it is not signed"));
    let secrets = CompileSecrets { references: &Readings::default(), declared: &engine.declared_secrets() };
    let error = engine.compile(&workflow(), secrets).unwrap_err().to_string();
    assert!(error.contains("it is not signed"), "{error}");
}

#[tokio::test]
async fn stub_answers_in_place_of_component() {
    let engine = Engine::builder().build();
    engine.replace_plugins(declared_functions(&manifest(json!({}))));
    let secrets = CompileSecrets { references: &Readings::default(), declared: &engine.declared_secrets() };
    let flow = Flow::single(engine.compile_stubbed(&workflow(), secrets).unwrap());
    let run = async |stubs: Value| {
        let stubs = Stubs::parse(engine.catalogue(), &stubs, "stubs").unwrap();
        let mut message = Message::new(json!({}), Map::new());
        message.data = json!({"net": 7, "lines": [1, 2]});
        engine.run(&flow, message, RunOptions { stubs, ..RunOptions::default() }).await
    };
    let outcome = run(json!({"shop.price": {"*": 9}})).await;
    assert_eq!((&outcome.message.data["price"], outcome.calls.len()), (&json!(9), 1));
    assert_eq!(outcome.calls[0].input, json!({"net": 8, "lines": [1, 2]}));
    let outcome = run(json!({})).await;
    assert_eq!(outcome.failure.unwrap().error.code.name(), "PLUGIN_ERROR", "the component is not here");
    assert_eq!(outcome.calls, []);
}

#[test]
fn component_outside_the_world_is_refused_with_reason() {
    let limits = PluginLimits { max_instances: 8, max_component_bytes: 10_000, ..PluginLimits::default() };
    let runtime = PluginRuntime::start(limits).unwrap();
    let refusal = |bytes: &[u8]| runtime.compile(bytes).err().unwrap();
    let text = |text: &str| wat::parse_str(text).unwrap();
    assert!(matches!(refusal(b"no wasm"), ComponentError::Malformed(_)));
    assert!(matches!(refusal(&text("(module)")), ComponentError::Malformed(_)));
    assert!(matches!(refusal(&text("(component)")), ComponentError::Missing(_)));
    let import = refusal(&text(r#"(component (import "wasi:cli/exit@0.2.0" (instance)))"#));
    assert_eq!(import, ComponentError::Imports("wasi:cli/exit@0.2.0".to_owned()));
    assert!(matches!(refusal(&[0; 10_001]), ComponentError::TooLarge(10_001, 10_000)));
    let other = component(ECHO);
    assert_eq!(runtime.compile(&other).unwrap().digest(), component_digest(&other));
}

#[tokio::test]
async fn bounds_of_manifest_only_lower() {
    let service = PluginLimits::default();
    let lowered = service.lowered(&manifest(json!({"memory_mib": 100, "timeout_ms": 40})).limits);
    assert_eq!((lowered.memory_bytes, lowered.timeout), (service.memory_bytes, Duration::from_millis(40)));
}
