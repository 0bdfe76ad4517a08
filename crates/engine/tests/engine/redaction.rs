//! Runs with confidential values.

#![expect(
    clippy::disallowed_types,
    reason = "a drain of slog must be unwind safe, as the lock of std is by its poison"
)]

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};
use slog::{Logger, o};
use svc_engine::catalogue::FunctionEntry;
use svc_engine::{
    CompileCx, CompiledTask, Engine, Expression, Flow, Function, Redaction, RunOptions, TaskCx, TaskError,
    TaskOutcome, TraceOptions,
};

use crate::engine_log::EngineLog;
use crate::support::{block_on, compile, message};

const SECRET: &str = "s3cret-token";

/// A function that keeps what its input made of a message, and what that must conceal.
#[derive(Clone, Default)]
struct Tell(Arc<Mutex<Option<(Value, Redaction)>>>);

struct TellTask(Tell, Expression);

impl Function for Tell {
    fn entry(&self) -> &'static FunctionEntry {
        static ENTRY: FunctionEntry = FunctionEntry::plugin("tell", "Keeps what it is given");
        &ENTRY
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        Ok(Box::new(TellTask(self.clone(), cx.expression(&input["logic"])?)))
    }
}

impl CompiledTask for TellTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        async move {
            let mut redaction = cx.redaction().clone();
            let value = cx.evaluate_tainted(&self.1, &mut redaction)?;
            *self.0.0.lock().unwrap() = Some((value, redaction));
            Ok(TaskOutcome::Success)
        }
        .boxed_local()
    }
}

fn task(id: &str, function: &str, input: Value) -> Value {
    json!({"id": id, "name": id, "function": {"name": function, "input": input}})
}

#[test]
fn no_record_of_a_run_shows_secrets() {
    let (tell, lines) = (Tell::default(), EngineLog::default());
    let engine = Engine::builder()
        .secrets([("token", json!(SECRET))])
        .function(Arc::new(tell.clone()))
        .logger(Logger::root(lines.clone(), o!()))
        .build();
    let run = |tasks: Value, payload: Value, redaction: Redaction| {
        let flow = Flow::single(compile(&engine, &json!({"tasks": tasks})).unwrap());
        let trace = Some(TraceOptions::default());
        let options = RunOptions { trace, capture_changes: true, redaction, ..RunOptions::default() };
        block_on(engine.run(&flow, message(payload), options))
    };
    let secret = json!({"merge": [[{"secret": "token"}], [1]]});
    run(json!([task("tell", "tell", json!({"logic": secret}))]), json!({}), Redaction::default());
    let (payload, redaction) = tell.0.lock().unwrap().take().unwrap();
    assert_eq!(payload, json!([SECRET, 1]), "the value itself is handed on");

    let copy = json!({"mappings": [{"path": "data.all", "logic": {"var": "payload"}},
        {"path": "data.all", "logic": {"cat": ["Bearer ", {"var": "payload.0"}]}}]});
    let thrown = json!({"rules": [{"logic": {"throw": {"var": "payload.0"}}, "message": "no"}]});
    let mut skipped = task("skipped", "log", json!({}));
    skipped["condition"] = json!({"throw": {"var": "payload.0"}});
    let tasks = json!([
        task("copy", "map", copy),
        task("line", "log", json!({"message": {"var": "payload.0"}, "fields": {"all": {"var": "payload"}}})),
        task("rule", "validation", thrown),
        skipped,
        task("kept", "filter", json!({"condition": {"throw": {"var": "payload.0"}}, "on_reject": "skip"})),
        task("told", "filter", json!({"condition": {"throw": {"secret": "token"}}, "on_reject": "skip"})),
        task("on", "tell", json!({"logic": {"var": "payload"}})),
    ]);
    let outcome = run(tasks, payload, redaction);
    assert_eq!(outcome.message.data["all"], format!("Bearer {SECRET}"), "the run itself works with it");
    let logged: String = lines.take().iter().map(|line| format!("{line}\n")).collect();
    assert!(logged.contains(r#"****** [all=******]"#), "{logged}");
    let recorded = [
        serde_json::to_string(&outcome.trace).unwrap(),
        serde_json::to_string(&outcome.audit_trail).unwrap(),
        serde_json::to_string(&outcome.errors).unwrap(),
        logged,
    ];
    for record in recorded {
        assert!(!record.contains(SECRET), "{record}");
        assert!(!record.contains("Bearer"), "values are withheld as a whole: {record}");
        assert!(record.len() > 10, "{record}");
    }
    let steps = outcome.trace.unwrap().steps;
    assert!(steps.len() == 7 && steps.iter().all(|step| step.message.is_none()));
    assert!(
        steps[0].changes.iter().all(|change| change.new_value == "******" && change.old_value == "******")
    );
    let (_, handed_on) = tell.0.lock().unwrap().take().unwrap();
    assert!(!handed_on.is_empty(), "whom it calls is told in confidence too");
}

#[test]
fn errors_of_lists_show_no_secrets() {
    let tell = Tell::default();
    let engine =
        Engine::builder().secrets([("token", json!(SECRET))]).function(Arc::new(tell.clone())).build();
    let run = |document: &Value, payload: Value, redaction: Redaction| {
        let flow = Flow::single(compile(&engine, document).unwrap());
        let options = RunOptions { redaction, ..RunOptions::default() };
        block_on(engine.run(&flow, message(payload), options))
    };
    let secret = task("tell", "tell", json!({"logic": {"merge": [[{"secret": "token"}], [1]]}}));
    run(&json!({"tasks": [secret]}), json!({}), Redaction::default());
    let (payload, redaction) = tell.0.lock().unwrap().take().unwrap();
    let over = json!({"throw": {"var": "payload.0"}});
    let line = task("line", "log", json!({"message": "m"}));
    let mut each = line.clone();
    each["for_each"] = json!({"over": over, "into": "data.list", "collect": "temp_data.item"});
    for document in [json!({"loop": {"over": over}, "tasks": [line]}), json!({"tasks": [each]})] {
        let outcome = run(&document, payload.clone(), redaction.clone());
        let errors = serde_json::to_string(&outcome.errors).unwrap();
        assert!(errors.contains("LOGIC_ERROR") && !errors.contains(SECRET), "{errors}");
        assert!(!outcome.failure.unwrap().error.message.contains(SECRET));
    }
}
