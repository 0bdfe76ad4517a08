//! Recordings of runs, and runs over them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use svc_engine::catalogue::{ConnectorRequirement, FunctionEntry, InputField};
use svc_engine::{
    CallMatch, CompileCx, CompileSecrets, CompiledTask, DropPath, Engine, ErrorCode, Expression, Flow,
    Function, MetadataReads, Path, RecordingMode, RecordingOptions, RecordingResult, ReplayReport,
    RunOptions, RunOutcome, RunRecording, TaskCx, TaskError, TaskExecution, TaskOutcome, Unrecorded,
};
use svc_model::ConnectorType;
use svc_secrets::Readings;

use crate::support::{block_on, compile, message, workflow};

static FETCH: FunctionEntry = FunctionEntry {
    fields: &[
        InputField::connector(""),
        InputField::any("body", "").overridden_by("body_logic"),
        InputField::output(),
    ],
    retry_safety: "read",
    ..FunctionEntry::connector("fetch", "", ConnectorRequirement::new(&[ConnectorType::Http]))
};

/// Answers with what it is sent; a body `"fail-once"` fails at its first attempt, `"never"` has no answer.
struct FetchFunction(Arc<AtomicUsize>);

struct FetchTask {
    body: Expression,
    output: Path,
    calls: Arc<AtomicUsize>,
}

impl Function for FetchFunction {
    fn entry(&self) -> &'static FunctionEntry {
        &FETCH
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let output = Path::parse_target(input["output"].as_str().unwrap_or("data")).unwrap();
        Ok(Box::new(FetchTask {
            body: cx.expression(&input["body_logic"])?,
            output,
            calls: Arc::clone(&self.0),
        }))
    }
}

impl CompiledTask for FetchTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> TaskExecution<'a> {
        Box::pin(async move {
            let body = cx.evaluate(&self.body)?;
            if self.calls.fetch_add(1, Ordering::SeqCst) == 0 && body == "fail-once" {
                return Err(TaskError::new(ErrorCode::Io, "the system is away"));
            }
            if body == "never" {
                std::future::pending::<()>().await;
            }
            cx.write(&self.output, json!({"echo": body}))?;
            Ok(TaskOutcome::Success)
        })
    }
}

fn engine() -> (Engine, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let builder = Engine::builder().function(Arc::new(FetchFunction(Arc::clone(&calls))));
    (builder.secrets([("api", json!("s3cret-key"))]).build(), calls)
}

fn fetch(id: &str, body: Value) -> Value {
    json!({"id": id, "name": id, "function": {"name": "fetch", "input": {
        "connector": "shop", "body_logic": body, "output": format!("data.{id}")}}})
}

fn record_within(engine: &Engine, tasks: &Value, payload: Value, options: RecordingOptions) -> RunOutcome {
    let flow = Flow::single(compile(engine, &json!({"tasks": tasks})).unwrap());
    let options = RunOptions { recording: Some(RecordingMode::Record(options)), ..RunOptions::default() };
    block_on(engine.run(&flow, message(payload), options))
}

fn record(engine: &Engine, tasks: &Value, payload: Value) -> RunRecording {
    let options = RecordingOptions { max_bytes: 1 << 20, ..RecordingOptions::default() };
    match record_within(engine, tasks, payload, options).recorded {
        Some(RecordingResult::Recorded(recording)) => *recording,
        other => panic!("{other:?}"),
    }
}

fn replay(engine: &Engine, tasks: &Value, recording: &RunRecording) -> ReplayReport {
    let declared = engine.declared_secrets();
    let material = CompileSecrets { references: &Readings::default(), declared: &declared };
    let document = workflow(&json!({"tasks": tasks}));
    let flow = Flow::single(engine.compile_stubbed(&document, material).unwrap());
    let mode = RecordingMode::Replay(Arc::new(recording.clone()));
    let options = RunOptions { recording: Some(mode), ..RunOptions::default() };
    match block_on(engine.run(&flow, message(recording.payload.clone()), options)).recorded {
        Some(RecordingResult::Replayed(report)) => *report,
        other => panic!("{other:?}"),
    }
}

