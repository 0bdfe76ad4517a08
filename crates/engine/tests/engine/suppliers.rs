//! A function that takes its time, for the tests of what runs at once.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use svc_engine::catalogue::FunctionEntry;
use svc_engine::{
    CompileCx, CompiledTask, Engine, EngineLimits, ErrorCode, Flow, Function, Path, RunOptions, RunOutcome,
    TaskCx, TaskError, TaskExecution, TaskOutcome, Template,
};
use tokio::time::Instant;

use crate::support::{block_on, compile, message};

/// Answers after a while, or fails: `{ms, answer, fails, code, output}`.
static SUPPLY: FunctionEntry =
    FunctionEntry { retry_safety: "read", ..FunctionEntry::plugin("supply", "Answers after a while") };

/// As [`SUPPLY`], but not safe to repeat.
static SELL: FunctionEntry = FunctionEntry::plugin("sell", "Answers after a while, with an effect");

/// As [`SUPPLY`], but safe to repeat by its method or its key alone.
static SEND: FunctionEntry = FunctionEntry {
    retry_safety: "depends_on:method",
    ..FunctionEntry::plugin("send", "Answers after a while, as an API does")
};

/// The calls of the function.
#[derive(Debug, Default)]
pub(crate) struct SupplyLog {
    /// The key of each call, in the order in which they began.
    pub(crate) keys: Vec<String>,
    /// The time that each of them had left.
    pub(crate) remaining: Vec<Option<Duration>>,
    pub(crate) running: usize,
    pub(crate) most_running: usize,
}

struct SupplyFunction(&'static FunctionEntry, Arc<Mutex<SupplyLog>>);

struct SupplyTask {
    input: Template,
    output: Path,
    log: Arc<Mutex<SupplyLog>>,
}

/// A call in progress.
struct Call(Arc<Mutex<SupplyLog>>);

impl Drop for Call {
    fn drop(&mut self) {
        self.0.lock().running -= 1;
    }
}

impl Function for SupplyFunction {
    fn entry(&self) -> &'static FunctionEntry {
        self.0
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let output = Path::parse_target(input["output"].as_str().unwrap_or("data")).unwrap();
        Ok(Box::new(SupplyTask { input: cx.template(input), output, log: Arc::clone(&self.1) }))
    }
}

impl CompiledTask for SupplyTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> TaskExecution<'a> {
        Box::pin(async move {
            let input = cx.resolve(&self.input);
            let key = cx.idempotency_key();
            let before = {
                let mut log = self.log.lock();
                log.running += 1;
                log.most_running = log.most_running.max(log.running);
                log.keys.push(key.clone());
                log.remaining.push(cx.remaining());
                log.keys.iter().filter(|known| **known == key).count() - 1
            };
            let call = Call(Arc::clone(&self.log));
            let wait = Duration::from_millis(input["ms"].as_u64().unwrap_or(0));
            if !wait.is_zero() {
                tokio::time::timeout(wait, std::future::pending::<()>()).await.unwrap_err();
            }
            drop(call);
            if (before as u64) < input["fails"].as_u64().unwrap_or(0) {
                let code = ErrorCode::ALL.iter().find(|code| Some(code.name()) == input["code"].as_str());
                return Err(TaskError::new(code.copied().unwrap_or(ErrorCode::Io), "the supplier is away"));
            }
            cx.write(&self.output, input["answer"].clone())?;
            Ok(TaskOutcome::Success)
        })
    }
}

/// An engine with the function, and the log of its calls.
pub(crate) struct Suppliers {
    pub(crate) engine: Engine,
    pub(crate) log: Arc<Mutex<SupplyLog>>,
}

impl Suppliers {
    pub(crate) fn new(limits: EngineLimits) -> Self {
        let log = Arc::new(Mutex::new(SupplyLog::default()));
        let functions =
            [&SUPPLY, &SELL, &SEND].map(|entry| Arc::new(SupplyFunction(entry, Arc::clone(&log))));
        let [supply, sell, send] = functions;
        let engine = Engine::builder().function(supply).function(sell).function(send).limits(limits).build();
        Self { engine, log }
    }

    /// Runs tasks over a payload, and returns the outcome with the time that they took on the virtual clock.
    pub(crate) fn run(&self, tasks: Value, payload: Value, options: RunOptions) -> (RunOutcome, Duration) {
        let flow = Flow::single(compile(&self.engine, &json!({"tasks": tasks})).unwrap());
        block_on(async {
            let began = Instant::now();
            let outcome = self.engine.run(&flow, message(payload), options).await;
            (outcome, began.elapsed())
        })
    }

    /// Runs tasks with default options.
    pub(crate) fn run_tasks(&self, tasks: Value, payload: Value) -> (RunOutcome, Duration) {
        self.run(tasks, payload, RunOptions::default())
    }
}

impl Default for Suppliers {
    fn default() -> Self {
        Self::new(EngineLimits::default())
    }
}

/// A task that calls the function with these inputs.
pub(crate) fn supply(id: &str, input: Value) -> Value {
    json!({"id": id, "function": {"name": "supply", "input": input}})
}

/// A task that writes the value of an expression.
pub(crate) fn set(id: &str, path: &str, logic: Value) -> Value {
    json!({"id": id, "function": {"name": "map", "input": {"mappings": [{"path": path, "logic": logic}]}}})
}

/// A step with further keys.
pub(crate) fn with(mut step: Value, keys: Value) -> Value {
    let keys = keys.as_object().unwrap().clone();
    step.as_object_mut().unwrap().extend(keys);
    step
}

/// The codes of the errors of a run, with the tasks and the elements that they name.
pub(crate) fn errors(outcome: &RunOutcome) -> Vec<(&'static str, String, Option<u32>)> {
    let task = |error: &TaskError| error.task_id.as_deref().unwrap_or_default().to_owned();
    outcome
        .errors
        .iter()
        .map(|error| (error.code.name(), task(error), error.index.map(svc_engine::ElementIndex::get)))
        .collect()
}

/// Checks a time on the virtual clock, whose timers are exact to a millisecond or two.
pub(crate) fn assert_time(time: Duration, expected_ms: u64) {
    let expected = Duration::from_millis(expected_ms);
    assert!((expected..expected + Duration::from_millis(3)).contains(&time), "{time:?}, not {expected:?}");
}
