//! A run ends when its processor time is used up, in the middle of an expression too; waiting takes none.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use svc_engine::catalogue::FunctionEntry;
use svc_engine::{
    CompileCx, CompiledTask, Engine, EngineLimits, FailureKind, Flow, Function, RunOptions, RunOutcome,
    TaskCx, TaskError, TaskOutcome,
};
use svc_model::{Cancellation, InFlightCall, RunEnd};
use uuid::Uuid;

use crate::suppliers::set;
use crate::support::{block_on, compile, message};

fn engine(cpu_budget: Duration) -> Engine {
    Engine::builder()
        .limits(EngineLimits { cpu_budget, ..EngineLimits::default() })
        .function(Arc::new(Wait))
        .build()
}

/// Waits for as long as its path says, in seconds.
struct Wait;
struct Waits(u64);

impl Function for Wait {
    fn entry(&self) -> &'static FunctionEntry {
        static ENTRY: FunctionEntry = FunctionEntry::plugin("wait", "Waits for some seconds");
        &ENTRY
    }

    fn compile(&self, input: &Value, _: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        Ok(Box::new(Waits(input["path"].as_str().and_then(|text| text.parse().ok()).unwrap_or_default())))
    }
}

impl CompiledTask for Waits {
    fn run<'a>(&'a self, _: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async {
            let answer = std::future::pending::<()>();
            let waited = tokio::time::timeout(Duration::from_secs(self.0), answer).await;
            assert!(waited.is_err(), "nobody answers");
            Ok(TaskOutcome::Success)
        })
    }
}