fn map(id: &str, logic: Value) -> Value {
    json!({"id": id, "name": id, "function": {"name": "map", "input": {
        "mappings": [{"path": format!("data.{id}"), "logic": logic}]}}})
}

#[test]
fn replay_gets_answers_instants_and_random_values() {
    let (engine, calls) = engine();
    let tasks = json!([
        map("at", json!({"now": []})),
        map("id", json!({"uuid": "v4"})),
        fetch("load", json!({"cat": [{"var": "data.id"}, "/", {"random": ["digits", 8]}]})),
    ]);
    let recording = record(&engine, &tasks, json!({"n": 1}));
    assert_eq!(recording.payload, json!({"n": 1}));
    let call = &recording.calls[0];
    assert_eq!((call.task.as_str(), call.target.as_deref(), call.attempt), ("load", Some("shop"), 1));
    assert_eq!(call.input["body"], call.answer["echo"], "the input is recorded as it was sent");
    let made = calls.load(Ordering::SeqCst);
    let report = replay(&engine, &tasks, &recording);
    assert_eq!(report.end, recording.end);
    assert_eq!((report.fresh_values, report.missing.len()), (0, 0));
    assert_eq!(report.calls[0].matching, CallMatch::Same);
    assert_eq!(calls.load(Ordering::SeqCst), made, "nothing was called");
}

#[test]
fn attempts_and_elements_are_recorded_apart() {
    let (engine, _) = engine();
    let mut retried = fetch("once", json!("fail-once"));
    retried["retry"] = json!({"attempts": 2, "delay": "1s"});
    let mut each = fetch("each", json!({"var": "temp_data.item"}));
    each["for_each"] = json!({"over": {"var": "payload.list"}, "as": "item", "into": "data.all",
        "collect": "data.each", "max_concurrency": 2});
    let tasks = json!([retried, each]);
    let recording = record(&engine, &tasks, json!({"list": [7, 8]}));
    let of_task = |task: &str| recording.calls.iter().filter(|call| call.task == task).collect::<Vec<_>>();
    let once = of_task("once");
    assert_eq!(once[0].error.as_ref().unwrap().code, "IO_ERROR");
    assert_eq!((once[0].attempt, once[1].attempt), (1, 2));
    let mut places: Vec<_> =
        of_task("each").iter().map(|call| (call.index, call.input["body"].clone())).collect();
    places.sort_by_key(|place| place.0);
    assert_eq!(places, [(Some(0), json!(7)), (Some(1), json!(8))]);
    assert_eq!(replay(&engine, &tasks, &recording).end, recording.end);
}

#[test]
fn own_timeout_of_a_task_is_recorded() {
    let (engine, _) = engine();
    let mut slow = fetch("slow", json!("never"));
    slow["timeout_ms"] = json!(5);
    slow["continue_on_error"] = json!(true);
    let recording = record(&engine, &json!([slow]), json!({}));
    let error = recording.calls[0].error.as_ref().unwrap();
    assert_eq!(error.code, "TIMEOUT_ERROR");
    assert_eq!(error.message, "the task did not end within its timeout_ms (5)");
}

#[test]
fn call_that_is_cut_is_recorded() {
    let (engine, _) = engine();
    let tasks = json!([{"id": "ask", "timeout_ms": 5, "tasks": [fetch("slow", json!("never"))],
        "on_error": [map("failed", json!({"var": "temp_data.error.code"}))]}]);
    let recording = record(&engine, &tasks, json!({}));
    let call = &recording.calls[0];
    assert_eq!((call.task.as_str(), call.is_cut, call.input["body"].as_str()), ("slow", true, Some("never")));
    let report = replay(&engine, &tasks, &recording);
    assert_eq!(report.calls[0].recorded, Some(0));
    assert_eq!(report.end.data["failed"], "FUNCTION_ERROR");
}

#[test]
fn changed_new_and_missing_calls_are_reported() {
    let (engine, _) = engine();
    let tasks = json!([fetch("a", json!("one")), fetch("b", json!("two"))]);
    let recording = record(&engine, &tasks, json!({}));
    let report = replay(&engine, &json!([fetch("a", json!("other"))]), &recording);
    assert_eq!(report.calls[0].matching, CallMatch::ChangedInput);
    assert_eq!(report.end.data["a"], json!({"echo": "one"}), "it gets the recorded answer");
    assert_eq!(report.missing, [1]);
    let report = replay(&engine, &json!([fetch("c", json!("three"))]), &recording);
    assert_eq!(report.calls[0].matching, CallMatch::New);
    assert_eq!(report.end.error.as_deref(), Some("FUNCTION_ERROR"));
}

#[test]
fn secrets_and_dropped_values_are_not_recorded() {
    let (engine, _) = engine();
    let tasks = json!([fetch("load", json!({"key": {"secret": "api"}, "card": {"var": "payload.card"}}))]);
    let drop = vec![DropPath::parse("payload.card").unwrap()].into();
    let options = RecordingOptions { max_bytes: 1 << 20, drop, guard_reads: None };
    let outcome = record_within(&engine, &tasks, json!({"card": "4111111111111111"}), options);
    let Some(RecordingResult::Recorded(recording)) = outcome.recorded else {
        panic!("{:?}", outcome.recorded)
    };
    assert_eq!(recording.calls[0].input["body"]["key"], json!({"$secret": "api"}));
    let text = serde_json::to_string(&recording).unwrap();
    assert!(!text.contains("s3cret-key") && !text.contains("4111111111111111"), "{text}");
}

#[test]
fn metadata_that_guards_name_are_recorded() {
    let (engine, _) = engine();
    let tasks = json!([map("tenant", json!({"var": "metadata.headers.x-tenant"}))]);
    let flow = Flow::single(compile(&engine, &json!({"tasks": tasks})).unwrap());
    let rule = json!({"!=": [{"val": ["metadata", "headers", "x-kind"]}, "test"]});
    let options = RecordingOptions {
        max_bytes: 1 << 20,
        guard_reads: Some(Arc::new(MetadataReads::collect([&rule]))),
        ..RecordingOptions::default()
    };
    let mut message = message(json!({}));
    let headers = json!({"x-tenant": "a", "x-kind": "b", "x-other": "c"});
    message.metadata.insert("headers".into(), headers);
    let options = RunOptions { recording: Some(RecordingMode::Record(options)), ..RunOptions::default() };
    let outcome = block_on(engine.run(&flow, message, options));
    let Some(RecordingResult::Recorded(recording)) = outcome.recorded else {
        panic!("{:?}", outcome.recorded)
    };
    assert_eq!(recording.metadata["headers"], json!({"x-tenant": "a", "x-kind": "b"}));
}

#[test]
fn credentials_in_an_answer_are_masked() {
    let (engine, _) = engine();
    let answer = json!({
        "status": 200,
        "headers": {"authorization": "Bearer minted", "etag": "v1"},
        "cookies": [
            {"name": "sid", "value": "session-1", "http_only": true},
            {"name": "theme", "value": "dark", "http_only": false},
        ],
    });
    let tasks = json!([{"id": "m", "name": "m", "function": {"name": "map", "input": {
        "mappings": [{"path": "data._svc.response", "logic": answer}]}}}]);
    let recording = record(&engine, &tasks, json!({}));
    let recorded = &recording.end.data["_svc"]["response"];
    assert_eq!(recorded["headers"], json!({"authorization": "******", "etag": "v1"}));
    let values: Vec<_> =
        recorded["cookies"].as_array().unwrap().iter().map(|cookie| &cookie["value"]).collect();
    assert_eq!(values, [&json!("******"), &json!("dark")]);
}