fn run(engine: &Engine, document: &Value, payload: Value, deadline: Option<Duration>) -> RunOutcome {
    let flow = Flow::single(compile(engine, document).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(engine.run(&flow, message(payload), RunOptions { deadline, ..RunOptions::default() }))
}

/// An expression that would take hours: every element with every other, twice.
fn endless() -> Value {
    let all = json!({"val": [[2], "payload"]});
    let inner = json!({"some": [all, {"===": [{"var": ""}, -1]}]});
    json!({"all": [{"var": "payload"}, {"none": [{"val": [[1], "payload"]}, inner]}]})
}

fn numbers() -> Value {
    (0..50_000).collect()
}

fn map(logic: &Value) -> Value {
    json!({"id": Uuid::new_v4().to_string(), "function": {"name": "map", "input": {"mappings": [{"path": "data.x", "logic": logic}]}}})
}

fn places() -> [Value; 4] {
    let tolerated = {
        let mut task = map(&endless());
        task["continue_on_error"] = json!(true);
        task
    };
    [
        json!({"tasks": [map(&endless())]}),
        json!({"continue_on_error": true, "tasks": [tolerated, map(&json!(1))]}),
        json!({"condition": endless(), "tasks": [map(&json!(1))]}),
        json!({"tasks": [map(&json!({"try": [endless(), 1]})), map(&json!(2))]}),
    ]
}

#[test]
fn expression_beyond_processor_time_times_out() {
    let engine = engine(Duration::from_millis(30));
    for document in places() {
        let outcome = run(&engine, &document, numbers(), None);
        let failure = outcome.failure.unwrap();
        assert_eq!(failure.kind, FailureKind::Timeout, "{document}");
        let text = &failure.error.message;
        assert!(text.contains("engine.cpu_budget_ms (30)"), "{document}: {text}");
    }
}

#[test]
fn expression_ends_at_the_deadline_of_its_run() {
    let engine = engine(Duration::from_secs(3600));
    for document in places() {
        let outcome = run(&engine, &document, numbers(), Some(Duration::from_millis(30)));
        let failure = outcome.failure.unwrap();
        assert_eq!(failure.kind, FailureKind::Timeout, "{document}");
        assert!(failure.error.message.contains("deadline"), "{document}: {}", failure.error.message);
    }
}

#[test]
fn expression_ends_at_the_time_of_its_task() {
    let engine = engine(Duration::from_secs(3600));
    for logic in [endless(), json!({"try": [endless(), 1]})] {
        let mut task = map(&logic);
        task["timeout_ms"] = json!(30);
        task["continue_on_error"] = json!(true);
        let document = json!({"tasks": [task, map(&json!(2))]});
        let outcome = run(&engine, &document, numbers(), Some(Duration::from_secs(600)));
        assert!(outcome.failure.is_none(), "the run has time left: {:?}", outcome.failure);
        let errors: Vec<_> =
            outcome.errors.iter().map(|error| (error.code.name(), error.message.as_str())).collect();
        assert_eq!(errors, [("TIMEOUT_ERROR", "the task did not end within its timeout_ms (30)")], "{logic}");
        assert_eq!(outcome.message.data, json!({"x": 2}));
    }
}

#[test]
fn expression_ends_at_the_time_of_its_group() {
    let engine = engine(Duration::from_secs(3600));
    for logic in [endless(), json!({"try": [endless(), 1]})] {
        let mut tolerant = map(&logic);
        tolerant["continue_on_error"] = json!(true);
        let guarded = json!({"id": "slow", "condition": logic, "function": map(&json!(1))["function"]});
        let rules = json!({"rules": [{"logic": logic, "message": "wrong"}]});
        let rule = json!({"id": "slow", "function": {"name": "validation", "input": rules}});
        let filter = json!({"name": "filter", "input": {"condition": logic}});
        let filter = json!({"id": "slow", "function": filter});
        let mut each = map(&logic);
        each["for_each"] = json!({"over": [1, 2], "into": "data.list", "collect": "data.x",
            "max_concurrency": 2, "continue_on_error": true});
        let list = json!({"over": logic, "into": "data.list", "collect": "data.x"});
        let list = json!({"id": "slow", "for_each": list, "function": map(&json!(1))["function"]});
        let both =
            json!({"id": "both", "parallel": true, "tasks": [map(&logic), set("y", "data.y", json!(1))]});
        let inner = json!({"id": "inner", "timeout_ms": 60_000, "tasks": [map(&logic)]});
        for member in [map(&logic), tolerant, guarded, rule, filter, each, list, both, inner] {
            let group = json!({"id": "group", "timeout_ms": 20, "tasks": [member],
                "on_error": [set("note", "data.failed", json!({"var": "temp_data.error.task_id"}))],
                "finally": [set("close", "data.closed", json!(true))]});
            let document = json!({"tasks": [group, set("after", "data.after", json!(1))]});
            let outcome = run(&engine, &document, numbers(), Some(Duration::from_secs(600)));
            assert!(outcome.failure.is_none(), "the run has time left: {document}: {:?}", outcome.failure);
            let errors: Vec<_> =
                outcome.errors.iter().map(|error| (error.code.name(), error.message.as_str())).collect();
            assert_eq!(
                errors,
                [("TIMEOUT_ERROR", "the group did not end within its timeout_ms (20)")],
                "{document}"
            );
            let data = &outcome.message.data;
            assert_eq!(
                (&data["failed"], &data["closed"], &data["after"]),
                (&json!("group"), &json!(true), &json!(1))
            );
        }
    }
}

#[test]
fn expression_ends_at_time_of_outer_group() {
    let engine = engine(Duration::from_secs(3600));
    let inner = json!({"id": "inner", "timeout_ms": 100, "tasks": [map(&endless())],
        "on_error": [map(&endless())], "finally": [set("close", "data.closed", json!(true))]});
    let outer = json!({"id": "outer", "timeout_ms": 300, "tasks": [inner]});
    let outcome = run(&engine, &json!({"tasks": [outer]}), numbers(), Some(Duration::from_secs(600)));
    let failure = outcome.failure.unwrap();
    assert_eq!((failure.kind, failure.error.task_id.as_deref()), (FailureKind::Engine, Some("outer")));
    assert_eq!(outcome.message.data, json!({"closed": true}));
}

/// A cancellation that is requested after some looks.
#[derive(Debug)]
struct AfterLooks(AtomicUsize, Mutex<Vec<InFlightCall>>);

impl Cancellation for AfterLooks {
    fn is_requested(&self) -> bool {
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_err()
    }

    fn record_in_flight(&self, call: InFlightCall) {
        self.1.lock().push(call);
    }
}

fn after_looks(looks: usize) -> Arc<AfterLooks> {
    Arc::new(AfterLooks(AtomicUsize::new(looks), Mutex::default()))
}

fn cancellable(cancellation: &Arc<AfterLooks>) -> RunOptions {
    let cancellation: Arc<dyn Cancellation> = Arc::<AfterLooks>::clone(cancellation);
    RunOptions { cancellation: Some(cancellation), ..RunOptions::default() }
}

#[test]
fn cancelled_expression_ends_in_its_middle() {
    let engine = engine(Duration::from_secs(3600));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for document in places() {
        let flow = Flow::single(compile(&engine, &document).unwrap());
        let cancellation = after_looks(3);
        let run = engine.run(&flow, message(numbers()), cancellable(&cancellation));
        let outcome = runtime.block_on(run);
        assert_eq!(outcome.end(), RunEnd::Cancelled, "{document}");
        let text = outcome.failure.unwrap().error.message;
        assert!(text.contains("cancelled"), "{document}: {text}");
        assert!(cancellation.1.lock().is_empty());
    }
}

#[test]
fn dropped_call_of_cancelled_run_is_named() {
    let engine = engine(Duration::from_secs(3600));
    let task = json!({"id": "w", "function": {"name": "wait", "input": {"path": "600"}}});
    let flow = Flow::single(compile(&engine, &json!({"tasks": [map(&json!(1)), task]})).unwrap());
    for (looks, expected) in [(0, vec!["w"]), (usize::MAX, vec![])] {
        let cancellation = after_looks(usize::MAX);
        let mut run = Box::pin(engine.run(&flow, message(json!({})), cancellable(&cancellation)));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let first = runtime.block_on(async { futures_util::poll!(run.as_mut()) });
        assert!(first.is_pending(), "it waits for its answer");
        cancellation.0.store(looks, Ordering::SeqCst);
        drop(run);
        let named: Vec<_> = cancellation.1.lock().iter().map(|call| call.task_id.to_string()).collect();
        assert_eq!(named, expected);
    }
}

#[test]
fn waiting_takes_no_processor_time() {
    let task = json!({"id": "w", "function": {"name": "wait", "input": {"path": "600"}}});
    let document = json!({"tasks": [task, map(&json!(1))]});
    let engine = engine(Duration::from_millis(30));
    let flow = Flow::single(compile(&engine, &document).unwrap());
    let outcome = block_on(engine.run(&flow, message(json!({})), RunOptions::default()));
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    assert_eq!(outcome.message.data, json!({"x": 1}));
}

#[test]
fn wide_objects_are_handled_within_processor_time() {
    let object = |range: Vec<usize>| -> Value {
        range.into_iter().map(|n| (format!("k{n}"), Value::from(n))).collect::<serde_json::Map<_, _>>().into()
    };
    let (one, other) = (object((0..20_000).collect()), object((0..20_000).rev().collect()));
    let (a, b) = (json!({"var": "payload.a"}), json!({"var": "payload.b"}));
    let paths: Value = (0..20_000).map(|n| format!("payload.b.k{n}")).collect();
    let payload = json!({"a": one, "b": other, "paths": paths});
    let engine = engine(Duration::from_secs(5));
    for (logic, expected) in [
        (json!({"===": [a, b]}), json!(true)),
        (json!({"!==": [a, b]}), json!(false)),
        (json!({"==": [[a], [b]]}), json!(true)),
        (json!({"!=": [[a], [b]]}), json!(false)),
        (json!({"in": [a, [b]]}), json!(true)),
        (json!({"length": [{"distinct": [[a, b]]}]}), json!(1)),
        (json!({"length": [{"group_by": [[a, b], {"var": ""}]}]}), json!(1)),
        (json!({"switch": [a, [[1, "no"], [b, "yes"]], "default"]}), json!("yes")),
        (json!({"length": [{"missing": {"var": "payload.paths"}}]}), json!(0)),
        (json!({"length": [{"missing_some": [20_001, {"var": "payload.paths"}]}]}), json!(0)),
    ] {
        let outcome = run(&engine, &json!({"tasks": [map(&logic)]}), payload.clone(), None);
        assert!(outcome.failure.is_none(), "{logic}: {:?}", outcome.failure);
        assert_eq!(outcome.message.data["x"], expected, "{logic}");
    }
}