#[test]
fn run_with_long_recording_is_not_recorded() {
    let (engine, _) = engine();
    let options = RecordingOptions { max_bytes: 100, ..RecordingOptions::default() };
    let outcome = record_within(&engine, &json!([fetch("a", json!("x".repeat(200)))]), json!({}), options);
    let recorded = outcome.recorded;
    assert!(matches!(recorded, Some(RecordingResult::Unrecorded(Unrecorded::TooLarge))), "{recorded:?}");
    assert!(outcome.failure.is_none(), "the run goes on");
}

fn follow(engine: &Engine, tasks: &Value, payload: Value) -> RunRecording {
    let flow = Flow::single(compile(engine, &json!({"tasks": tasks})).unwrap());
    let mode = RecordingMode::Follow { max_bytes: 1 << 20, record: None };
    let options = RunOptions { recording: Some(mode), ..RunOptions::default() };
    match block_on(engine.run(&flow, message(payload), options)).recorded {
        Some(RecordingResult::Followed(followed)) => followed.run.unwrap(),
        other => panic!("{other:?}"),
    }
}

fn shadow(engine: &Engine, tasks: &Value, followed: RunRecording) -> ReplayReport {
    let declared = engine.declared_secrets();
    let material = CompileSecrets { references: &Readings::default(), declared: &declared };
    let document = workflow(&json!({"tasks": tasks}));
    let flow = Flow::single(engine.compile_shadow(&document, material).unwrap());
    let payload = followed.payload.clone();
    let mode = RecordingMode::Shadow(Arc::new(followed));
    let options = RunOptions { recording: Some(mode), ..RunOptions::default() };
    match block_on(engine.run(&flow, message(payload), options)).recorded {
        Some(RecordingResult::Replayed(report)) => *report,
        other => panic!("{other:?}"),
    }
}

fn writing(id: &str, body: Value) -> Value {
    let mut task = fetch(id, body);
    task["retry_safety"] = "unsafe_write".into();
    task
}

#[test]
fn shadow_makes_only_further_reads() {
    let (engine, calls) = engine();
    let active = json!([fetch("load", json!("one")), writing("save", json!("two"))]);
    let followed = follow(&engine, &active, json!({}));
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    let same = shadow(&engine, &active, followed.clone());
    assert_eq!(same.end, followed.end);
    assert_eq!(calls.load(Ordering::SeqCst), 2, "nothing was called");
    let other = json!([fetch("load", json!("three")), writing("save", json!("four"))]);
    let report = shadow(&engine, &other, followed.clone());
    assert_eq!(calls.load(Ordering::SeqCst), 3, "the other read was made");
    assert_eq!(report.end.data["load"]["echo"], "three");
    assert_eq!(report.end.data["save"]["echo"], "two", "the answer of the active run");
    let matches: Vec<_> = report.calls.iter().map(|call| (call.matching, call.is_made)).collect();
    assert_eq!(matches, [(CallMatch::ChangedInput, true), (CallMatch::ChangedInput, false)]);
    let further = json!([writing("save", json!("two")), writing("again", json!("two"))]);
    let report = shadow(&engine, &further, followed);
    assert_eq!(calls.load(Ordering::SeqCst), 3, "no write was made");
    assert_eq!(report.end.error.as_deref(), Some("FUNCTION_ERROR"));
    assert_eq!(report.calls[1].matching, CallMatch::New);
}

#[test]
fn followed_run_keeps_its_whole_message() {
    let (engine, _) = engine();
    let followed =
        follow(&engine, &json!([fetch("load", json!({"secret": "api"}))]), json!({"card": "4111"}));
    assert_eq!(followed.payload, json!({"card": "4111"}));
    assert_eq!(followed.calls[0].input["body"], json!({"$secret": "api"}));
    assert_eq!(followed.end.data["load"]["echo"], json!({"$secret": "api"}));
}
